package model

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"iter"
	"strings"
)

// Key identifies an object by kind, namespace and name.
type Key struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns "kind/name" or "kind/namespace/name".
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

// Owner identifies the object that owns a guest. It is stored in the guest's description,
// since a VMID alone proves nothing: VMIDs are reused.
type Owner struct {
	Door string `json:"door"`          // the front door
	Set  string `json:"set,omitempty"` // the set; in Kubernetes the cluster's name
	Key  `json:",inline"`
	UID  string `json:"uid,omitempty"` // of the object in Kubernetes
}

// ID returns a short text that is stable and unique for each owner. Objects that are recreated under the same
// name in Kubernetes (with another UID) are other owners.
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

// Digest returns a short hash of a text, with characters that are valid in tags and names of
// Proxmox.
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

// DefaultRange is the range of VMIDs if none is given.
var DefaultRange = Range{First: 10000, Last: 99999}

// Candidates yields the VMIDs that an owner tries. They and their order follow from the
// owner, so that it finds its guest again without any stored state.
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

// Derives reports whether the VMID is one of the owner's candidates.
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

// Tags that mark our guests. TagPrefix is followed by the owner's ID and the fingerprint of
// the applied configuration, so that one list call shows the owner of each guest and
// whether it is up to date.
const (
	Tag       = "proxplane"
	TagPrefix = "pp."
)

// StateTag returns the tag of a guest that is up to date.
func StateTag(o Owner, fingerprint string) string {
	return TagPrefix + o.ID() + "." + fingerprint
}

// ParseStateTag parses owner ID and fingerprint in a guest's tags.
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

// SetTag returns the tag of all guests of an owner's door and set. With it one list call shows
// the guests of a set; it is a hint, and no proof.
func SetTag(o Owner) string { return setTagPrefix + Digest(o.Door+"\x00"+o.Set) }

// ParseSetTag finds the tag of a guest's set.
func ParseSetTag(tags []string) (tag string, ok bool) {
	for _, t := range tags {
		if IsSetTag(t) {
			return t, true
		}
	}
	return "", false
}

// IsSetTag reports whether a tag is that of a set.
func IsSetTag(tag string) bool { return strings.HasPrefix(tag, setTagPrefix) }

// IsMark reports whether a tag is one of those that mark our guests.
func IsMark(tag string) bool {
	_, _, state := parseStateTag(tag)
	return state || tag == Tag || IsSetTag(tag)
}
