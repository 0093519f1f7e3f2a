package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
)

// leftAge is how far back it is looked for disks that Proxmox has left.
const leftAge = 7 * 24 * time.Hour

// leftovers names disks that Proxmox couldn't remove with their machines, and that
// nobody has removed since. Those of machines that were ours are in the next plan, unless
// it has a password: then a person may have destroyed them.
func (e *examination) leftovers() {
	for _, node := range slices.Sorted(maps.Keys(e.have.Nodes)) {
		if !e.have.Nodes[node].Online {
			continue
		}
		found, err := e.c.Site.LeftOn(e.ctx, node, e.c.Client.Now().Add(-leftAge))
		if err != nil {
			e.skip(areaCluster, fmt.Sprintf("whether Proxmox has left disks on %s isn't known: %s", node, ui.ShortCause(err)), "")
		}
		for _, left := range found {
			e.warn(areaCluster, fmt.Sprintf("Proxmox couldn't remove %s on %s when VM %d was destroyed, and no machine uses it", left, node, left.VMID),
				"To remove it, on "+node+": pvesm free "+strings.Join(left.Removable(), "; pvesm free "))
		}
	}
}

// mostOrphans limits how many machines with leftover disks are listed.
const mostOrphans = 20

// orphans names disks of machines that aren't there any more: somebody has removed the config of a
// machine by hand. They may hold what nobody else has, so that nothing removes them by itself.
func (e *examination) orphans() {
	if err := cmp.Or(e.readOurs(), e.c.Observer.Volumes(e.ctx)); err != nil {
		e.skip(areaCluster, "whether there are disks without a machine isn't known: "+ui.ShortCause(err), "")
		return
	}
	have := e.c.Observer.Snapshot()
	for _, vmid := range slices.Sorted(maps.Keys(have.Guests)) {
		if unnamed := have.Guests[vmid].Unnamed; len(unnamed) > 0 {
			e.warn(areaCluster, fmt.Sprintf("there are disks of an earlier VM %d, which VM %[1]d doesn't use: %s", vmid, strings.Join(unnamed, ", ")),
				"Look what is on them. To remove them, on a node that has them: pvesm free "+strings.Join(unnamed, "; pvesm free "))
		}
	}
	left := map[int][]model.Volume{}
	for _, storage := range model.NamesOf(have.Volumes) {
		for _, v := range have.Volumes[storage] {
			if v.VMID != 0 && have.Guests[v.VMID] == nil {
				left[v.VMID] = append(left[v.VMID], v)
			}
		}
	}
	vmids := slices.Sorted(maps.Keys(left))
	for _, vmid := range vmids[:min(len(vmids), mostOrphans)] {
		var names, free []string
		for _, v := range left[vmid] {
			names = append(names, v.ID+" on "+v.Node)
			free = append(free, "pvesm free "+v.ID)
		}
		slices.Sort(names)
		slices.Sort(free)
		e.warn(areaCluster, fmt.Sprintf("there is no VM %d, but disks of it: %s", vmid, strings.Join(names, ", ")),
			"Look what is on them. To remove them, on a node that has them: "+strings.Join(free, "; "))
	}
	if more := len(vmids) - mostOrphans; more > 0 {
		e.warn(areaCluster, fmt.Sprintf("there are disks of %d more VMs that aren't there", more), "")
	}
}

// readOurs reads the configs of proxplane's machines: which disks are theirs stands nowhere else.
func (e *examination) readOurs() error {
	var all errgroup.Group
	all.SetLimit(16)
	for vmid, g := range e.have.Guests {
		if node := e.have.Nodes[g.Node]; !g.Container && slices.Contains(g.Tags, model.Tag) && node != nil && node.Online {
			all.Go(func() error { return e.c.Observer.Config(e.ctx, vmid) })
		}
	}
	return all.Wait()
}
