package model

import "fmt"

// Do is what a person can do about a wait, a refusal or a failure. It is a code: package
// status has the words for each door.
type Do string

// The codes. Those that begin with Allow consent to a step that was refused.
const (
	AllowRestart   Do = "allow restart"
	AllowReplace   Do = "allow replace"
	AllowDataLoss  Do = "allow data loss"
	AllowStop      Do = "allow stop"
	AllowMove      Do = "allow move"       // to Node
	AllowScaleDown Do = "allow scale down" // of a count
	AllowLate      Do = "allow what wasn't in the plan"
	AllowDelete    Do = "allow deletion" // of a guest that is protected

	RenewGuest    Do = "make anew"              // which is allowed then
	ImportGuest   Do = "import"                 // the guest VMID, which is nobody's
	ProveGuest    Do = "prove"                  // that the guest VMID is Owner's
	TakeOver      Do = "take over"              // for Owner what was made for Former
	TakeOverSnap  Do = "take over the snapshot" // the same, of a snapshot
	DeleteGuest   Do = "delete"                 // the guest VMID, if it is what it says
	InstallHook   Do = "install the hook"       // on the nodes that lack it
	CheckBridge   Do = "check the bridge"
	CheckStorage  Do = "check the storage"
	CheckPrivs    Do = "check the privileges"
	StopGuest     Do = "stop the guest" // which ignored its shutdown
	MoveDisks     Do = "move the disks" // to where there are snapshots
	DropSnapshots Do = "drop the snapshots"

	OwnData       Do = "give it first-boot data of its own"
	NameTemplate  Do = "say which template is meant"
	AllowCopies   Do = "allow copies"       // of a template, for nodes that don't reach its disks
	DescribeImage Do = "describe the image" // a template that is named directly isn't copied
	AllowSource   Do = "allow the source"   // the guest VMID, which is no template
	NameVMID      Do = "name the VMID"      // VMID, if the guest is what it says
	MakeDirectory Do = "make the directory" // on the node, or name nodes that have it
	TrustCA       Do = "trust Proxmox' CA"  // or pin its certificate
	NameSSH       Do = "say how nodes are reached by SSH"
	RenewHostKey  Do = "renew the node's SSH key" // which isn't the one that is known
	TrustHostKey  Do = "trust the node's SSH key" // which isn't known
	AuthorizeSSH  Do = "authorize the SSH key"    // on the node
	CheckSSHKey   Do = "check the SSH key"        // which is none
	FreeSnippets  Do = "free space for snippets"
	OpenSSH       Do = "open SSH to the node"
)

// Dos lists all codes.
var Dos = []Do{
	AllowRestart, AllowReplace, AllowDataLoss, AllowStop, AllowMove, AllowScaleDown, AllowLate, AllowDelete,
	RenewGuest, ImportGuest, ProveGuest, TakeOver, TakeOverSnap, DeleteGuest, InstallHook,
	CheckBridge, CheckStorage, CheckPrivs, StopGuest, MoveDisks, DropSnapshots,
	OwnData, NameTemplate, AllowCopies, DescribeImage, AllowSource, NameVMID, MakeDirectory, TrustCA,
	NameSSH, RenewHostKey, TrustHostKey, AuthorizeSSH, CheckSSHKey, FreeSnippets, OpenSSH,
}

// Advice is a code with its arguments; the zero value is none.
type Advice struct {
	Do            Do
	VMID          int
	Node          string
	Owner, Former Owner
	Text          string // without Do: a sentence for all doors
}

// None reports whether there is no advice.
func (a Advice) None() bool { return a == Advice{} }

// String returns the advice as plain data, for tests and logs of our own.
func (a Advice) String() string {
	if a.Do == "" {
		return a.Text
	}
	text := string(a.Do)
	if a.VMID != 0 {
		text += fmt.Sprintf(" VM %d", a.VMID)
	}
	if a.Owner != (Owner{}) {
		text += " for " + a.Owner.Key.String()
	}
	if a.Former != (Owner{}) {
		text += fmt.Sprintf(" from %s of %s", a.Former.UID, a.Former.Set)
	}
	return text
}

// Doubts reports whether this is asked of a person because a guest may be an object's and doesn't prove it.
func (d Do) Doubts() bool { return d == ProveGuest || d == NameVMID || d == TakeOver }
