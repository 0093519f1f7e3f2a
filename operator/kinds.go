package operator

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
)

// object is an object of ours as Kubernetes' libraries know it.
type object interface {
	client.Object
	Common() *api.Status
}

// kind is a kind of objects.
type kind struct {
	name string
	make func() object
	list func() client.ObjectList
	// holds tells that something in Proxmox belongs to such objects, or that
	// others can't go without them: they have a finalizer.
	holds bool
}

var kinds = []kind{
	{"Provider", func() object { return new(api.Provider) }, func() client.ObjectList { return new(api.ProviderList) }, true},
	{"VirtualMachine", func() object { return new(api.VirtualMachine) }, func() client.ObjectList { return new(api.VirtualMachineList) }, true},
	{"VMClass", func() object { return new(api.VMClass) }, func() client.ObjectList { return new(api.VMClassList) }, false},
	{"VMClone", func() object { return new(api.VMClone) }, func() client.ObjectList { return new(api.VMCloneList) }, true},
	{"VMImage", func() object { return new(api.VMImage) }, func() client.ObjectList { return new(api.VMImageList) }, true},
	{"VMPlacementPolicy", func() object { return new(api.VMPlacementPolicy) }, func() client.ObjectList { return new(api.VMPlacementPolicyList) }, false},
	{"VMSnapshot", func() object { return new(api.VMSnapshot) }, func() client.ObjectList { return new(api.VMSnapshotList) }, true},
}

// newObject makes an empty object of a kind.
func newObject(name string) (object, bool) {
	for _, k := range kinds {
		if k.name == name {
			return k.make(), true
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

// forceDelete lets an object go without Proxmox being touched.
const forceDelete = "virtrigaud.io/force-delete"
