package plan

import (
	"fmt"
	"path"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Proxmox calls a VM a template first, and makes base volumes of its disks afterwards. Until then
// nobody can make linked clones of it.

// converting waits while a template is still being made; nil: it is finished, as far as is known.
func (p *planner) converting(g *model.Guest) *Wait {
	for _, t := range p.have.TasksOf(g.VMID) {
		if t.Type == "qmtemplate" {
			return &Wait{Reason: WaitTask, Text: fmt.Sprintf("VM %d on %s is still being made a template", g.VMID, g.Node), Task: t.UPID}
		}
	}
	if volume := p.unconverted(g); volume != "" {
		return &Wait{Reason: WaitTemplate, Guest: g.VMID, Text: fmt.Sprintf(
			"VM %d on %s is a template, but its disk %s isn't a base volume yet; if that doesn't end, qm template %d on %[2]s makes it one", g.VMID, g.Node, volume, g.VMID)}
	}
	return nil
}

// unconverted is a disk of a template that is still to become a base volume; empty: there is none.
func (p *planner) unconverted(g *model.Guest) string {
	if !g.Template || g.Config == nil {
		return ""
	}
	for _, d := range g.Config.Disks {
		s := p.have.Storages[d.Storage]
		if !d.CDROM && !d.CloudInit && s != nil && s.Bases() && !baseVolume(d.Volume) {
			return d.Volume
		}
	}
	return ""
}

// copiedOnly reports whether a template has disks that no linked clone can be made of, since
// their storage has no base volumes.
func (p *planner) copiedOnly(g *model.Guest) bool {
	for _, d := range g.Config.Disks {
		s := p.have.Storages[d.Storage]
		if !d.CDROM && !d.CloudInit && s != nil && !s.Bases() {
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
