package plan

import "github.com/proxplane/proxplane/model"

// namesakes notes guests of others that are called as a wanted one: names aren't unique in
// Proxmox, and commands that name a machine can't tell which is meant.
func (p *planner) namesakes(o *Object, v model.VM, own *model.Guest) {
	if v.Deleted {
		return
	}
	for _, g := range p.have.Named(v.Name) {
		_, _, ours := model.ParseStateTag(g.Tags)
		if g == own || g.Template || g.Container || ours || g.Config != nil && g.Config.Marker != nil {
			continue
		}
		o.note("VM %d on %s has the same name and isn't proxplane's; commands that name %s can't tell which is meant: rename one, or use VMIDs", g.VMID, g.Node, v.Name)
	}
}
