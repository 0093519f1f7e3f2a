package machines

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/model"
)

// feed wakes Machines.
type feed struct{ kube.Feed }

func (f *feed) wake(o model.Owner) {
	if o.Kind == Kind {
		f.Wake(types.NamespacedName{Namespace: o.Namespace, Name: o.Name})
	}
}
