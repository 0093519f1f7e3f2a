package model

import "cmp"

// Desired is the wanted state of one Proxmox cluster.
type Desired struct {
	Set       string // what is applied together
	Door      string `json:",omitempty"` // the door of the set; empty: "vm"
	Range     Range  `json:"-"`          // the VMIDs of its guests
	VMs       []VM
	Images    []Image
	Snapshots []Snapshot
	Shares    []Share `json:",omitempty"`
	Groups    []Group `json:",omitempty"`
	// Reserved has the owners of VMIDs that manifests name, if this is only a part of what is
	// wanted; nil: the VMs have them.
	Reserved map[int]Owner `json:"-"`
	// Seen are objects that others depend on: nothing is planned for them.
	Seen map[Key]bool `json:"-"`
	// Prune deletes objects that this set made earlier and that aren't wanted any more.
	Prune bool
	// Quick relies on the cluster's list where that shows nothing to do: neither configs nor
	// power states nor addresses are read then.
	Quick bool `json:",omitempty"`
	// Unheard leaves guest agents unasked for addresses, which don't change the steps.
	Unheard bool
	// Foresee also plans the steps that follow a wait.
	Foresee bool
	// Unasked are new objects for which a plan with Foresee doesn't check whether invisible guests have their VMIDs:
	// Proxmox refuses to create them in that case, and the refusal is reported then.
	Unasked map[Key]bool `json:"-"`
	// MaxUnavailable limits how many guests are restarted or replaced at once, in addition to
	// each guest's Rollout; zero: no limit.
	MaxUnavailable Limit `json:",omitzero"`
	// Moves are guests to migrate. Only migrations are planned then; nil: everything is planned.
	Moves map[Key]Move `json:"-"`
	// Allow are the effects that the user has allowed, in addition to the manifests.
	Allow Allow
}

// Delete deletes everything.
func (d *Desired) Delete() {
	for i := range d.VMs {
		d.VMs[i].Deleted = true
	}
	for i := range d.Images {
		d.Images[i].Deleted = true
	}
	for i := range d.Snapshots {
		d.Snapshots[i].Deleted = true
	}
	for i := range d.Shares {
		d.Shares[i].Deleted = true
	}
	for i := range d.Groups {
		d.Groups[i].Deleted = true
	}
}

// Allow says which effects are allowed.
type Allow struct {
	Restart bool `json:"restart,omitempty"` // stop and start a running guest
	Replace bool `json:"replace,omitempty"` // destroy and recreate a guest
	Data    bool `json:"data,omitempty"`    // remove disks, roll back
	Stop    bool `json:"stop,omitempty"`    // stop a guest that ignores its shutdown
	Move    bool `json:"move,omitempty"`    // migrate a guest
}

// Hold says why nothing is changed for an object: it is only observed.
type Hold struct {
	Reason Reason
	Text   string // one sentence
}

// Share is a directory of the nodes that guests use by a directory mapping. The mapping has
// the name of its owner.
type Share struct {
	Owner   Owner
	Maker   string `json:",omitempty"` // see [ShareMaker]; empty: the owner's set
	Path    string
	Nodes   []string // nodes on which guests may use it; empty: all
	Deleted bool     // to be removed: no guest uses it any more
}

// By returns the owner in the mapping's description.
func (s Share) By() string { return cmp.Or(s.Maker, s.Owner.Set) }

// ShareKey returns the key of the object for a directory mapping.
func ShareKey(name string) Key { return Key{Kind: "Share", Name: name} }

// Snapshot is a wanted snapshot.
type Snapshot struct {
	Owner       Owner
	VM          Key
	VMID        int    `json:",omitempty"` // of the guest, instead of VM: one of the same set that another caller may declare
	Name        string // in Proxmox
	Description string
	Memory      bool
	Revert      string // each new value requests a rollback; empty: none
	Keep        int    // keep only the newest n of our snapshots of this VM
	Deleted     bool
	Hold        Hold `json:",omitzero"` // see VM
	// LeftOver stands for all snapshots of the VM that the set took and no longer names: they
	// are deleted.
	LeftOver bool
}
