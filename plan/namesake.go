package plan

import "github.com/proxplane/proxplane/model"

// namesakes adds notes about guests of others with the name of a wanted one: names aren't
// unique in Proxmox, so such a name is ambiguous in commands. Where a person looks at the
// plan, guests whose names the list doesn't show yet are read first.
func (p *planner) namesakes(o *Object, v model.VM) (look Look) {
	if v.Deleted {
		return look
	}
	if p.want.Foresee && !p.want.Quick {
		for _, g := range p.nameless() {
			if g.Config == nil && !g.Template && !g.Container && !p.offline(g.VMID) {
				look.Configs = append(look.Configs, g.VMID)
			}
		}
	}
	for _, g := range p.have.Named(v.Name) {
		_, _, ours := model.ParseStateTag(g.Tags)
		if g.Template || g.Container || ours || g.Config != nil && g.Config.Marker != nil {
			continue
		}
		o.note("VM %d on %s has the same name and isn't proxplane's; commands that go by the name %s alone can't tell which is meant: rename one, or use VMIDs", g.VMID, g.Node, v.Name)
	}
	return look
}
