package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/status"
)

// maxClaims is how many are written at once: a thousand new machines want theirs in
// the same moment.
const maxClaims = 16

// claim writes down in an object's status which VMID it gets, before anything is
// made under it. So it is found again even when everything else is lost.
func (p *provider) claim(ctx context.Context, owner model.Owner, vmid int, _ string) error {
	obj, ok := newObject(owner.Kind)
	if !ok {
		return nil
	}
	select {
	case p.deps.claims <- struct{}{}:
		defer func() { <-p.deps.claims }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	key, uid, ok := p.deps.ledger.object(owner)
	switch {
	case !ok:
		return fmt.Errorf("%s is gone", owner.Key)
	case key != owner.Key:
		return p.claimMember(ctx, key, uid, owner.Name, vmid)
	}
	said := map[string]any{"vmid": vmid}
	if isMachine(obj) {
		said["provider"] = p.key.Name
		if err := p.unready(ctx, obj, owner, vmid, said); err != nil {
			return err
		}
	} else if image, ok := obj.(*api.VMImage); ok {
		if err := p.deps.client.Get(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}, image); err != nil {
			return err
		}
		said["providers"] = slices.Compact(slices.Sorted(slices.Values(append(image.Status.Providers, p.key.Name))))
	}
	// With its UID: an object that was made anew under the same name is another one.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "status": said})
	if err != nil {
		return err
	}
	obj.SetNamespace(owner.Namespace)
	obj.SetName(owner.Name)
	return p.deps.client.Status().Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch))
}

// unready adds to what is said of a machine that it isn't ready, if it was: it is about to
// be made anew, and what was ready had another VMID.
func (p *provider) unready(ctx context.Context, obj object, owner model.Owner, vmid int, said map[string]any) error {
	if err := p.deps.client.Get(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}, obj); err != nil || !isReady(obj) {
		return client.IgnoreNotFound(err)
	}
	settle(obj, status.Verdict{State: model.StateChanging, Reason: model.ReasonChanging, Message: fmt.Sprintf("make VM %d", vmid)}, obj.GetGeneration())
	said["conditions"], said["waiting"], said["waitingSince"] = obj.Common().Conditions, obj.Common().Waiting, obj.Common().WaitingSince
	return nil
}

// claimMember does so in the status of the object that the machine is one of.
func (p *provider) claimMember(ctx context.Context, key model.Key, uid types.UID, name string, vmid int) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var vm api.VirtualMachine
		if err := p.deps.direct.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: key.Name}, &vm); err != nil {
			return err
		}
		if vm.UID != uid {
			return fmt.Errorf("%s is another one by now", key)
		}
		before := vm.DeepCopy()
		vm.Status.Provider = p.key.Name
		member(&vm.Status, name).VMID = vmid
		return p.deps.client.Status().Patch(ctx, &vm, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
}
