package model

import (
	"net/netip"
	"time"
)

// State is the state of an object.
type State string

// The states of objects.
const (
	StateReady    State = "Ready"    // up to date
	StateGone     State = "Gone"     // it was to be removed, and is
	StateChanging State = "Changing" // steps are being done or are due
	StateWaiting  State = "Waiting"  // it waits for something that may still happen
	StateBlocked  State = "Blocked"  // a person has to act before it continues
	StateRefused  State = "Refused"  // a step is needed that isn't allowed
	StateFailed   State = "Failed"   // a step fails each time
	StateUnread   State = "Unread"   // not everything that matters has been read yet
)

// State returns the state of an object that waits for the reason.
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
	Diff   []Difference // its differences, which follow the text
	Do     Advice
	Task   string // the task that is waited for, if it is one
	Lacks  []Lack // the missing privileges
	Guest  int    // the guest whose config shows the end of the wait, if it isn't the object's own
}

// Refusal is a step that is needed and wasn't allowed.
type Refusal struct {
	What, Why string
	Diff      []Difference // see Step
	Effect    Effect
	Allow     Do      // what allows it; empty: nothing can
	Late      bool    // it wasn't in the plan that the user agreed to
	Pending   Pending // differences that a refused restart would apply
}

// Pending are changes that apply at the next restart of a running guest.
type Pending struct {
	CPUs, NextCPUs     int      // CPUs now and after the restart; 0: no change
	Memory, NextMemory int64    // memory in bytes, as with CPUs
	Keys               []string // other options that change
}

// Note is information for people that needs no action.
type Note struct {
	Text string
	Diff []Difference // its differences, which follow the text
	Do   Advice       // advice
}

// Outcome is the result for an object. Package status puts it into the words of a door.
type Outcome struct {
	Owner     Owner
	Version   int64 // generation of the wanted object that the outcome is for
	State     State
	Reason    Reason // why it is so
	VMID      int
	Node      string
	Status    Status       // node of its guest; empty: there is none
	Task      string       // the step or task in progress
	Text      string       // the cause of the wait or the failure, in one line
	Diff      []Difference // its differences, which follow the text
	Do        Advice       // advice for people
	Since     time.Time    // since when
	Wait      *Wait
	Refused   []Refusal
	Notes     []Note
	Failure   *Failure
	Repeats   bool       // the step in progress is the one that has failed before
	Templates []Template // the templates of an image
	Awaits    Key        // the template on Node that its guest waits for
	Addresses []netip.Prefix
	// Leased are the addresses that the guest has or gets from pools; nil: not known.
	Leased []netip.Addr
	// Verified is when its guest's config was last read from Proxmox; zero: there is none,
	// or it may have changed since.
	Verified time.Time
}
