package manifest

import (
	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
)

// rollout says with which others a machine is restarted and replaced, and how many of them
// at once: those of its class, and those that the same object stands for.
func (b *build) rollout(policy api.UpdatePolicy) model.Rollout {
	class := b.classKey
	if class.Kind == "" { // a copy that has none
		class = model.Key{Kind: "VMClass", Namespace: b.o.key.Namespace}
	}
	r := model.Rollout{Groups: []string{class.String()}}
	if b.o.of != nil {
		r.Groups = append(r.Groups, b.o.of.key.String())
	}
	if policy.MaxUnavailable == nil {
		return r
	}
	var err error
	if r.Max, err = model.ParseLimit(policy.MaxUnavailable.String()); err != nil {
		b.fail("spec.updatePolicy.maxUnavailable", "%v", err)
	}
	return r
}
