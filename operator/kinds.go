package operator

import (
	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
)

// object is an object of ours as Kubernetes' libraries know it.
type object = kube.Object

// kind is a kind of objects.
type kind struct {
	kube.Kind
	// guests means that something in Proxmox belongs to such objects, or is reached by
	// them.
	guests bool
}

var kinds = allKinds()

func allKinds() []kind {
	var all []kind
	for _, k := range kube.Kinds {
		all = append(all, kind{k, hasGuests(k.Name)})
	}
	return all
}

func hasGuests(kind string) bool { return kind != "VMClass" && kind != "VMPlacementPolicy" }

// newObject makes an empty object of a kind.
func newObject(name string) (object, bool) {
	for _, k := range kinds {
		if k.Name == name {
			return k.Make(), true
		}
	}
	return nil, false
}

// keyOf names an object as the engine does.
func keyOf(o object) model.Key {
	return model.Key{Kind: manifest.KindOf(o), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// finalizer keeps an object until what belongs to it has gone.
const finalizer = api.Group + "/proxplane"
