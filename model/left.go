package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Left are disks that a task of ours may have left of a guest that isn't there, or that has them
// elsewhere: while it can't get the lock of a storage, a destruction goes on without removing the
// disks, so does the move of a disk, and a copy that fails can't clean up. Nothing names them any
// more, and those of cloud-init are in the way of the next guest with that VMID.
type Left struct {
	Task    string
	Owner   Owner // of the guest; zero: another process has begun the task, and nobody knows
	Node    string
	VMID    int
	Volumes []string  // that a destruction says that it couldn't remove, or that a disk was moved away from
	Moved   bool      // the guest has what was on them elsewhere
	Blocks  bool      // an earlier guest had them, and a migration of the guest to their node can't get past them
	Since   time.Time // or such as were made since, by a task that failed
	Ended   time.Time // when the task ended: nothing younger is meant
	// Watched means that this process has seen the end of the task a moment ago: nobody has had the
	// time to find the disks and put them to use.
	Watched bool

	Found   *Found    // what was seen of them; nil: nobody has looked yet
	Next    time.Time // when it is looked for them again, after that has failed
	Trouble string    // why it has failed
}

// Found is what was seen of disks that were left: what proves, or doesn't, that they may go.
type Found struct {
	There []string // those that are there
	Taken bool     // a guest has the VMID, perhaps one that these credentials don't show
	Ours  bool     // that guest is visible, and its marker says that it is ours
	// Users are the guests whose configs name a volume: with what is pending, and in snapshots.
	Users map[string][]int
	// Unknown is why nobody can know who uses them; empty: it is known.
	Unknown string
}

// Half reports whether it is about disks that were made by half, and never were a guest's.
func (l Left) Half() bool { return !l.Since.IsZero() }

// Removable are the disks that may go, by what was found: those that no guest names, if no guest has
// the VMID, or if it is one of ours, and it isn't about disks that this guest may have made.
func (l Left) Removable() []string {
	f := l.Found
	switch {
	case f == nil || f.Unknown != "":
		return nil
	case f.Taken && (l.Watched || l.Half() || !f.Ours):
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.There), func(v string) bool { return len(f.Users[v]) > 0 })
}

// String names the disks, as far as they are known.
func (l Left) String() string {
	switch {
	case l.Found != nil && len(l.Removable()) > 0:
		return strings.Join(l.Removable(), ", ")
	case len(l.Volumes) > 0:
		return strings.Join(l.Volumes, ", ")
	}
	return fmt.Sprintf("disks of VMID %d, if there are any", l.VMID)
}

// Only is the same about one of the disks alone, without what was found.
func (l Left) Only(volume string) Left {
	l.Found, l.Next, l.Trouble = nil, time.Time{}, ""
	if len(l.Volumes) > 0 {
		l.Volumes = []string{volume}
	}
	return l
}

// Leftovers is the object that disks are planned under that were left of guests of no wanted object.
var Leftovers = Key{Kind: "Leftover", Name: "disks"}
