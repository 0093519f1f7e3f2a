package plan

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// nodeLoad is the resources of a node, with what this plan takes of them.
type nodeLoad struct {
	taken  map[string]int64 // memory that is promised on each node
	count  map[string]int
	labels map[string][]model.VM // wanted guests on each node that others are kept apart from or spread with
	space  map[spaceAt]int64     // that is promised on storages
	asked  map[string][]asking   // guests of ours with devices, by node
}

// spaceAt is a storage on a node; a shared one is on no node in particular.
type spaceAt struct{ node, storage string }

func (p *planner) nodeLoad() *nodeLoad {
	if p.load != nil {
		return p.load
	}
	l := &nodeLoad{taken: map[string]int64{}, count: map[string]int{}, labels: map[string][]model.VM{}, space: map[spaceAt]int64{}, asked: map[string][]asking{}}
	for _, g := range p.have.Guests {
		if !g.Template {
			l.count[g.Node]++
		}
	}
	for _, id := range slices.Sorted(keysOf(p.have.Placed)) {
		pl := p.have.Placed[id]
		l.taken[pl.Node] += pl.Memory
		l.fill(p, pl.Node, pl.Space)
		l.ask(pl.Node, pl.Owner, pl.Devices)
		if p.have.Guests[id] == nil {
			l.count[pl.Node]++
		}
		if v, ok := p.vms[pl.Owner.Key]; ok {
			l.labels[pl.Node] = append(l.labels[pl.Node], v)
		}
	}
	p.load = l
	for _, v := range p.want.VMs {
		if !counts(v) {
			continue
		}
		f := p.find(v.Owner, v.VMID, v.Range)
		if f.guest != nil {
			l.labels[f.guest.Node] = append(l.labels[f.guest.Node], v)
			l.ask(f.guest.Node, v.Owner, devicesOf(v))
			continue
		}
		for _, id := range f.look.Configs {
			// It is most likely this one, though its config wasn't read yet.
			if g := p.have.Guests[id]; slices.Contains(p.have.Tagged(v.Owner), g) || p.justCloned(g, v) {
				l.labels[g.Node] = append(l.labels[g.Node], v)
				l.ask(g.Node, v.Owner, devicesOf(v))
			}
		}
	}
	return l
}

// justCloned reports whether a guest at a VMID of a machine's may be its clone, which has no tags until it is configured.
func (p *planner) justCloned(g *model.Guest, v model.VM) bool {
	return g != nil && !g.Container && !slices.Contains(g.Tags, model.Tag) && p.owns(v.Owner, g.VMID, v.Range)
}

// counts reports whether a guest's place matters for the placement of others.
func counts(v model.VM) bool {
	return len(v.Labels) > 0 || v.Place.SpreadBy != "" || len(devicesOf(v)) > 0
}

// free returns the memory that guests can get on a node.
func (l *nodeLoad) free(n *model.Node, v model.VM) int64 {
	return max(0, n.Memory-n.Used-l.taken[n.Name]-v.Place.FactsOf(n.Name).Reserved)
}

// fill records that disks are made on storages.
func (l *nodeLoad) fill(p *planner, node string, space map[string]int64) {
	for name, size := range space {
		l.space[p.spaceAt(node, name)] += size
	}
}

// spaceAt returns where the space of a storage is counted.
func (p *planner) spaceAt(node, storage string) spaceAt {
	if s := p.have.Storages[storage]; s != nil && s.Shared {
		node = ""
	}
	return spaceAt{node, storage}
}

// spaceLeft returns what a storage has left on a node, without what is promised there.
func (p *planner) spaceLeft(s *model.Storage, node string) int64 {
	return max(0, s.OnNode[node].Free()-p.nodeLoad().space[p.spaceAt(node, s.Name)])
}

func (l *nodeLoad) take(node string, memory int64, v model.VM) {
	l.taken[node] += memory
	l.count[node]++
	l.ask(node, v.Owner, devicesOf(v))
	if counts(v) {
		l.labels[node] = append(l.labels[node], v)
	}
}

// conflict names a guest with which the new one must not share a node or a zone.
func (l *nodeLoad) conflict(v model.VM, node string) string {
	for _, at := range l.around(&v, node) {
		for i := range l.labels[at] {
			other := &l.labels[at][i]
			if by, ok := clash(&v, other, node, at); ok && other.Owner != v.Owner {
				return other.Name + zoneText(v, node, by)
			}
		}
	}
	return ""
}

// around returns the nodes whose guests matter to one on a node that is kept apart from others: that node, or
// those of all zones.
func (l *nodeLoad) around(v *model.VM, node string) []string {
	switch {
	case len(v.Place.AntiAffinity) == 0:
		return nil
	case slices.ContainsFunc(v.Place.AntiAffinity, func(s model.Selector) bool { return s.By != "" }):
		return model.NamesOf(l.labels)
	}
	return []string{node}
}

// clash reports whether two guests must not both be where they are, and the node label by which they are kept apart;
// empty: by node.
func clash(v, other *model.VM, node, at string) (by string, ok bool) {
	for _, s := range v.Place.AntiAffinity {
		if s.Matches(v.Labels) && s.Matches(other.Labels) && v.Place.SameZone(s.By, node, at) {
			return s.By, true
		}
	}
	return "", false
}

// zoneText names the zone that a node is in, behind a reason.
func zoneText(v model.VM, node, label string) string {
	if zone := v.Place.Zone(node, label); zone != "" {
		return " in " + label + " " + zone
	}
	return ""
}

// inZone counts the other guests that are spread along with one, in the zone of a node. One that was made a
// moment ago is there twice: as one that is being made, and as one that is seen.
func (l *nodeLoad) inZone(v model.VM, node string) int {
	seen := map[model.Owner]bool{}
	for at, others := range l.labels {
		if !v.Place.SameZone(v.Place.SpreadBy, node, at) {
			continue
		}
		for i := range others {
			other := &others[i]
			if other.Owner != v.Owner && other.Place.Policy == v.Place.Policy && other.Place.SpreadBy == v.Place.SpreadBy {
				seen[other.Owner] = true
			}
		}
	}
	return len(seen)
}
