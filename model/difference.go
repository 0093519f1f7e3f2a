package model

import (
	"fmt"
	"strings"
)

// Difference is one change of a step, as data. Package status puts it into words.
type Difference struct {
	// Field is the name of the option or slot in Proxmox' config: "memory", "net0", and
	// "scsi1.cache" for a part of a slot. Other fields are Field constants.
	Field string
	Verb  Verb
	// From and To are the values as they are in the config, sizes of disks in bytes. Empty:
	// there is none, or it is secret, such as a password.
	From, To string
	Effect   Effect
}

// Fields that aren't options or slots of Proxmox' config.
const (
	FieldMarker    = "marker"     // the marker in the description
	FieldHook      = "hook"       // the block for the node's hook
	FieldFirstBoot = "firstBoot"  // first-boot data
	FieldCloudInit = "cloud-init" // Proxmox' own cloud-init drive
	FieldNode      = "node"       //
	FieldPool      = "pool"       //
	FieldPower     = "power"      // From and To are a [Status]
	FieldSource    = "source"     // what the guest was made from
	FieldVMID      = "vmid"       //
	FieldHA        = "ha"         // ha.group and so on are parts of it
	FieldDirectory = "directory"  // of a directory mapping
	FieldFirewall  = "firewall"   // firewall.policy_in and so on are parts of it
	FieldRule      = "firewall.rule"
	FieldRules     = "firewall.rules" // their order
)

// Verb says how a field changes.
type Verb string

// Verbs.
const (
	VerbSet        Verb = "set"         // it gets another value; without To: Proxmox' default
	VerbUnset      Verb = "unset"       // no manifest names it any more
	VerbAdd        Verb = "add"         // a device or drive is added
	VerbReplace    Verb = "add anew"    // an empty disk replaces a volume that is gone
	VerbAttach     Verb = "attach"      // a detached volume is attached
	VerbInsert     Verb = "insert"      // a drive gets another medium
	VerbEmpty      Verb = "empty"       // a drive gets no medium
	VerbRemove     Verb = "remove"      // a device, a drive or a disk is removed
	VerbSign       Verb = "sign"        // a marker becomes provable
	VerbRerun      Verb = "rerun"       // cloud-init runs again
	VerbUndo       Verb = "undo"        // a pending change is dropped: From was pending, To stays
	VerbUndoAdd    Verb = "undo add"    // a pending device is dropped
	VerbUndoRemove Verb = "undo remove" // a pending removal is dropped
)

// Verbs lists all verbs.
var Verbs = []Verb{
	VerbSet, VerbUnset, VerbAdd, VerbReplace, VerbAttach, VerbInsert, VerbEmpty, VerbRemove, VerbSign, VerbRerun,
	VerbUndo, VerbUndoAdd, VerbUndoRemove,
}

// Slot splits a field that is a part of a slot: "net0.bridge" is "net0" and "bridge". Other
// fields have no slot.
func (d Difference) Slot() (slot, part string) {
	if slot, part, ok := strings.Cut(d.Field, "."); ok {
		return slot, part
	}
	return "", d.Field
}

// Waits reports whether the difference applies at the next start of a running guest only.
func (d Difference) Waits() bool { return d.Effect == EffectLater || d.Effect == EffectRestart }

// String returns the difference as plain data without its effect, for tests and logs of our own.
func (d Difference) String() string {
	var b strings.Builder
	if d.Verb != VerbSet {
		b.WriteString(string(d.Verb) + " ")
	}
	b.WriteString(d.Field)
	switch {
	case d.From != "" && d.To != "":
		fmt.Fprintf(&b, " %s → %s", d.From, d.To)
	case d.From != "":
		fmt.Fprintf(&b, " %s → none", d.From)
	case d.To != "":
		fmt.Fprintf(&b, " → %s", d.To)
	}
	return b.String()
}
