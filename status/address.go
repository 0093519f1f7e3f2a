package status

import (
	"strconv"

	"github.com/proxplane/proxplane/model"
)

// Address is an address and its guest, for tables and for programs.
type Address struct {
	Address string `json:"address"`
	Pool    string `json:"pool,omitempty"`
	VM      string `json:"vm"`
	VMID    int    `json:"vmid"`
	Node    string `json:"node"`
	Object  string `json:"object,omitempty"` // the manifest's object
	Set     string `json:"set,omitempty"`
	From    string `json:"from"`             // source: config, claim or agent
	Shared  bool   `json:"shared,omitempty"` // another guest has it, too
}

// AddressOf returns the view of a guest's address.
func AddressOf(h model.Holding, g *model.Guest, pool string) Address {
	a := Address{Address: h.Address.String(), Pool: pool, VM: h.Name, VMID: h.VMID, Node: h.Node, From: "config"}
	switch {
	case h.Claimed:
		a.From = "claim"
	case h.Reported:
		a.From = "agent"
	}
	if m := g.Marker(); m != nil {
		a.Object, a.Set = Name(m.Owner.Key), m.Owner.Set
	}
	return a
}

// AddressTable lists addresses.
func AddressTable(list []Address) Table {
	t := Table{Columns: []Column{
		{Name: "ADDRESS"}, {Name: "POOL"}, {Name: "VM"}, {Name: "VMID", Right: true}, {Name: "NODE"}, {Name: "FROM"}, {Name: "SET"}, {Name: "NOTE", Flex: true},
	}}
	for _, a := range list {
		note := ""
		if a.Shared {
			note = "more than one VM has it"
		}
		t.Rows = append(t.Rows, []string{a.Address, a.Pool, a.VM, strconv.Itoa(a.VMID), a.Node, a.From, a.Set, note})
	}
	return t
}
