package privileges

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// misplaced: guests are where they are seen now: outside of their pools, in pools that they are to
// leave, with disks on other storages than their manifests name.
func misplaced(l *life, want *model.Desired) {
	for _, v := range want.VMs {
		for _, seen := range l.at.Have.Tagged(v.Owner) {
			for _, g := range l.guestsOf(v) {
				l.stray(v, g, seen)
				l.displace(g, seen)
			}
		}
	}
}

// stray takes a guest out of its pool: rights on that don't reach it then. Or it is in one that it is to
// leave.
func (l *life) stray(v model.VM, g, seen *model.Guest) {
	leaves := v.Pool == "" && seen.Config != nil && seen.Config.Marker.Manages(model.PoolMark(seen.Pool))
	switch {
	case seen.Pool == v.Pool || v.Pool == "" && !leaves:
		return
	case leaves:
		m := *g.Config.Marker
		m.Managed = append(slices.Clone(m.Managed), model.PoolMark(seen.Pool))
		g.Config.Marker = &m
		l.read("see which pool guests are in", "/cluster/resources", map[string]string{"pool": poolPath(seen.Pool)})
	default:
		l.stands[g.VMID] = vmPath(seen.VMID)
		l.see("see guests and read their configs", vmPath(seen.VMID))
	}
	g.Pool = seen.Pool
}

// displace takes disks to the storages that they are seen on.
func (l *life) displace(g, seen *model.Guest) {
	if seen.Config == nil {
		return
	}
	for i, d := range g.Config.Disks {
		there, ok := seen.Config.DiskAt(d.Slot)
		if ok && !d.CDROM && there.Storage != d.Storage && l.w.Storages[there.Storage] != nil {
			g.Config.Disks[i].Storage, g.Config.Disks[i].Volume = there.Storage, there.Storage+":vm-"+d.Slot
		}
	}
}

// moved: somebody has moved those to another node that may be moved: they go back.
func moved(l *life, want *model.Desired) {
	back := *want
	back.VMs = slices.Clone(want.VMs)
	for i, v := range back.VMs {
		for _, g := range l.guestsOf(v) {
			if other := l.besides(g.Node); v.Update.Move && other != "" {
				back.VMs[i].Place = model.Place{Nodes: []string{g.Node}}
				g.Node = other
			}
		}
	}
	l.settle(back)
}

// besides returns another node; empty: there is none.
func (l *life) besides(node string) string {
	for _, name := range l.nodes() {
		if name != node {
			return name
		}
	}
	return ""
}

// sent: a person sends guests to other nodes and back, as move, drain and undrain do.
func sent(l *life, want *model.Desired) {
	if !l.at.Moves {
		return
	}
	for _, home := range []bool{true, false} {
		away := *want
		away.Moves = map[model.Key]model.Move{}
		for _, v := range want.VMs {
			for _, g := range l.guestsOf(v) {
				m := model.Move{From: g.Node, Why: "its node is drained"}
				if home {
					m.Home = g.Node
				}
				away.Moves[v.Owner.Key] = m
			}
		}
		l.settle(away)
	}
}
