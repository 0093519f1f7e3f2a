package plan

import (
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Disks without a guest, and guests without a disk: somebody has removed a guest's config, or a
// disk's file, behind Proxmox' back. They are looked for in plans that people see, since that takes a
// list of each storage.

// inspect has the disks listed, which shows which are missing, and notes those that were left.
func (p *planner) inspect(out *Plan) {
	look := out.Look()
	if look.Agents, look.Ready = nil, nil; !look.Empty() {
		return // disks are listed last: a config that is read after them may name newer ones
	}
	for i := range out.Objects {
		o := &out.Objects[i]
		v, isVM := p.vms[o.Owner.Key]
		if !isVM {
			continue
		}
		vmid, asks := p.inspected(o, v)
		switch {
		case vmid == 0:
		case asks && p.have.Volumes == nil && o.Node != "":
			p.noteOrphansAt(o, vmid, o.Node, "")
		case p.have.Volumes == nil:
			o.Look.Volumes = true
		case asks:
			p.noteOrphans(o, vmid, p.have.Volumes.Of(vmid))
		default:
			o.noteUnnamed(p.have.Guests[vmid])
		}
	}
}

// inspected returns the VMID whose disks matter to an object: that of its guest, if its config is known,
// or the one that it gets or would have had; asks means that there is no such guest.
func (p *planner) inspected(o *Object, v model.VM) (vmid int, asks bool) {
	if g := p.have.Guests[o.VMID]; g != nil {
		if g.Config == nil {
			return 0, false
		}
		return g.VMID, false
	}
	if p.want.Unasked[v.Owner.Key] {
		return 0, false
	}
	f := p.find(v.Owner, v.VMID, v.Range)
	return f.free, true
}

// orphans returns disks that are called as a guest's that isn't there. They may hold what nobody else
// has, so that they are kept.
func (p *planner) orphans(volumes []model.Volume) []string {
	var list []string
	for _, v := range volumes {
		if model.CloudInitVolume(v.ID) {
			continue // it holds nothing but what Proxmox writes into it, and is removed where it is in the way
		}
		if p.have.Guests[v.VMID] == nil && p.have.Placed[v.VMID].Node == "" && !p.removes(v.ID) {
			list = append(list, fmt.Sprintf("%s on %s", v.ID, v.Node))
		}
	}
	return list
}

// noteOrphansAt does so for the disks that a guest's node can reach. Only there they are in the way of a new one.
func (p *planner) noteOrphansAt(o *Object, vmid int, nodes ...string) {
	var volumes []model.Volume
	for _, node := range nodes {
		at, read := p.have.Disks[node]
		if !read {
			o.Look.Disks = append(o.Look.Disks, node)
		}
		volumes = append(volumes, at.Of(vmid)...)
	}
	if o.Look.Empty() {
		p.noteOrphans(o, vmid, volumes)
	}
}

// noteOrphans mentions disks of an earlier guest with a VMID.
func (p *planner) noteOrphans(o *Object, vmid int, volumes []model.Volume) {
	if list := p.orphans(volumes); len(list) > 0 {
		o.note("disks of an earlier VM %d, which isn't there any more, are left: %s; they are kept: look what is on them, and remove them with pvesm free", vmid, strings.Join(list, ", "))
	}
}

// noteUnnamed mentions disks that have the VMID of a guest and are none of its own: they would be left when it is destroyed.
func (o *Object) noteUnnamed(g *model.Guest) {
	if len(g.Unnamed) > 0 {
		o.note("disks of an earlier VM %d are left, which VM %[1]d doesn't use: %s; they are kept: look what is on them, and remove them with pvesm free", g.VMID, strings.Join(g.Unnamed, ", "))
	}
}

// torn waits if a disk that the guest's config names isn't on its storage.
func (c *change) torn() bool {
	for _, slot := range c.g.Missing {
		d, _ := c.have.DiskAt(slot)
		if d.CDROM && (c.v.Seed == nil || !c.v.Seed.Lost) {
			continue // first-boot data are uploaded again, see seed
		}
		c.o.wait(model.WaitDisk, fmt.Sprintf("%s of VM %d is missing: storage %s has no %s; put it back from a backup, or take %[1]s out of the VM", slot, c.g.VMID, d.Storage, d.Volume))
	}
	return c.o.Wait != nil
}

// hangers names disks without a guest that are linked clones of a template's: Proxmox doesn't remove
// it as long as they are there.
func (p *planner) hangers(g *model.Guest) []string {
	base := fmt.Sprintf("base-%d-", g.VMID)
	return p.orphans(p.have.Volumes.LinkedTo(g.VMID, func(volume string) bool { return strings.Contains(volume, base) }))
}
