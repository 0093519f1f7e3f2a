package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Left are disks that a task of ours may have left behind. When a task can't get the lock of a
// storage, the destruction of a guest or the move of a disk goes on without removing the old
// disks, and a failed copy can't clean up. No config names these disks any more, and cloud-init
// disks among them block the next guest with that VMID.
type Left struct {
	Task    string
	Owner   Owner // owner of the guest; zero: not known, since another process started the task
	Node    string
	VMID    int
	Volumes []string  // volumes that a destruction couldn't remove, according to its log, or that a disk was moved away from
	Moved   bool      // the guest has their data elsewhere
	Blocks  bool      // disks of an earlier guest, which block a migration of the guest to their node
	Since   time.Time // or disks that a failed task has created since
	Ended   time.Time // when the task ended: younger disks aren't included
	// Watched means that this process has seen the end of the task a moment ago: nobody can have
	// used the disks since.
	Watched bool

	Found   *Found    // what was observed; nil: not observed yet
	Next    time.Time // when to look again, after a failure
	Trouble string    // why looking failed
}

// Found is what was observed about leftover disks: the proof that they may be removed, or its lack.
type Found struct {
	There []string // existing disks
	Taken bool     // a guest has the VMID, perhaps one that isn't visible to these credentials
	Ours  bool     // that guest is visible, and its marker says that it is ours
	// Users are the guests whose configs name a volume, including pending changes and snapshots.
	Users map[string][]int
	// Unknown is why the users can't be known; empty: they are known.
	Unknown string
}

// Half reports whether these are incomplete copies, which no guest ever used.
func (l Left) Half() bool { return !l.Since.IsZero() }

// Removable returns the disks that may be removed: those that no guest names, if no guest has the
// VMID, or if the guest is ours and can't have created them.
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

// Only returns l reduced to one of the disks, without what was found.
func (l Left) Only(volume string) Left {
	l.Found, l.Next, l.Trouble = nil, time.Time{}, ""
	if len(l.Volumes) > 0 {
		l.Volumes = []string{volume}
	}
	return l
}

// Leftovers is the object of plans that remove disks of guests that no wanted object has.
var Leftovers = Key{Kind: "Leftover", Name: "disks"}
