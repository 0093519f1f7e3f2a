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
		placement := spec.Placement{Nodes: p.Spec.NodeSelector, MaxPerNode: limits.MaxVMsPerNode, MinFreeMemory: limits.MinFreeMemory}
		for _, r := range p.Spec.AntiAffinity {
			placement.AntiAffinity = append(placement.AntiAffinity, model.Selector(r))
		}
		place, errs := placement.Place()
		s.take(errs, nil, fieldNames{"nodes": "spec.nodeSelector", "maxPerNode": "spec.constraints.maxVMsPerNode", "minFreeMemory": "spec.constraints.minFreeMemory"})
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
