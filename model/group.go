package model

import "fmt"

// Group is an object that stands for several guests, which are called by its name
// and a number from 1 on.
type Group struct {
	Owner     Owner
	Name      string // of the guests in Proxmox, without the number
	Count     int
	ScaleDown bool // those beyond the count may go without asking
	Deleted   bool
	VMID      int   `json:",omitempty"` // of the first one; 0: they are derived
	Range     Range `json:",omitzero"`  // that they are derived from
}

// Owns reports whether a VMID is one that the guest with that number may have.
func (g Group) Owns(vmid, number int) bool {
	return g.VMID != 0 && vmid == g.VMID+number-1 || g.Member(number).Derives(vmid, g.Range)
}

// Member is the owner of one of the guests.
func (g Group) Member(number int) Owner {
	o := g.Owner
	o.Name = fmt.Sprintf("%s-%d", o.Name, number)
	return o
}
