package model

import "fmt"

// Group is an object that stands for several guests, which have its name with a number from
// 1 on.
type Group struct {
	Owner     Owner
	Name      string // of the guests in Proxmox, without the number
	Count     int
	ScaleDown bool // guests beyond the count may be destroyed without asking
	Deleted   bool
	VMID      int   `json:",omitempty"` // of the first one; 0: they are derived
	Range     Range `json:",omitzero"`  // that they are derived from
}

// Owns reports whether the guest with that number may have the VMID.
func (g Group) Owns(vmid, number int) bool {
	return g.VMID != 0 && vmid == g.VMID+number-1 || g.Member(number).Derives(vmid, g.Range)
}

// Member returns the owner of one of the guests.
func (g Group) Member(number int) Owner {
	o := g.Owner
	o.Name = fmt.Sprintf("%s-%d", o.Name, number)
	return o
}
