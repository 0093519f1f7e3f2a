package plan

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// Guests on nodes that are offline. Lists go on to show their tags and locks, which are in files that all nodes have; their
// names are gone after five minutes, and nobody can read their configs.

// offline reports whether the node of a guest is.
func (p *planner) offline(vmid int) bool {
	n := p.have.Nodes[p.have.Guests[vmid].Node]
	return n == nil || !n.Online
}

// passedOver reports whether a guest that can't be read, and whose name isn't known, can't be the owner's. An owner's guest has its tag from the
// moment it is configured, and one of its VMIDs before that: so a node that is offline holds up those only whose guest it may have. A VMID that
// was named for the owner earlier, and isn't any more, can't be known: the plan notes what it hasn't looked at.
func (p *planner) passedOver(g *model.Guest, o model.Owner, r model.Range) bool {
	return g.Config == nil && unnamed(g) && p.offline(g.VMID) && !p.owns(o, g.VMID, r)
}

// notePassedOver adds notes about the guests that were passed over, for objects without a guest.
func (p *planner) notePassedOver() {
	byNode := map[string][]int{}
	for id := range p.passed {
		node := p.have.Guests[id].Node
		byNode[node] = append(byNode[node], id)
	}
	for _, node := range model.NamesOf(byNode) {
		ids := byNode[node]
		slices.Sort(ids)
		which, counts := fmt.Sprintf("VM %d", ids[0]), "It counts as another machine"
		if n := len(ids) - 1; n > 0 {
			which, counts = fmt.Sprintf("%s and %d more", which, n), "They count as other machines"
		}
		p.note(Note{Text: fmt.Sprintf("node %s is offline, so %s there can't be read. %s: the objects that have none get other VMIDs. If an object had another VMID before, wait until %s is back",
			node, which, counts, node)})
	}
}

// mayBe makes an object wait because of a guest on an offline node that may be the owner's.
func mayBe(g *model.Guest) *Wait {
	return &Wait{Reason: model.WaitNode, Text: fmt.Sprintf("VM %d on %s may be this object's, and can't be read, since the node is offline", g.VMID, g.Node)}
}

// toRead requests a guest's config, or waits for its node.
func (p *planner) toRead(f *finding, g *model.Guest) {
	if p.offline(g.VMID) {
		f.wait = mayBe(g)
		return
	}
	f.look.Configs = append(f.look.Configs, g.VMID)
}

// otherSet reports whether the tags of a guest on a node that is offline say that it is of another set than the owner.
func (p *planner) otherSet(g *model.Guest, o model.Owner) bool {
	tag, ok := model.ParseSetTag(g.Tags)
	return ok && tag != model.SetTag(o) && p.offline(g.VMID)
}

// reachable returns a look without the configs of offline nodes: templates of an image on other nodes don't
// need them.
func (p *planner) reachable(l Look) Look {
	l.Configs = slices.DeleteFunc(slices.Clone(l.Configs), p.offline)
	return l
}
