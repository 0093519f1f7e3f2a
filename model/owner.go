package model

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"iter"
	"strings"
)

// Key names an object that somebody wrote.
type Key struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is "kind/name" or "kind/namespace/name".
func (k Key) String() string {
	if k.Namespace == "" {
		return strings.ToLower(k.Kind) + "/" + k.Name
	}
	return strings.ToLower(k.Kind) + "/" + k.Namespace + "/" + k.Name
}

// Title names the object as people write it: "VirtualMachine web", or
// "VirtualMachine team-a/web".
func (k Key) Title() string {
	switch {
	case k.Name == "":
		return k.Kind
	case k.Namespace != "":
		return k.Kind + " " + k.Namespace + "/" + k.Name
	}
	return k.Kind + " " + k.Name
}

// Owner says whose a guest is. It is kept in the guest's own description,
// since a VMID alone proves nothing: VMIDs get reused.
type Owner struct {
	Door string `json:"door"`          // which front door made it
	Set  string `json:"set,omitempty"` // what was applied together; a cluster's name in Kubernetes
	Key  `json:",inline"`
	UID  string `json:"uid,omitempty"` // of the object in Kubernetes
}

// ID is short, stable and different for each owner. Objects that are made
// anew under the same name in Kubernetes (another UID) are other owners.
func (o Owner) ID() string {
	sum := o.sum()
	return letters(sum[:8])
}

// What IDs look like.
const (
	idLength  = 13
	idLetters = "abcdefghijklmnopqrstuvwxyz234567"
)

// letters spell bytes as tags may have them.
func letters(b []byte) string {
	return base32.NewEncoding(idLetters).WithPadding(base32.NoPadding).EncodeToString(b)
}

// Digest is a short word for a text, as tags and names in Proxmox may have it.
func Digest(text string) string {
	const enough = 5
	sum := sha256.Sum256([]byte(text))
	return letters(sum[:enough])
}

func (o Owner) sum() [32]byte {
	return sha256.Sum256([]byte(strings.Join([]string{o.Door, o.Set, o.Kind, o.Namespace, o.Name, o.UID}, "\x00")))
}

// Range is a range of VMIDs, both ends included.
type Range struct{ First, Last int }

// DefaultRange is where the VMIDs of guests come from when nobody says otherwise.
var DefaultRange = Range{First: 10000, Last: 99999}

// Candidates are the VMIDs that an owner tries, always the same in the same
// order: so an owner finds its guest again without having written anything
// down.
func (o Owner) Candidates(r Range) iter.Seq[int] {
	return func(yield func(int) bool) {
		size := uint64(r.Last - r.First + 1)
		if r.Last < r.First {
			return
		}
		sum := o.sum()
		at := binary.BigEndian.Uint64(sum[8:]) % size
		for range min(size, maxCandidates) {
			if !yield(r.First + int(at)) {
				return
			}
			at = (at + 1) % size
		}
	}
}

// Derives reports whether a VMID is one of the owner's candidates.
func (o Owner) Derives(vmid int, r Range) bool {
	size := uint64(r.Last - r.First + 1)
	if vmid < r.First || vmid > r.Last {
		return false
	}
	sum := o.sum()
	first := binary.BigEndian.Uint64(sum[8:]) % size
	return (uint64(vmid-r.First)+size-first)%size < maxCandidates
}

// maxCandidates bounds how many VMIDs are tried.
const maxCandidates = 64

// Tags that mark our guests. TagPrefix is followed by the owner's ID and the
// fingerprint of what was applied, so that one list call shows whose each
// guest is and whether it is up to date.
const (
	Tag       = "proxplane"
	TagPrefix = "pp."
)

// StateTag is the tag of a guest that is up to date.
func StateTag(o Owner, fingerprint string) string {
	return TagPrefix + o.ID() + "." + fingerprint
}

// ParseStateTag finds owner ID and fingerprint in a guest's tags.
func ParseStateTag(tags []string) (ownerID, fingerprint string, ok bool) {
	for _, t := range tags {
		if ownerID, fingerprint, ok = parseStateTag(t); ok {
			return ownerID, fingerprint, ok
		}
	}
	return "", "", false
}

// parseStateTag takes a tag apart. Others may have tags that begin as ours do.
func parseStateTag(tag string) (ownerID, fingerprint string, ok bool) {
	rest, ok := strings.CutPrefix(tag, TagPrefix)
	if !ok {
		return "", "", false
	}
	ownerID, fingerprint, ok = strings.Cut(rest, ".")
	return ownerID, fingerprint, ok && len(ownerID) == idLength && strings.Trim(ownerID, idLetters) == ""
}

// setTagPrefix begins the tag that says which door's set a guest is of.
const setTagPrefix = TagPrefix + "in."

// SetTag is the tag of all guests of an owner's door and set. By it one list call shows
// which guests there are of a set; it is a hint, and no proof.
func SetTag(o Owner) string { return setTagPrefix + Digest(o.Door+"\x00"+o.Set) }

// ParseSetTag finds the tag that says which set a guest is of.
func ParseSetTag(tags []string) (tag string, ok bool) {
	for _, t := range tags {
		if IsSetTag(t) {
			return t, true
		}
	}
	return "", false
}

// IsSetTag reports whether a tag says which set a guest is of.
func IsSetTag(tag string) bool { return strings.HasPrefix(tag, setTagPrefix) }

// IsMark reports whether a tag is one of those that mark our guests.
func IsMark(tag string) bool {
	_, _, state := parseStateTag(tag)
	return state || tag == Tag || IsSetTag(tag)
}
