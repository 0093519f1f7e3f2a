package operator

import (
	"fmt"
	"slices"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/status"
)

// A Provider, and with it its login, stays while something of an object is on it: also of an object that
// nothing is done for at present, since what it says is wrong or another Kubernetes has it.

// needs says what of a Provider is in Proxmox, or may be; empty: nothing.
func (f found) needs() string {
	switch {
	case f.machines > 0:
		return status.Count(f.machines, "machine is", "machines are")
	case f.images > 0:
		return status.Count(f.images, "image is", "images are")
	}
	return ""
}

// holdProviders counts what is on each Provider of objects that no Provider has to do something for.
func holdProviders(all map[model.Key]found, objects []object) {
	for _, o := range objects {
		if f := all[keyOf(o)]; len(f.providers) > 0 || kube.Released(o) || neverMade(o) {
			continue
		}
		machines, images, on := leftOn(o)
		for key, p := range all {
			if key.Kind == "Provider" && (len(on) == 0 || slices.Contains(on, key.Name)) {
				p.machines, p.images = p.machines+machines, p.images+images
				all[key] = p
			}
		}
	}
}

// doubtEmpty notes of objects that want no machine, and have had some, that their Provider can't say whether these are gone.
func doubtEmpty(all map[model.Key]found, objects []object) {
	for _, o := range objects {
		f := all[keyOf(o)]
		if !f.group || len(f.members) > 0 || neverMade(o) {
			continue
		}
		_, _, on := leftOn(o)
		for _, name := range on {
			switch p, there := all[model.Key{Kind: "Provider", Namespace: o.GetNamespace(), Name: name}]; {
			case !there:
				f.provider = fmt.Sprintf("there is no Provider %s, so it isn't known whether the machines that it had are gone", name)
			case p.problem != "":
				f.provider = fmt.Sprintf("Provider %s can't be used: %s", name, p.problem)
			}
		}
		all[keyOf(o)] = f
	}
}

// leftOn counts what of an object may be in Proxmox, and names the Providers that it is on; none: any.
func leftOn(o object) (machines, images int, on []string) {
	machine := func(s api.MachineStatus, ref *api.Ref) []string {
		switch {
		case s.Provider != "":
			return []string{s.Provider}
		case ref != nil:
			return []string{ref.Name}
		}
		return nil
	}
	switch o := o.(type) {
	case *api.VirtualMachine:
		return max(1, len(o.Status.Members)), 0, machine(o.Status, o.Spec.ProviderRef)
	case *api.VMClone:
		return 1, 0, machine(o.Status, o.Spec.ProviderRef)
	case *api.VMImage:
		return 0, 1, o.Status.Providers
	}
	return 0, 0, nil
}
