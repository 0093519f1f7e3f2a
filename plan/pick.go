package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// pick chooses one of the nodes that can take a guest, with the reason: nodes that HA prefers come first, then
// zones with the fewest guests of the same policy, then nodes by memory.
func (p *planner) pick(v model.VM, good []spot, free map[string]int64, no refusals) spot {
	if i := slices.IndexFunc(good, func(s spot) bool { return s.node == p.bound[v.Owner.Key].Node }); i >= 0 {
		return p.explained(v, good[i], []string{"its image is made there for it"}, good[i:i+1], free, no)
	}
	left, why := p.preferred(v, good)
	left, zones := p.emptiest(v, left)
	best := slices.MinFunc(left, func(a, b spot) int {
		return cmp.Or(byMemory(v, free, a, b), cmp.Compare(a.detour(), b.detour()), model.CompareNames(a.node, b.node))
	})
	return p.explained(v, best, append(why, zones...), left, free, no)
}

// byMemory orders nodes by how much memory they have left, as the guest's policy wants it.
func byMemory(v model.VM, free map[string]int64, a, b spot) int {
	if v.Place.Strategy == model.Pack {
		return cmp.Compare(free[a.node]+a.detour(), free[b.node]+b.detour())
	}
	return cmp.Compare(free[b.node]-b.detour(), free[a.node]-a.detour())
}

// explained returns the reason for the choice of a node.
func (p *planner) explained(v model.VM, best spot, why []string, left []spot, free map[string]int64, no refusals) spot {
	switch {
	case len(left) == 1 && len(why) == 0:
		best.why = "the only node that can take it"
		if len(no) > 0 {
			best.why += " (" + no.String() + ")"
		}
		return best
	case len(left) > 1 && !slices.ContainsFunc(left, func(s spot) bool { return p.have.Nodes[s.node].Memory > 0 }):
		why = append(why, fmt.Sprintf("one of %s that can take it; how much memory they have free isn't visible (that needs the privilege Sys.Audit on them)", plural(len(left), "node")))
	case len(left) > 1:
		why = append(why, ranked(v, best, left, free))
	}
	if best.why = strings.Join(why, "; "); len(no) > 0 {
		best.why += "; left out: " + no.String()
	}
	return best
}

// ranked says why a node comes before the others by its memory, or, if one of them has more of it (or
// less, for those that pack), that the image is what decides.
func ranked(v model.VM, best spot, left []spot, free map[string]int64) string {
	most, more := "most", "more"
	first := slices.MaxFunc(left, func(a, b spot) int { return cmp.Compare(free[a.node], free[b.node]) })
	if v.Place.Strategy == model.Pack {
		most, more = "least", "less"
		first = slices.MinFunc(left, func(a, b spot) int { return cmp.Compare(free[a.node], free[b.node]) })
	}
	have, kept := model.Bytes(free[best.node]), besideReserved(v, best.node)
	if free[first.node] != free[best.node] {
		return fmt.Sprintf("its image is there (%s of memory free%s); %s has %s (%s), but the image would have to be made there first", have, kept, first.node, more, model.Bytes(free[first.node]))
	}
	return fmt.Sprintf("%s free memory of %s that can take it (%s%s)", most, plural(len(left), "node"), have, kept)
}

// preferred returns the nodes that HA would take a guest to, if it has a choice.
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

// emptiest returns the nodes in the zones that have the fewest guests of the same policy.
func (p *planner) emptiest(v model.VM, good []spot) (left []spot, why []string) {
	if v.Place.SpreadBy == "" {
		return good, nil
	}
	load, there, least := p.nodeLoad(), make([]int, len(good)), math.MaxInt
	for i, s := range good {
		there[i] = load.inZone(v, s.node)
		least = min(least, there[i])
	}
	for i, s := range good {
		if there[i] == least {
			left = append(left, s)
		}
	}
	if len(left) < len(good) {
		why = []string{fmt.Sprintf("fewest machines of its policy in one %s (%d)", v.Place.SpreadBy, least)}
	}
	return left, why
}
