package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// pick takes one of the nodes that can take a guest, and says why: first those that HA prefers, then
// the zones with the fewest guests of the same policy, then by memory.
func (p *planner) pick(v model.VM, good []spot, free map[string]int64, no refusals) spot {
	if i := slices.IndexFunc(good, func(s spot) bool { return s.node == p.bound[v.Owner.Key] }); i >= 0 {
		return explained(v, good[i], nil, good, free, no) // it has waited for its image there
	}
	left, why := p.preferred(v, good)
	left, zones := p.emptiest(v, left)
	best := slices.MinFunc(left, func(a, b spot) int {
		return cmp.Or(byMemory(v, free, a, b), cmp.Compare(a.detour(), b.detour()), model.CompareNames(a.node, b.node))
	})
	return explained(v, best, append(why, zones...), left, free, no)
}

// byMemory orders nodes by how much memory they have left, as the guest's policy wants it.
func byMemory(v model.VM, free map[string]int64, a, b spot) int {
	if v.Place.Strategy == model.Pack {
		return cmp.Compare(free[a.node]+a.detour(), free[b.node]+b.detour())
	}
	return cmp.Compare(free[b.node]-b.detour(), free[a.node]-a.detour())
}

// explained says why it is this node.
func explained(v model.VM, best spot, why []string, left []spot, free map[string]int64, no refusals) spot {
	most := "most"
	if v.Place.Strategy == model.Pack {
		most = "least"
	}
	switch {
	case len(left) == 1 && len(why) == 0:
		best.why = "the only node that can take it"
		if len(no) > 0 {
			best.why += " (" + no.String() + ")"
		}
		return best
	case len(left) > 1:
		why = append(why, fmt.Sprintf("%s free memory of %s that can take it (%s%s)", most, plural(len(left), "node"), model.Bytes(free[best.node]), besideReserved(v, best.node)))
	}
	if best.why = strings.Join(why, "; "); len(no) > 0 {
		best.why += "; left out: " + no.String()
	}
	return best
}

// preferred are the nodes that HA would take a guest to, if it has a choice.
func (p *planner) preferred(v model.VM, good []spot) (left []spot, why []string) {
	name, limit, ok := p.limitOf(v)
	if !ok {
		return good, nil
	}
	rank := func(s spot) int {
		if r, in := limit.Nodes[s.node]; in {
			return r
		}
		return -1
	}
	best := rank(slices.MaxFunc(good, func(a, b spot) int { return rank(a) - rank(b) }))
	for _, s := range good {
		if rank(s) == best {
			left = append(left, s)
		}
	}
	if len(left) < len(good) {
		why = []string{"preferred by " + name}
	}
	return left, why
}

// emptiest are the nodes in the zones that have the fewest guests of the same policy.
func (p *planner) emptiest(v model.VM, good []spot) (left []spot, why []string) {
	if v.Place.SpreadBy == "" {
		return good, nil
	}
	load := p.nodeLoad()
	least := load.inZone(v, slices.MinFunc(good, func(a, b spot) int { return load.inZone(v, a.node) - load.inZone(v, b.node) }).node)
	for _, s := range good {
		if load.inZone(v, s.node) == least {
			left = append(left, s)
		}
	}
	if len(left) < len(good) {
		why = []string{fmt.Sprintf("fewest machines of its policy in one %s (%d)", v.Place.SpreadBy, least)}
	}
	return left, why
}
