package machines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/model"
)

// errLost: a guest that was there is gone from Proxmox. It isn't made again.
var errLost = errors.New("the guest is gone from Proxmox, and isn't made again with the user-data of the former one")

// errDeleted: nothing is made any more.
var errDeleted = errors.New("its Machine is being deleted")

// claim writes down which VMID a machine gets, before a guest is made under it, and what follows from that: what a look afterwards finds new
// isn't worth another write.
func (f *fleet) claim(ctx context.Context, owner model.Owner, vmid int, node string) error {
	if owner.Kind != Kind {
		return f.claimCopy(ctx, owner)
	}
	var m clusterv1alpha1.Machine
	if err := f.direct.Get(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}, &m); err != nil {
		return err
	}
	switch {
	case string(m.UID) != owner.UID:
		return fmt.Errorf("%s is another one by now", owner.Key)
	case m.DeletionTimestamp != nil:
		return errDeleted
	case recordOf(&m).Made:
		f.mu.Lock()
		f.lost[owner] = true
		f.mu.Unlock()
		f.feed.wake(owner)
		return errLost
	}
	status := map[string]any{"providerStatus": map[string]any{"vmid": vmid, "node": node}}
	if m.Status.ErrorReason == nil {
		status["phase"] = phaseProvisioning
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": m.UID}, "status": status})
	if err != nil {
		return err
	}
	if err := f.direct.Patch(ctx, &m, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return err
	}
	f.wrote(owner, m.ResourceVersion, time.Now())
	return nil
}

// claimCopy notes in one of the Machines that are made from a template that the template is going to be copied. The last of these Machines removes the copy.
func (f *fleet) claimCopy(ctx context.Context, image model.Owner) error {
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
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": m.UID}, "status": map[string]any{"providerStatus": map[string]any{"copied": true}}})
		if err != nil {
			return err
		}
		if err := f.direct.Patch(ctx, &m, client.RawPatch(types.MergePatchType, patch)); err != nil {
			return err
		}
		f.wrote(owner, m.ResourceVersion, time.Now())
		return nil
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
