package model

import (
	"maps"
	"reflect"
	"slices"
)

// Facts are what holds for all actions of a kind, whatever their fields say. Whoever
// decides by the kind of an action asks here: [FactsOf]. The zero value is the facts of
// an action that the table doesn't know: it needs a fresh proof of ownership, and act
// refuses it.
type Facts struct {
	Kind  string // the name of its type
	Proof Proof
	Loses Loss

	Makes    bool // it makes a guest
	Adds     bool // it makes what stays until somebody removes it: a guest, a snapshot, a file, a mapping
	Destroys bool // it destroys a guest
	Moves    bool // it takes a guest to another node

	// Power is what a guest is after it, if it starts or stops one.
	Power Status
	// Boots: the guest is a new process after it.
	Boots bool
	// AsSeen: it is right only if the guest runs, or is off, as it was seen.
	AsSeen bool

	// Changes are what is in doubt when it has failed or nobody knows whether it was done,
	// and when it has succeeded, unless it Tells or is Checked.
	Changes Aspect
	Tells   bool // when it has succeeded, the action itself says what there is now
	Listed  bool // the list of all guests shows what has become of it
	Checked bool // success is looked at right away: the next plan wouldn't look
	// Proved: that a task says so isn't enough, and what there is now is looked at before the
	// action is believed.
	Proved bool

	// ByHand: a person may ask for it by the name of a guest, whosever that is, unless the action
	// names an owner.
	ByHand bool
	// Inside: it is about what is inside a guest. No plan has it, and nothing that is observed
	// changes.
	Inside bool

	Busy    Busy
	Copies  bool // it may take long, and its task says how far it is
	Leaves  bool // its task may leave disks that nothing names
	Awaited bool // other objects may wait for what it does

	Calls []Call
}

// Proof is why it is certain, when an action is done, that it is done to what is ours.
type Proof int

// The proofs.
const (
	// ProofFresh: the guest's config, with its marker, was read a moment ago. The call can't
	// be made to depend on it.
	ProofFresh Proof = iota
	// ProofDigest: Proxmox refuses the call if the config has changed since it was read.
	ProofDigest
	// ProofRead: act reads right before the call what proves it: the marker; of a disk that was
	// left, that no guest has it.
	ProofRead
	// ProofNew: Proxmox refuses the call if something with that VMID is there.
	ProofNew
	// ProofName: it is about no guest, but about a file or mapping whose name or note
	// says that it is ours.
	ProofName
)

// Loss is what an action may lose for good.
type Loss int

// The losses.
const (
	LosesNothing  Loss = iota
	LosesDisks         // disks of a guest that stays
	LosesState         // what has changed since a snapshot
	LosesSnapshot      // a snapshot
	LosesGuest         // the guest, or what is left of it; or it is stopped to be destroyed
)

// Aspect is a set of things that are observed.
type Aspect int

// The aspects.
const (
	AspectGuest    Aspect = 1 << iota // whether the guest is there
	AspectConfig                      // its config and its snapshots
	AspectPower                       // whether it runs
	AspectAgent                       // what its agent reports
	AspectPool                        // the pool that it is in
	AspectFiles                       // files on storages
	AspectHA                          // what the HA manager was told
	AspectDirs                        // directory mappings
	AspectLeft                        // disks that tasks have left
	AspectFirewall                    // the firewall of the guest
)

// Has reports whether an aspect is in the set.
func (a Aspect) Has(one Aspect) bool { return a&one != 0 }

// Busy is which storage an action keeps busy.
type Busy int

// The storages.
const (
	BusyNone   Busy = iota
	BusyNamed       // the one that the action names
	BusyGuest       // the one that the guest's first disk is on
	BusyResize      // the one that the disk is on, if growing takes its lock
)

// Call is a request to Proxmox that takes privileges.
type Call struct {
	Method, Path string
	Why          string // for people who grant the privileges
	// Optional: where these credentials may not, it goes without.
	Optional bool
}

// FactsOf are the facts of an action.
func FactsOf(a Action) Facts {
	if a == nil {
		return Facts{}
	}
	return FactsOfKind(reflect.TypeOf(a).Name())
}

// FactsOfKind are the facts of the actions of a kind.
func FactsOfKind(kind string) Facts {
	f, known := facts[kind]
	if known {
		f.Kind = kind
	}
	return f
}

// Kinds are the kinds of actions that there are.
func Kinds() []string { return slices.Sorted(maps.Keys(facts)) }
