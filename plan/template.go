package plan

import (
	"fmt"
	"path"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Proxmox calls a VM a template first, and makes base volumes of its disks afterwards. Until then
// nobody can make linked clones of it.

// converting waits while a template is still being made, or is being destroyed: nothing can be made from it any more.
// nil: it is finished, as far as is known.
func (p *planner) converting(g *model.Guest) *Wait {
	for _, t := range p.have.TasksOf(g.VMID) {
		switch t.Type {
		case "qmtemplate":
			return &Wait{Reason: model.WaitTask, Text: fmt.Sprintf("VM %d on %s is still being made a template", g.VMID, g.Node), Task: t.UPID}
		case "qmdestroy":
			return &Wait{Reason: model.WaitTask, Text: fmt.Sprintf("template %d on %s is being destroyed", g.VMID, g.Node), Task: t.UPID}
		}
	}
	for _, d := range p.unconverted(g) {
		return &Wait{Reason: model.WaitTemplate, Guest: g.VMID, Text: fmt.Sprintf(
			"VM %d on %s is a template, but its disk %s isn't a base volume yet; if that doesn't end, qm template %[1]d --disk %[4]s on %[2]s makes it one", g.VMID, g.Node, d.Volume, d.Slot)}
	}
	return nil
}

// convert makes base volumes of those disks of a template of ours that aren't: its making was
// interrupted.
func (p *planner) convert(o *Object, g *model.Guest) bool {
	last := 0
	for _, d := range p.unconverted(g) {
		last = o.step(Step{
			Action: model.MakeTemplate{Target: model.Target{VMID: g.VMID, Node: g.Node}, Disk: d.Slot},
			What:   fmt.Sprintf("make %s of VM %d a base volume", d.Slot, g.VMID), Why: "the making of the template was interrupted", Effect: New,
		}, last)
	}
	return last > 0
}

// unconverted returns the disks of a template that are still to become base volumes.
func (p *planner) unconverted(g *model.Guest) (list []model.Disk) {
	if !g.Template || g.Config == nil {
		return nil
	}
	for _, d := range g.Config.Disks {
		s := p.have.Storages[d.Storage]
		if d.IsDisk() && s != nil && s.Bases() && !baseVolume(d.Volume) {
			list = append(list, d)
		}
	}
	return list
}

// copiedOnly reports whether a template has disks that no linked clone can be made of, since
// their storage has no base volumes.
func (p *planner) copiedOnly(g *model.Guest) bool {
	for _, d := range g.Config.Disks {
		s := p.have.Storages[d.Storage]
		if d.IsDisk() && s != nil && !s.Bases() {
			return true
		}
	}
	return false
}

// baseVolume reports whether a volume is a template's, from its name.
func baseVolume(volume string) bool {
	_, name, _ := strings.Cut(volume, ":")
	return strings.HasPrefix(path.Base(name), "base-")
}
