package manifest

import (
	"fmt"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
)

func (t *translator) readPolicies() {
	t.policies = map[model.Key]model.Place{}
	each(t, func(s scope, p *api.VMPlacementPolicy) {
		s.checkName()
		t.policies[s.o.key] = s.policy(&p.Spec)
	})
}

func (s scope) policy(spec *api.VMPlacementPolicySpec) model.Place {
	p := model.Place{Nodes: spec.NodeSelector, MaxPerNode: spec.Constraints.MaxVMsPerNode}
	for i, n := range spec.NodeSelector {
		if !partName.MatchString(n) {
			s.fail(fmt.Sprintf("spec.nodeSelector[%d]", i), "want the name of a node, have %q", shortened(n))
		}
	}
	for i, r := range spec.AntiAffinity {
		p.AntiAffinity = append(p.AntiAffinity, s.requirement(fmt.Sprintf("spec.antiAffinity[%d]", i), r))
	}
	if p.MaxPerNode < 0 {
		s.fail("spec.constraints.maxVMsPerNode", "want a number from 1 on, have %d", p.MaxPerNode)
	}
	if free := spec.Constraints.MinFreeMemory; free != nil && s.countable("spec.constraints.minFreeMemory", *free) {
		if free.Sign() < 0 {
			s.fail("spec.constraints.minFreeMemory", "is negative")
		}
		p.MinFree = free.Value()
	}
	return p
}

func (s scope) requirement(field string, r api.LabelRequirement) model.Selector {
	sel := model.Selector{Key: r.Key, Operator: r.Operator, Values: r.Values}
	if sel.Operator == "" {
		sel.Operator = "Exists"
		if len(r.Values) > 0 {
			sel.Operator = "In"
		}
	}
	if r.Key == "" {
		s.fail(field+".key", "is missing")
	}
	if !s.checkWord(field+".operator", sel.Operator, "In", "NotIn", "Exists", "DoesNotExist") {
		return sel
	}
	if takes := sel.Operator == "In" || sel.Operator == "NotIn"; takes != (len(r.Values) > 0) {
		if takes {
			s.fail(field+".values", "is missing: %s needs values", sel.Operator)
		} else {
			s.fail(field+".values", "%s takes no values", sel.Operator)
		}
	}
	return sel
}

// placeFor is where a machine may go.
func (s scope) placeFor(p *provider, ref *api.SharedRef) model.Place {
	var place model.Place
	if ref != nil {
		if o := s.findShared("spec.placementRef", "VMPlacementPolicy", *ref); o != nil {
			place = s.policies[o.key]
		}
	}
	if len(place.Nodes) == 0 && p != nil {
		place.Nodes = p.nodes
	}
	return place
}
