package machines

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/model"
)

// errLost: a guest that was there is gone from Proxmox. It isn't made again.
var errLost = errors.New("the guest is gone from Proxmox, and isn't made again with the user-data of the former one")

// errDeleted: nothing is made any more.
var errDeleted = errors.New("its Machine is being deleted")

// claim writes down which VMID a machine gets, before a guest is made under it, and what follows from that: what a look afterwards finds new
// isn't worth another write.
func (f *fleet) claim(ctx context.Context, b *berth, owner model.Owner, vmid int, node string) error {
	if owner.Kind != Kind {
		return retry.RetryOnConflict(retry.DefaultRetry, func() error { return f.claimCopy(ctx, b, owner) })
	}
	err := f.claimAsRead(ctx, f.cached, b, owner, vmid, node)
	if err == nil || errors.Is(err, errDeleted) || errors.Is(err, errLost) {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error { // the cache was late, perhaps
		return f.claimAsRead(ctx, f.direct, b, owner, vmid, node)
	})
}

// claimAsRead is the same for a Machine that is as a reader has it.
func (f *fleet) claimAsRead(ctx context.Context, from client.Reader, b *berth, owner model.Owner, vmid int, node string) error {
	var m clusterv1alpha1.Machine
	if err := from.Get(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}, &m); err != nil {
		return err
	}
	spec, err := f.unchanged(owner, &m)
	switch {
	case string(m.UID) != owner.UID:
		return fmt.Errorf("%s is another one by now", owner.Key)
	case m.DeletionTimestamp != nil:
		return errDeleted
	case err != nil:
		return err
	case elsewhere(&m, b) != "":
		return errors.New(elsewhere(&m, b))
	case recordOf(&m).Made:
		f.mu.Lock()
		f.lost[owner] = true
		f.mu.Unlock()
		f.feed.wake(owner)
		return errLost
	}
	status := map[string]any{"providerStatus": map[string]any{"vmid": vmid, "node": node, "spec": spec, "cluster": b.site.Identity()}}
	if m.Status.ErrorReason == nil {
		status["phase"] = phaseProvisioning
	}
	return f.note(ctx, owner, &m, map[string]any{"spec": map[string]any{"metadata": map[string]any{"name": nodeName(&m)}, "providerID": providerIDOf(&m)}, "status": status})
}

// note writes something into a Machine, if it is as it was read.
func (f *fleet) note(ctx context.Context, owner model.Owner, m *clusterv1alpha1.Machine, what map[string]any) error {
	what["metadata"] = map[string]any{"uid": m.UID, "resourceVersion": m.ResourceVersion}
	patch, err := json.Marshal(what)
	if err != nil {
		return err
	}
	if err := f.direct.Patch(ctx, m, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return err
	}
	f.wrote(owner, m.ResourceVersion, time.Now())
	return nil
}

// elsewhere says that a machine is in another Proxmox cluster than the one that was looked at; empty: it isn't, or nobody can tell. A guest that can't be found there
// isn't gone.
func elsewhere(m *clusterv1alpha1.Machine, b *berth) string {
	r, is := recordOf(m), cmp.Or(b.site.Identity(), "unknown")
	if r.Cluster == "" || r.Cluster == is {
		return ""
	}
	return fmt.Sprintf("VM %d is in another Proxmox cluster, whose root certificate is %s: the one that answers has %s. Let endpoint name the former one again, "+
		"or if it has got a new root certificate: kubectl patch -n %s machine %s --type=merge -p '{\"status\":{\"providerStatus\":{\"cluster\":null}}}'", r.VMID, r.Cluster, is, m.Namespace, m.Name)
}

// unchanged is a digest of what a machine is made from, if the Machine still says the same: what others have changed meanwhile would else be
// written down as what it was made from.
func (f *fleet) unchanged(owner model.Owner, m *clusterv1alpha1.Machine) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	is := digest(m)
	if meant, known := f.specs[owner]; known && meant != is {
		return "", fmt.Errorf("%s was changed meanwhile", owner.Key)
	}
	return is, nil
}

// madeFromSpec notes what a machine is made from.
func (f *fleet) madeFromSpec(owner model.Owner, spec string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.specs[owner] = spec
}

// claimCopy notes in one of the Machines that are made from a template that the template is going to be copied. The last of these Machines removes the copy.
func (f *fleet) claimCopy(ctx context.Context, b *berth, image model.Owner) error {
	for _, owner := range f.madeFrom(image) {
		var m clusterv1alpha1.Machine
		if err := f.direct.Get(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}, &m); err != nil {
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			continue
		}
		if string(m.UID) != owner.UID || m.DeletionTimestamp != nil {
			continue
		}
		if r := recordOf(&m); r.VMID != 0 || r.Copied {
			return nil
		}
		spec, err := f.unchanged(owner, &m)
		if err != nil {
			return err
		}
		return f.note(ctx, owner, &m, map[string]any{"status": map[string]any{"providerStatus": map[string]any{"copied": true, "spec": spec, "cluster": b.site.Identity()}}})
	}
	return errDeleted
}

// madeFrom are the machines that are made from a template, sorted by their names.
func (f *fleet) madeFrom(image model.Owner) (all []model.Owner) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.berths {
		for m, of := range b.machines {
			if of == image && !f.released[m] {
				all = append(all, m)
			}
		}
	}
	slices.SortFunc(all, func(a, b model.Owner) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// isLost reports whether a machine's guest is gone.
func (f *fleet) isLost(o model.Owner) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost[o]
}

// found notes that a machine may be made again.
func (f *fleet) found(o model.Owner) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.lost, o)
}
