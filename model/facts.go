package model

import (
	"maps"
	"reflect"
	"slices"
)

// Facts are the properties of a kind of action, whatever its fields say. All decisions by
// the kind of an action use them: see [FactsOf]. The zero value is for an action without a
// row in the table: it needs a fresh proof of ownership, and act refuses it.
type Facts struct {
	Kind  string // the name of its type
	Proof Proof
	Loses Loss

	Makes    bool // it creates a guest
	Adds     bool // it creates something that persists: a guest, a snapshot, a file, a mapping
	Destroys bool // it destroys a guest
	Moves    bool // it migrates a guest

	// Power is the guest's power state afterwards, if the action starts or stops it.
	Power Status
	// Boots: the guest is a new process after it.
	Boots bool
	// AsSeen: it is valid only if the guest still has the power state that was observed.
	AsSeen bool

	// Changes are the aspects to read again after the action, also if it has failed or its
	// outcome is unknown. After success they aren't read again if it Tells or is Checked.
	Changes Aspect
	Tells   bool // after success, the action itself says what the new state is
	Listed  bool // the list of all guests shows its result
	Checked bool // after success the state is read right away: the next plan wouldn't read it
	// Proved: the success of the task isn't enough: the new state is read before the action
	// counts as done.
	Proved bool

	// ByHand: a person may request it for any guest by its name, unless the action names an
	// owner.
	ByHand bool
	// Inside: it acts inside of a guest. It is in no plan, and changes nothing that is
	// observed.
	Inside bool

	Busy    Busy
	Copies  bool // it may take long, and its task reports progress
	Leaves  bool // its task may leave disks that nothing names
	Awaited bool // other objects may wait for its result

	Calls []Call
}

// Proof is what proves that an action is done to a guest or file of ours.
type Proof int

// The proofs.
const (
	// ProofFresh: the guest's config, with its marker, was read a moment ago. The call has no
	// parameter for its digest.
	ProofFresh Proof = iota
	// ProofDigest: Proxmox refuses the call if the config has changed since it was read.
	ProofDigest
	// ProofRead: act reads the proof right before the call: the marker, or for a leftover disk,
	// that no guest uses it.
	ProofRead
	// ProofNew: Proxmox refuses the call if the VMID is taken.
	ProofNew
	// ProofName: it isn't about a guest but about a file or mapping whose name or note says
	// that it is ours.
	ProofName
)

// Loss is what an action may destroy irrevocably.
type Loss int

// The losses.
const (
	LosesNothing  Loss = iota
	LosesDisks         // disks of a guest that stays
	LosesState         // changes since a snapshot
	LosesSnapshot      // a snapshot
	LosesGuest         // the guest, or what is left of it; or the guest is stopped to be destroyed
)

// Aspect is a set of observed facts.
type Aspect int

// The aspects.
const (
	AspectGuest    Aspect = 1 << iota // whether the guest exists
	AspectConfig                      // its config and its snapshots
	AspectPower                       // whether it runs
	AspectAgent                       // its agent's answers
	AspectPool                        // the pool that it is in
	AspectFiles                       // files on storages
	AspectHA                          // its HA resource and rules
	AspectDirs                        // directory mappings
	AspectLeft                        // disks that tasks have left
	AspectFirewall                    // the firewall of the guest
)

// Has reports whether an aspect is in the set.
func (a Aspect) Has(one Aspect) bool { return a&one != 0 }

// Busy says which storage an action uses.
type Busy int

// The storages.
const (
	BusyNone   Busy = iota
	BusyNamed       // the one that the action names
	BusyGuest       // the storage of the guest's first disk
	BusyResize      // the storage of the disk, if growing takes its lock
)

// Call is a request to Proxmox that needs privileges.
type Call struct {
	Method, Path string
	Why          string // for people who grant the privileges
	// Optional: if the credentials lack the privileges, the request is skipped.
	Optional bool
	// Seldom: it isn't made each time.
	Seldom bool
}

// FactsOf returns the facts of an action.
func FactsOf(a Action) Facts {
	if a == nil {
		return Facts{}
	}
	return FactsOfKind(reflect.TypeOf(a).Name())
}

// FactsOfKind returns the facts of a kind of action.
func FactsOfKind(kind string) Facts {
	f, known := facts[kind]
	if known {
		f.Kind = kind
	}
	return f
}

// Kinds lists the kinds of actions.
func Kinds() []string { return slices.Sorted(maps.Keys(facts)) }
