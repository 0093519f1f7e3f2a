package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec/suggest"
)

// Placement says on which nodes machines may be placed.
type Placement struct {
	Nodes         []string // empty: those of the cluster
	AntiAffinity  []model.Selector
	MaxPerNode    int                // 0: any number
	MinFreeMemory *resource.Quantity // memory that stays free on the node
	Where         []model.Selector   // of nodes, by their labels
	Strategy      string             // spread or pack; empty: spread
	SpreadBy      string             // a label of nodes; empty: none
}

// Place translates the placement, and reports its errors.
func (p Placement) Place() (model.Place, Errors) {
	var r report
	place := model.Place{Nodes: p.Nodes, MaxPerNode: p.MaxPerNode, Strategy: model.Strategy(p.Strategy), SpreadBy: p.SpreadBy}
	r.checkWord("strategy", p.Strategy, string(model.Spread), string(model.Pack))
	for i, n := range p.Nodes {
		if !partName.MatchString(n) {
			r.fail(fmt.Sprintf("nodes[%d]", i), "want the name of a node, have %q", suggest.Shortened(n))
		}
	}
	for i, sel := range p.AntiAffinity {
		place.AntiAffinity = append(place.AntiAffinity, r.selector(fmt.Sprintf("antiAffinity[%d]", i), sel))
	}
	for i, sel := range p.Where {
		place.Where = append(place.Where, r.selector(fmt.Sprintf("where[%d]", i), sel))
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

// NodeFacts are settings of a node that Proxmox doesn't have.
type NodeFacts struct {
	Labels         map[string]string
	ReservedMemory *resource.Quantity // memory that guests don't get
	Maintenance    bool
}

// Nodes are settings of the nodes of a cluster, by name; [model.AllNodes]: of all others.
type Nodes map[string]NodeFacts

// Facts translates the settings, and reports their errors.
func (n Nodes) Facts() (map[string]model.NodeFacts, Errors) {
	if len(n) == 0 {
		return nil, nil
	}
	var r report
	out := map[string]model.NodeFacts{}
	for _, name := range slices.Sorted(maps.Keys(n)) {
		field, f := "nodes."+name, n[name]
		if name != model.AllNodes && !nodeName.MatchString(name) {
			r.fail(field, "want the name of a node, or \"*\" for all others, have %q", suggest.Shortened(name))
		}
		for label, value := range f.Labels {
			if label == "" || value == "" {
				r.fail(field+".labels", "a label needs a name and a value, have %q: %q", suggest.Shortened(label), suggest.Shortened(value))
			}
		}
		one := model.NodeFacts{Labels: f.Labels, Maintenance: f.Maintenance}
		if m := f.ReservedMemory; m != nil && r.countable(field+".reservedMemory", *m) {
			if m.Sign() < 0 {
				r.fail(field+".reservedMemory", "is negative")
			} else if hint := unitHint(*m, 1024); hint != "" {
				r.fail(field+".reservedMemory", "want an amount of memory such as 4Gi, have %s, which counts bytes%s", m.String(), hint)
			}
			one.Reserved = m.Value()
		}
		out[name] = one
	}
	return out, r.errs
}

// place is where the machine may go on its cluster, and what is wrong with that there.
func (b *build) place(place model.Place) model.Place {
	if len(place.Nodes) == 0 {
		place.Nodes = b.cluster.Nodes
	}
	place.Facts = b.cluster.Facts
	for _, s := range place.Where {
		b.knownZone(place, s.Key, s)
	}
	for _, s := range place.AntiAffinity {
		b.knownZone(place, s.By, model.Selector{Operator: "Exists"})
	}
	b.knownZone(place, place.SpreadBy, model.Selector{Operator: "Exists"})
	return place
}

// knownZone fails if no node has a label that the placement of the machine is about, or none of the values
// that it asks for.
func (b *build) knownZone(place model.Place, label string, want model.Selector) {
	if label == "" || want.Operator == "NotIn" || want.Operator == "DoesNotExist" {
		return
	}
	values := map[string]bool{}
	for _, f := range place.Facts {
		if v := f.Labels[label]; v != "" {
			values[v] = true
		}
	}
	there := slices.Sorted(maps.Keys(values))
	switch {
	case len(there) == 0:
		b.fail("place", "is about the label %q of nodes, and no node has it; give it to nodes in %s", suggest.Shortened(label), inCluster("nodes"))
	case want.Operator == "In" && !slices.ContainsFunc(want.Values, func(v string) bool { return values[v] }):
		b.fail("place", "wants nodes whose %s is %s, and there are only %s; see %s", label, strings.Join(want.Values, " or "), strings.Join(there, ", "), inCluster("nodes"))
	}
}
