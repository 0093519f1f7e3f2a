package model

import "cmp"

// Desired is what people want of one Proxmox cluster.
type Desired struct {
	Set       string // what is applied together
	Door      string `json:",omitempty"` // which front door's set; empty: "vm"
	Range     Range  `json:"-"`          // the VMIDs that its guests get
	VMs       []VM
	Images    []Image
	Snapshots []Snapshot
	Shares    []Share `json:",omitempty"`
	Groups    []Group `json:",omitempty"`
	// Reserved says who gets a VMID that a manifest names, where this is a part of what is
	// wanted; nil: the VMs say so.
	Reserved map[int]Owner `json:"-"`
	// Seen are objects that are here because others depend on them: nothing is planned for
	// them.
	Seen map[Key]bool `json:"-"`
	// Prune deletes what this set made earlier and doesn't name any more.
	Prune bool
	// Quick takes the cluster's list for the truth where it shows nothing to do: neither
	// configs nor power states nor addresses are read then.
	Quick bool `json:",omitempty"`
	// Foresee shows also what follows when what is waited for is there.
	Foresee bool
	// Unasked are new objects of which those who foresee don't ask whether their VMIDs are taken by guests that aren't
	// visible: Proxmox refuses to make them then, and that is told when they are made.
	Unasked map[Key]bool `json:"-"`
	// MaxUnavailable bounds how many guests of all that is wanted are restarted or
	// replaced at once, on top of what each guest's Rollout says; zero: nothing does.
	MaxUnavailable Limit `json:",omitzero"`
	// Moves are the guests that are to go to other nodes: only that is done then, and nothing else
	// that is wanted; nil: all is done.
	Moves map[Key]Move `json:"-"`
	// Allow are the effects that the person at the keyboard has agreed to,
	// on top of what the manifests allow.
	Allow Allow
}

// Delete has everything go.
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

// Allow says which effects are agreed to.
type Allow struct {
	Restart bool `json:"restart,omitempty"` // stop and start a running guest
	Replace bool `json:"replace,omitempty"` // destroy a guest and make it anew
	Data    bool `json:"data,omitempty"`    // remove disks, roll back
	Stop    bool `json:"stop,omitempty"`    // pull the plug of a guest that ignores its shutdown
	Move    bool `json:"move,omitempty"`    // take a guest to another node
}

// Hold says why nothing is changed for an object: it is only looked at.
type Hold struct {
	Reason Reason
	Text   string // one sentence
}

// Share is a directory of the nodes that guests use by a mapping, which has the
// name of its owner.
type Share struct {
	Owner   Owner
	Maker   string `json:",omitempty"` // see [ShareMaker]; empty: the owner's set
	Path    string
	Nodes   []string // that guests may use it on; empty: all
	Deleted bool     // no guest is to use it any more
}

// By is whose the mapping is.
func (s Share) By() string { return cmp.Or(s.Maker, s.Owner.Set) }

// ShareKey names the object that a directory mapping is for.
func ShareKey(name string) Key { return Key{Kind: "Share", Name: name} }

// Snapshot is a snapshot that is wanted.
type Snapshot struct {
	Owner       Owner
	VM          Key
	VMID        int    `json:",omitempty"` // of the guest, in place of VM: one of the same set that may be wanted elsewhere
	Name        string // in Proxmox
	Description string
	Memory      bool
	Revert      string // a value that is new each time to go back to it; empty: never
	Keep        int    // keep only the newest n of this VM's that are ours
	Deleted     bool
	Hold        Hold `json:",omitzero"` // as of a VM
	// LeftOver stands for all snapshots of the VM that the set took and no longer
	// names: they go.
	LeftOver bool
}
