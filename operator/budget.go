package operator

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/model"
)

// unread names the machines of a class whose namespaces weren't translated since this replica
// began to work: no Provider knows of them yet. Done: there are none, of any class.
func (d *deps) unread(ctx context.Context, class string) (machines []model.Absent, done bool, err error) {
	objects, err := d.machineObjects(ctx)
	if err != nil {
		return nil, false, err
	}
	done = true
	for _, o := range objects {
		if d.providers.knows(o.GetNamespace()) {
			continue
		}
		done = false
		kube.EachRef(o, func(ref model.Key, n int) {
			for range n {
				if ref.String() == class {
					machines = append(machines, model.Absent{Key: keyOf(o), Unknown: fmt.Sprintf("namespace %s hasn't been read yet", o.GetNamespace())})
				}
			}
		})
	}
	return machines, done, nil
}

// machineObjects are all objects that stand for machines. They must not be changed.
func (d *deps) machineObjects(ctx context.Context) (all []object, err error) {
	var vms api.VirtualMachineList
	var clones api.VMCloneList
	for _, list := range []client.ObjectList{&vms, &clones} {
		if err := d.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
	}
	for i := range vms.Items {
		all = append(all, &vms.Items[i])
	}
	for i := range clones.Items {
		all = append(all, &clones.Items[i])
	}
	return all, nil
}
