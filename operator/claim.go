package operator

import (
	"context"
	"fmt"
	"maps"
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
	select {
	case p.deps.claims <- struct{}{}:
		defer func() { <-p.deps.claims }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	key, uid, ok := p.deps.ledger.object(owner)
	if !ok {
		return fmt.Errorf("%s is gone", owner.Key)
	}
	from := client.Reader(p.deps.client)
	if key != owner.Key {
		from = p.deps.direct // its machines claim at the same time, so the cache is late
	}
	if err := p.claimAsRead(ctx, from, key, uid, owner, vmid); err == nil {
		return nil
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the cache was late, perhaps
		return p.claimAsRead(ctx, p.deps.direct, key, uid, owner, vmid)
	})
}

// claimAsRead claims for an object that is as a reader has it: another Provider, or another process, may
// have claimed meanwhile, and made the machine.
func (p *provider) claimAsRead(ctx context.Context, from client.Reader, key model.Key, uid types.UID, owner model.Owner, vmid int) error {
	obj, ok := newObject(key.Kind)
	if !ok {
		return nil
	}
	if err := from.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: key.Name}, obj); err != nil {
		return err
	}
	if obj.GetUID() != uid {
		return fmt.Errorf("%s is another one by now", key)
	}
	before := obj.DeepCopyObject().(object)
	switch o := obj.(type) {
	case *api.VirtualMachine:
		if err := p.claimMachine(obj, &o.Status, o.Spec.Count != nil, owner, vmid); err != nil {
			return err
		}
	case *api.VMClone:
		if err := p.claimMachine(obj, &o.Status, false, owner, vmid); err != nil {
			return err
		}
	case *api.VMImage:
		o.Status.VMID = vmid
		o.Status.Providers = slices.Compact(slices.Sorted(slices.Values(append(o.Status.Providers, p.key.Name))))
	}
	err := p.deps.client.Status().Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err == nil {
		p.claimed(owner, vmid)
	}
	return err
}

// claimMachine notes the VMID of a machine in the status of its object, which may stand for several.
func (p *provider) claimMachine(obj object, s *api.MachineStatus, group bool, owner model.Owner, vmid int) error {
	holder, had := holderOf(s), &s.VMID
	if group {
		had = &member(s, owner.Name).VMID
	}
	switch {
	case holder != "" && holder != p.key.Name:
		return fmt.Errorf("%s is on Provider %s", keyOf(obj), s.Provider)
	case *had != 0 && *had != vmid && !p.remembers(owner, *had):
		return fmt.Errorf("VMID %d was noted down for %s meanwhile", *had, owner.Key)
	}
	*had, s.Provider = vmid, p.key.Name
	if !group && isReady(obj) {
		// It is about to be made anew, and what was ready had another VMID.
		settle(obj, status.Verdict{State: model.StateChanging, Reason: model.ReasonChanging, Message: fmt.Sprintf("make VM %d", vmid)}, obj.GetGeneration())
	}
	return nil
}

// holderOf is the Provider that has a machine, or has begun to make it; empty: none has.
func holderOf(s *api.MachineStatus) string {
	if s.VMID == 0 && !slices.ContainsFunc(s.Members, func(m api.Member) bool { return m.VMID != 0 }) {
		return ""
	}
	return s.Provider
}

// superseded reports whether what is known of a machine comes from a Provider while another one has claimed it.
func (e entry) superseded(obj object) bool {
	var holder string
	switch o := obj.(type) {
	case *api.VirtualMachine:
		holder = holderOf(&o.Status)
	case *api.VMClone:
		holder = holderOf(&o.Status)
	}
	for from := range e.outcomes {
		if holder != "" && from.provider.Name != holder {
			return true
		}
	}
	return false
}

// claimed notes that a VMID was written down for a machine.
func (p *provider) claimed(owner model.Owner, vmid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims[owner] = vmid
}

// remembers reports whether the VMID that is written down for a machine is one that this Provider
// knows of: it was told so, or has written it itself.
func (p *provider) remembers(owner model.Owner, vmid int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.claims[owner] == vmid || slices.ContainsFunc(p.asked.desired.VMs, func(v model.VM) bool { return v.Owner == owner && v.Remembered == vmid })
}

// keepClaims forgets what was written down for machines that aren't wanted any more. The caller holds
// the mutex.
func (p *provider) keepClaims() {
	wanted := make(map[model.Owner]bool, len(p.claims))
	for i := range p.asked.desired.VMs {
		wanted[p.asked.desired.VMs[i].Owner] = true
	}
	maps.DeleteFunc(p.claims, func(o model.Owner, _ int) bool { return !wanted[o] })
}
