package manifest

import (
	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

func (t *translator) readPolicies() {
	t.policies = map[model.Key]model.Place{}
	each(t, func(s scope, p *api.VMPlacementPolicy) {
		s.checkName()
		limits := p.Spec.Constraints
		placement := spec.Placement{
			Nodes: p.Spec.NodeSelector, MaxPerNode: limits.MaxVMsPerNode, MinFreeMemory: limits.MinFreeMemory,
			Strategy: p.Spec.Strategy, SpreadBy: p.Spec.SpreadBy,
		}
		for _, r := range p.Spec.AntiAffinity {
			placement.AntiAffinity = append(placement.AntiAffinity, model.Selector{Key: r.Key, Operator: r.Operator, Values: r.Values, By: r.TopologyKey})
		}
		for _, r := range p.Spec.NodeLabels {
			placement.Where = append(placement.Where, model.Selector{Key: r.Key, Operator: r.Operator, Values: r.Values})
		}
		place, errs := placement.Place()
		if place.SpreadBy != "" {
			place.Policy = s.o.key
		}
		s.take(errs, nil, fieldNames{"nodes": "spec.nodeSelector", "where": "spec.nodeLabels", "maxPerNode": "spec.constraints.maxVMsPerNode", "minFreeMemory": "spec.constraints.minFreeMemory"})
		t.policies[s.o.key] = place
	})
}

// placeFor is where a machine may go.
func (s scope) placeFor(ref *api.SharedRef) model.Place {
	if ref != nil {
		if o := s.findShared("spec.placementRef", "VMPlacementPolicy", *ref); o != nil {
			return s.policies[o.key]
		}
	}
	return model.Place{}
}

// nodeFacts are what the Provider says about nodes.
func (s scope) nodeFacts(p *api.Provider) map[string]model.NodeFacts {
	nodes := spec.Nodes{}
	for name, n := range p.Spec.Nodes {
		nodes[name] = spec.NodeFacts{Labels: n.Labels, ReservedMemory: n.ReservedMemory, Maintenance: n.Maintenance}
	}
	facts, errs := nodes.Facts()
	s.take(errs, nil, nil)
	return facts
}
