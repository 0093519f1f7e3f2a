package inspect

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/status"
)

// listAddresses lists the addresses of all VMs: those of the pools, if the manifests have pools, and
// all that configs say and agents report otherwise.
func listAddresses(ctx context.Context, g *Get, names []string) (listing, error) {
	have, err := g.c.Look(ctx)
	if err != nil {
		return listing{}, err
	}
	guests := target.Sorted(have, func(g *model.Guest) bool {
		return !g.Template && have.Nodes[g.Node] != nil && have.Nodes[g.Node].Online
	})
	var ids []int
	for _, guest := range guests {
		ids = append(ids, guest.VMID)
	}
	if err := g.c.ReadAll(ctx, ids, g.c.Observer.Config); err != nil {
		return listing{}, err
	}
	g.c.AskAddresses(ctx, guests)
	have = g.c.Observer.Snapshot()
	var held []model.Holding
	users := map[netip.Addr]int{}
	var all []string
	for _, id := range ids {
		if guest := have.Guests[id]; guest != nil {
			all = append(all, guest.Name)
			for _, h := range guest.Holdings() {
				users[h.Address]++
				held = append(held, h)
			}
		}
	}
	slices.SortFunc(held, func(a, b model.Holding) int { return cmp.Or(a.Address.Compare(b.Address), a.VMID-b.VMID) })
	l := listing{notes: addressesUnknown(have)}
	var rows []status.Address
	for _, h := range held {
		pool, ok := poolOf(g.c.Networks.Pools(), h)
		all = append(all, h.Address.String())
		if !ok || !named(names, h.Address.String()) && !named(names, h.Name) {
			continue
		}
		a := status.AddressOf(h, have.Guests[h.VMID], pool)
		a.Shared = users[h.Address] > 1
		rows = append(rows, a)
		l.addNamed(a.Address+" "+strconv.Itoa(a.VMID), a.Address, a)
	}
	l.table = status.AddressTable(rows)
	return l, missing("address or VM", names, all)
}

// addressesUnknown names the guests whose addresses can't be read, since their nodes are offline.
func addressesUnknown(have *model.Observed) (notes []string) {
	for _, node := range model.NamesOf(have.Nodes) {
		var there []string
		for _, guest := range target.Sorted(have, func(g *model.Guest) bool { return g.Node == node && !g.Template }) {
			there = append(there, strconv.Itoa(guest.VMID)) // Proxmox doesn't list their names
		}
		const most = 10
		more := ""
		if n := len(there) - most; n > 0 {
			there, more = there[:most], fmt.Sprintf(" and %d more", n)
		}
		if len(there) > 0 && !have.Nodes[node].Online {
			notes = append(notes, fmt.Sprintf("node %s is offline, so the addresses that VMs there have aren't known: %s%s", node, strings.Join(there, ", "), more))
		}
	}
	return notes
}

// poolOf is the pool that an address is of; false: the manifests have pools, and it is of none.
func poolOf(pools []model.AddressPool, h model.Holding) (name string, ok bool) {
	for _, p := range pools {
		if p.Contains(h.Address) {
			return p.Name, true
		}
	}
	return "", len(pools) == 0 || h.Slot != ""
}
