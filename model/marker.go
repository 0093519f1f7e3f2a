package model

import (
	"encoding/json"
	"slices"
	"strings"
)

// Marker is the proof of ownership in a guest's description: a comment that Proxmox doesn't
// display.
type Marker struct {
	Owner Owner `json:"owner"`
	// VMID is the guest's own. A clone that somebody makes, or a backup that is restored under
	// another VMID, has a copy of the marker, and isn't ours.
	VMID int `json:"vmid,omitempty"`
	// Managed are the options that were set because a manifest named them: when no manifest
	// names them any more, they are unset.
	Managed []string `json:"managed,omitempty"`
	// Fresh says that no configuration of ours was applied yet: the guest has the tags
	// and interfaces of its source.
	Fresh bool `json:"fresh,omitempty"`
	// Seed is the volume with first-boot data that was made for this guest.
	Seed string `json:"seed,omitempty"`
	// Old are volumes with earlier first-boot data that are still to be removed.
	Old []string `json:"old,omitempty"`
	// Dropped says that the guest doesn't need first-boot data any more: it gets none until it is
	// recreated.
	Dropped bool `json:"dropped,omitempty"`
	// Source is what the guest was made from: when a manifest names another source, the guest
	// has to be recreated. Empty: it was adopted.
	Source string `json:"source,omitempty"`
	// From is the VMID of the template or guest that it was cloned from.
	From int `json:"from,omitempty"`
	// Image identifies the source when the guest was made, if it is known: the template's name
	// or VMID, or the generation of a fetched image.
	Image string `json:"image,omitempty"`
	// Group is the name of the object that stands for this guest and others.
	Group string `json:"group,omitempty"`
	// Adopted says that the guest existed before it became ours.
	Adopted bool `json:"adopted,omitempty"`
	// Retain says that the guest is kept when it is deleted or pruned: by its manifest, or
	// because it was adopted. It applies when no manifest names the guest any more.
	Retain bool `json:"retain,omitempty"`
	// Reverts are the snapshots that the guest was rolled back to, each with the value that
	// requested it.
	Reverts map[string]string `json:"reverts,omitempty"`
	// Disks are digests of the volumes of its disks, by disk, to recognise a disk that
	// somebody has detached.
	Disks map[string]string `json:"disks,omitempty"`
	// Addresses are those that the guest has from pools, by the slot of the interface. They count as
	// taken as soon as the marker is written, see package plan.
	Addresses map[string][]string `json:"addresses,omitempty"`
	// Home is the node that the guest left when the node was drained.
	Home string `json:"home,omitempty"`
	// Away is the node that it was migrated to then: if it is on another one, somebody has moved
	// it since.
	Away string `json:"away,omitempty"`
	// Version distinguishes generations of the same object: images that were recreated.
	Version string `json:"version,omitempty"`
	// Sig is the signature of the marker, see [Keys].
	Sig string `json:"sig,omitempty"`
}

// MovedSince reports whether a guest on a node was moved after its own node was drained. Where that isn't
// known, it wasn't.
func (m Marker) MovedSince(node string) bool {
	return m.Away != "" && node != m.Away && node != m.Home
}

// Bare returns the marker without its signature.
func (m Marker) Bare() Marker {
	m.Sig = ""
	return m
}

// Seeds returns all volumes with first-boot data that the marker names, the earlier ones
// first.
func (m *Marker) Seeds() []string { return append(slices.Clone(m.Old), m.Seed) }

// Remembers reports whether the marker has the volume of a disk.
func (m *Marker) Remembers(disk, volume string) bool {
	return m != nil && volume != "" && m.Disks[disk] == Digest(volume)
}

const (
	markerOpen  = "<!-- proxplane "
	markerClose = " -->"
)

// String returns the line for the description.
func (m Marker) String() string {
	m.Managed = slices.Sorted(slices.Values(m.Managed))
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // plain strings only
	}
	// "--" would end the comment for some readers.
	return markerOpen + strings.ReplaceAll(string(b), "--", `-\u002d`) + markerClose
}

// Describe appends a marker to the notes of people.
func Describe(text string, m Marker) string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return m.String()
	}
	return text + "\n\n" + m.String()
}

// ParseDescription splits a description into notes and marker. Of several markers the last
// counts; one that can't be parsed is ignored.
func ParseDescription(description string) (text string, m Marker, ok bool) {
	at := strings.LastIndex(description, markerOpen)
	if at < 0 {
		return description, Marker{}, false
	}
	body, rest, closed := strings.Cut(description[at+len(markerOpen):], markerClose)
	if !closed || json.Unmarshal([]byte(body), &m) != nil || m.Owner.Name == "" {
		return description, Marker{}, false
	}
	return strings.TrimRight(description[:at]+rest, "\n"), m, true
}

// PoolMark returns the mark among Managed that says that a guest is in a pool because a
// manifest named it.
func PoolMark(pool string) string { return poolPrefix + pool }

const poolPrefix = "pool:"

// PoolMarks returns such marks among Managed.
func (m *Marker) PoolMarks() []string {
	if m == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.Managed), func(mark string) bool { return !strings.HasPrefix(mark, poolPrefix) })
}

// Manages reports whether a mark is among Managed.
func (m *Marker) Manages(mark string) bool { return m != nil && slices.Contains(m.Managed, mark) }

// Of reports whether the marker is that of the guest with the VMID.
func (m Marker) Of(vmid int) bool { return m.VMID == 0 || m.VMID == vmid }
