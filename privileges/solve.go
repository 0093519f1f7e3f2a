package privileges

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// claim is a privilege on a path.
type claim struct{ path, priv string }

// need is something that a call asks for: all claims of one of the alternatives.
type need struct {
	any [][]claim
	why string
}

// holds reports whether a claim is among those granted, on its path or on the one
// that stands for all of its kind.
func holds(granted map[claim]bool, c claim) bool {
	return granted[c] || granted[claim{parentOf(c.path), c.priv}]
}

func (n need) met(granted map[claim]bool) bool {
	return slices.ContainsFunc(n.any, func(all []claim) bool { return n.allHeld(all, granted) })
}

func (n need) allHeld(all []claim, granted map[claim]bool) bool {
	return !slices.ContainsFunc(all, func(c claim) bool { return !holds(granted, c) })
}

// solve finds a small set of claims that meets all needs, none of which can be
// left out. Each comes with what it is for.
func solve(needs []need) map[claim][]string {
	granted := map[claim]bool{}
	for _, n := range needs {
		if len(n.any) == 1 {
			for _, c := range n.any[0] {
				granted[c] = true
			}
		}
	}
	for _, n := range needs {
		if len(n.any) > 1 && !n.met(granted) {
			for _, c := range cheapest(n.any, granted) {
				granted[c] = true
			}
		}
	}
	// What was taken for one of several reasons may be needless by now.
	for _, c := range slices.SortedFunc(maps.Keys(granted), byWeight) {
		delete(granted, c)
		if slices.ContainsFunc(needs, func(n need) bool { return !n.met(granted) }) {
			granted[c] = true
		}
	}
	return reasons(needs, granted)
}

// reasons tells for each claim what it is for: the needs that fail without it.
func reasons(needs []need, granted map[claim]bool) map[claim][]string {
	out := make(map[claim][]string, len(granted))
	for c := range granted {
		delete(granted, c)
		for _, n := range needs {
			if !n.met(granted) && !slices.Contains(out[c], n.why) {
				out[c] = append(out[c], n.why)
			}
		}
		granted[c] = true
	}
	return out
}

func cheapest(choices [][]claim, granted map[claim]bool) []claim {
	cost := func(all []claim) int {
		sum := 0
		for _, c := range all {
			if !holds(granted, c) {
				sum += weight(c)
			}
		}
		return sum
	}
	return slices.MinFunc(choices, func(a, b []claim) int { return cmp.Compare(cost(a), cost(b)) })
}

// byWeight puts first what had better be left out.
func byWeight(a, b claim) int {
	return cmp.Or(cmp.Compare(weight(b), weight(a)), cmp.Compare(a.path, b.path), cmp.Compare(a.priv, b.priv))
}

// weight says how much a claim allows: privileges that include others weigh more,
// and so do paths with much below them.
func weight(c claim) int {
	w := privWeight[c.priv]
	if w == 0 {
		w = 10
	}
	switch {
	case c.path == "/":
		w *= 8
	case below(c.path):
		w *= 4
	case strings.HasPrefix(c.path, "/pool/"):
		w *= 2
	}
	return w
}
