package spec

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec/suggest"
)

// Placement says where machines may go.
type Placement struct {
	Nodes         []string // empty: those of the cluster
	AntiAffinity  []model.Selector
	MaxPerNode    int                // 0: any number
	MinFreeMemory *resource.Quantity // that stays free on the node
}

// Place translates it, and says what is wrong with it.
func (p Placement) Place() (model.Place, Errors) {
	var r report
	place := model.Place{Nodes: p.Nodes, MaxPerNode: p.MaxPerNode}
	for i, n := range p.Nodes {
		if !partName.MatchString(n) {
			r.fail(fmt.Sprintf("nodes[%d]", i), "want the name of a node, have %q", suggest.Shortened(n))
		}
	}
	for i, sel := range p.AntiAffinity {
		place.AntiAffinity = append(place.AntiAffinity, r.selector(fmt.Sprintf("antiAffinity[%d]", i), sel))
	}
	if p.MaxPerNode < 0 {
		r.fail("maxPerNode", "want a number from 1 on, have %d", p.MaxPerNode)
	}
	if free := p.MinFreeMemory; free != nil && r.countable("minFreeMemory", *free) {
		if free.Sign() < 0 {
			r.fail("minFreeMemory", "is negative")
		}
		place.MinFree = free.Value()
	}
	return place, r.errs
}

func (r *report) selector(field string, sel model.Selector) model.Selector {
	if sel.Operator == "" {
		sel.Operator = "Exists"
		if len(sel.Values) > 0 {
			sel.Operator = "In"
		}
	}
	if sel.Key == "" {
		r.fail(field+".key", "is missing")
	}
	if !r.checkWord(field+".operator", sel.Operator, "In", "NotIn", "Exists", "DoesNotExist") {
		return sel
	}
	if takes := sel.Operator == "In" || sel.Operator == "NotIn"; takes != (len(sel.Values) > 0) {
		if takes {
			r.fail(field+".values", "is missing: %s needs values", sel.Operator)
		} else {
			r.fail(field+".values", "%s takes no values", sel.Operator)
		}
	}
	return sel
}
