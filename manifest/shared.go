package manifest

import (
	"cmp"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
)

// SharedWith returns the namespaces that an object is shared with beside its own.
func SharedWith(value any) api.Namespaces {
	switch o := value.(type) {
	case *api.VMClass:
		return o.Spec.SharedWith
	case *api.VMImage:
		return o.Spec.SharedWith
	case *api.VMPlacementPolicy:
		return o.Spec.SharedWith
	}
	return nil
}

// defaultNamespace is where objects are whose manifests name no namespace.
const defaultNamespace = "default"

// findShared looks for an object of the same namespace, or of another one that shares it
// with this one. The error for a missing object and for one that isn't shared is the same,
// so that it doesn't reveal whether the object exists.
func (s scope) findShared(field, kind string, ref api.SharedRef) *object {
	here := cmp.Or(s.o.key.Namespace, defaultNamespace)
	if cmp.Or(ref.Namespace, here) == here || ref.Name == "" {
		return s.find(field+".name", kind, ref.Name)
	}
	key := model.Key{Kind: kind, Namespace: ref.Namespace, Name: ref.Name}
	o := s.set.index[key]
	if o == nil && ref.Namespace == defaultNamespace {
		o = s.set.index[model.Key{Kind: kind, Name: ref.Name}]
	}
	switch {
	case o == nil && s.isApart(field, key):
		return nil
	case o == nil || !SharedWith(o.Object).Include(here):
		s.fail(field, "there is no %s %s in namespace %s that is shared with namespace %s; spec.sharedWith of it names the namespaces that may use it", kind, ref.Name, ref.Namespace, here)
		return nil
	case s.isWrong(o.key):
		s.fail(field, "%s isn't right itself", o.key.Title())
	}
	return o
}
