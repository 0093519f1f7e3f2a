package plan

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// upToDate reports whether the list of guests alone shows that a guest is just as the
// owner's object wants it. When in doubt it isn't, and its config is read.
func (p *planner) upToDate(g *model.Guest, o model.Owner) bool {
	v, ok := p.vms[o.Key]
	if !ok || v.Deleted {
		return false
	}
	return p.shallowMatch(v, g)
}

// shallowMatch compares all that the list shows.
func (p *planner) shallowMatch(v model.VM, g *model.Guest) bool {
	return stamped(v, g) && p.standing(v, g) && powered(v, g) && p.figures(v, g)
}

// stamped reports whether a guest is one of ours that was left up to date.
func stamped(v model.VM, g *model.Guest) bool {
	owner, print, _ := model.ParseStateTag(g.Tags)
	return owner == v.Owner.ID() && print == v.At(g.VMID).Fingerprint() &&
		g.Lock == "" && !g.Template && (v.VMID == 0 || v.VMID == g.VMID) && g.Name == v.Name
}

// standing reports whether pool and HA are up to date. Whether a guest needs a rule of HA's
// that it isn't in is found by a deeper look.
func (p *planner) standing(v model.VM, g *model.Guest) bool {
	if nodes := v.Place.Nodes; len(nodes) > 0 && !slices.Contains(nodes, g.Node) || p.unwelcome(v, g) != "" {
		return false
	}
	if v.Pool != "" && g.Pool != v.Pool || (v.HA != nil) != (g.HAState != "") {
		return false
	}
	apart := v.HA != nil && len(v.Place.AntiAffinity) > 0 && p.ruled()
	return !apart || slices.Contains(p.have.Rules[ruleName(v)], sid(g.VMID))
}

// powered reports whether a guest runs if it is to run.
func powered(v model.VM, g *model.Guest) bool {
	if v.Power == "" {
		return true
	}
	return g.Status != model.StatusUnknown && (g.Status == model.StatusRunning) == (v.Power == model.PowerOn)
}

// figures reports whether a guest has the memory, the CPUs and the root disk that are
// wanted.
func (p *planner) figures(v model.VM, g *model.Guest) bool {
	if mem := model.MemoryOf(v.Options); mem > 0 && g.Memory != mem {
		return false
	}
	if cpus := model.CPUsOf(v.Options); cpus > 0 && g.CPUs != cpus && !p.allCPUs(g) {
		return false
	}
	return !slices.ContainsFunc(v.Disks, func(d model.Disk) bool { return d.Root() && d.Size > g.Disk })
}

// allCPUs reports whether a guest has as many CPUs as its node: Proxmox shows no
// more than that.
func (p *planner) allCPUs(g *model.Guest) bool {
	n := p.have.Nodes[g.Node]
	return n != nil && g.CPUs == n.CPUs
}
