package model

import (
	"net/netip"
	"time"
)

// State is how an object is, in one word.
type State string

// The states of objects.
const (
	StateReady    State = "Ready"    // up to date
	StateGone     State = "Gone"     // it was to go, and has
	StateChanging State = "Changing" // something is being done, or is to be
	StateWaiting  State = "Waiting"  // for something that may still come
	StateBlocked  State = "Blocked"  // it goes on when a person has done something
	StateRefused  State = "Refused"  // something would be needed that isn't allowed
	StateFailed   State = "Failed"   // something goes wrong each time
	StateUnread   State = "Unread"   // not all that matters was read yet
)

// State is how an object is that waits for the reason.
func (r Reason) State() State {
	switch ends := r.Facts().Ends; {
	case r == WaitFailed:
		return StateFailed
	case ends == EndsByPerson || ends == EndsByReturn || ends == EndsByHolder:
		return StateBlocked
	}
	return StateWaiting
}

// Wait is why nothing more can be done now.
type Wait struct {
	Reason Reason
	Text   string       // one sentence
	Diff   []Difference // what it is about; it follows the text
	Do     Advice
	Task   string // the task that is waited for, if it is one
	Guest  int    // the guest whose config tells when it is over, if it isn't the object's own
}

// Refusal is a step that would be needed and wasn't agreed to.
type Refusal struct {
	What, Why string
	Diff      []Difference // as of a step
	Effect    Effect
	Allow     Do      // what agrees to it; empty: nothing can
	Late      bool    // it wasn't in the plan that was agreed to
	Pending   Pending // what a refused restart would apply
}

// Pending is what a running guest gets at its next restart.
type Pending struct {
	CPUs, NextCPUs     int      // that it has, and after the restart; 0: they stay as they are
	Memory, NextMemory int64    // the same in bytes
	Keys               []string // options beside the sizes that change
}

// Note is something that people should know, though nothing has to be done about it.
type Note struct {
	Text string
	Diff []Difference // what it is about; it follows the text
	Do   Advice       // what can be done about it all the same
}

// Outcome is what became of an object. Package status puts it into the words of a door.
type Outcome struct {
	Owner     Owner
	Version   int64 // of what is wanted, for who wants another thing later
	State     State
	Reason    Reason // why it is so
	VMID      int
	Node      string
	Status    Status       // of its guest; empty: there is none
	Task      string       // that is being worked on
	Text      string       // what it waits for, or what went wrong, in one line
	Diff      []Difference // what the text is about; it follows it
	Do        Advice       // what a person can do about what it waits for
	Since     time.Time    // since when
	Wait      *Wait
	Refused   []Refusal
	Notes     []Note
	Failure   *Failure
	Repeats   bool       // what is being done is what has failed
	Templates []Template // that an image stands for
	Awaits    Key        // the template on Node that its guest is to be made from, while there is none
	Addresses []netip.Prefix
	// Leased are the addresses that the guest has from pools, or is to get; nil: that isn't known.
	Leased []netip.Addr
	// Verified is when its guest's config was last read from Proxmox; zero: there is none,
	// or it may have changed since.
	Verified time.Time
}
