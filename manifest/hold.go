package manifest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
)

// hold reports whether an object, or its Provider, asks for nothing to be changed.
func (s scope) hold(p *provider) model.Hold {
	if h := holdOf(s.meta(), "it"); h != (model.Hold{}) || p == nil {
		return h
	}
	if o := s.set.index[p.wanted.Provider]; o != nil && s.o.places == nil {
		return holdOf(o.Object.(metav1.Object), "its Provider")
	}
	return model.Hold{}
}

func holdOf(o metav1.Object, who string) model.Hold {
	a := o.GetAnnotations()
	switch {
	case a[api.Paused] == "true":
		return model.Hold{Reason: model.WaitPaused, Text: who + " is paused by the annotation " + api.Paused}
	case a[api.ManagementPolicy] == api.Observe:
		return model.Hold{Reason: model.WaitObserved, Text: who + " is only observed, as the annotation " + api.ManagementPolicy + " asks"}
	}
	return model.Hold{}
}
