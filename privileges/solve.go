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

// wider returns the claims that include one: itself, that on the path that stands for all of its kind, and
// on all guests for those of a pool.
func wider(c claim) []claim {
	list := []claim{c}
	if parent := parentOf(c.path); parent != c.path {
		list = append(list, claim{parent, c.priv})
	}
	if strings.HasPrefix(c.path, "/pool/") && strings.HasPrefix(c.priv, "VM.") {
		list = append(list, claim{allGuests, c.priv})
	}
	return list
}

// holds reports whether a claim is among those granted, or is included in one.
func holds(granted map[claim]bool, c claim) bool {
	return slices.ContainsFunc(wider(c), func(w claim) bool { return granted[w] })
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
	about := byClaim(needs)
	// What was taken for one of several reasons may be needless by now.
	for _, c := range slices.SortedFunc(maps.Keys(granted), byWeight) {
		delete(granted, c)
		if slices.ContainsFunc(about[c], func(n need) bool { return !n.met(granted) }) {
			granted[c] = true
		}
	}
	return reasons(about, granted)
}

// byClaim returns the needs that a claim may help to meet.
func byClaim(needs []need) map[claim][]need {
	about := map[claim][]need{}
	for _, n := range needs {
		mine := map[claim]bool{}
		for _, c := range slices.Concat(n.any...) {
			for _, w := range wider(c) {
				mine[w] = true
			}
		}
		for c := range mine {
			about[c] = append(about[c], n)
		}
	}
	return about
}

// reasons tells for each claim what it is for: the needs that fail without it.
func reasons(about map[claim][]need, granted map[claim]bool) map[claim][]string {
	out := make(map[claim][]string, len(granted))
	for c := range granted {
		delete(granted, c)
		for _, n := range about[c] {
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
