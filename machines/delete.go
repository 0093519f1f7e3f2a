package machines

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8c.io/machine-controller/sdk/apis/cluster/common"
	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/kube/drain"
	"github.com/proxplane/proxplane/machines/providerspec"
	"github.com/proxplane/proxplane/model"
)

// drainAgain is how soon a Node is looked at again that isn't empty yet.
const drainAgain = 5 * time.Second

// delete takes a machine down: its Pods, its guest, its Node.
func (t *turn) delete(ctx context.Context) error {
	if !slices.ContainsFunc(t.m.Finalizers, mine) { // those of others may keep it for a while
		t.fleet.forget(ctx, t.owner)
		return nil
	}
	// The cache may not have yet which VMID was claimed.
	if err := t.direct.Get(ctx, client.ObjectKeyFromObject(t.m), t.m); err != nil {
		return client.IgnoreNotFound(err)
	}
	t.before, t.record = t.m.DeepCopy(), recordOf(t.m)
	t.said.deleting = true
	if err := t.find(ctx); err != nil {
		return err
	}
	if t.m.Annotations[ForceDelete] == "true" {
		t.events.Eventf(t.m, nil, corev1.EventTypeWarning, "Released", "Delete", "the Machine is let go; VM %d, if there is one, stays in Proxmox", t.record.VMID)
		return t.end(ctx)
	}
	if slices.Contains(t.m.Finalizers, finalizerInstance) {
		empty, err := t.drain(ctx)
		if err != nil || !empty {
			return err
		}
		gone, err := t.destroy(ctx)
		if err != nil || !gone {
			return err
		}
	}
	return t.end(ctx)
}

// find finds the Node of a machine that goes.
func (t *turn) find(ctx context.Context) error {
	var node corev1.Node
	if err := t.client.Get(ctx, client.ObjectKey{Name: nodeName(t.m)}, &node); err != nil {
		return client.IgnoreNotFound(err)
	}
	if t.isNode(&node) {
		t.node = node.DeepCopy()
	}
	return nil
}

// drain empties the Node; false: it isn't empty yet.
func (t *turn) drain(ctx context.Context) (bool, error) {
	var nodes corev1.NodeList
	var machines clusterv1alpha1.MachineList
	if err := errors.Join(t.client.List(ctx, &nodes, client.UnsafeDisableDeepCopy), t.client.List(ctx, &machines, client.UnsafeDisableDeepCopy)); err != nil {
		return false, err
	}
	joining := slices.ContainsFunc(machines.Items, func(m clusterv1alpha1.Machine) bool { return m.Status.NodeRef == nil && m.DeletionTimestamp == nil })
	if why := drain.Skip(t.node, t.m.DeletionTimestamp.Time, t.now(), t.SkipEvictionAfter, nodes.Items, joining); why != "" {
		t.said.drained(true, "Skipped", "the Node isn't drained: "+why)
		return true, nil
	}
	state, err := t.drainer.Run(ctx, t.node)
	if err != nil {
		return false, err
	}
	if !state.Done() {
		t.again = drainAgain
		t.said.drained(false, "Draining", fmt.Sprintf("node %s is drained: %s", t.node.Name, state))
		t.said.waits("Draining", fmt.Sprintf("node %s is drained: %s", t.node.Name, state))
		return false, nil
	}
	t.said.drained(true, "Drained", "no Pod is left on node "+t.node.Name)
	return true, nil
}

// destroy removes the guest; false: it isn't gone yet.
func (t *turn) destroy(ctx context.Context) (bool, error) {
	if t.record.VMID == 0 && !t.record.Copied && t.fleet.idle(t.owner) {
		return true, nil // nothing was ever made: that would be written down, and then the finalizers stay
	}
	var err error
	if t.value, err = providerspec.Decode(raw(t.m)); err != nil {
		t.stuck(oneLine(err))
		return false, nil
	}
	if ok, err := t.login(ctx); err != nil {
		return false, err
	} else if !ok {
		t.stuck(t.said.message)
		return false, nil
	}
	vm, image, err := t.value.Machine(providerspec.Want{Owner: t.owner, Name: nodeName(t.m), Labels: t.m.Labels, VMID: t.record.VMID, Had: t.record.Addresses, Deleted: true})
	if err != nil {
		t.stuck(oneLine(err))
		return false, nil
	}
	o, known, _ := t.fleet.outcome(t.berth, t.owner)
	gone := known && o.State == model.StateGone
	if why := elsewhere(t.before, t.berth); why != "" && (gone || t.berth.site.Identity() != "") {
		t.again = loginAgain
		t.stuck(why)
		return false, nil
	}
	if gone {
		return t.vacate(ctx, image.Owner)
	}
	if err := t.fleet.put(t.berth, vm, image); err != nil {
		return false, err
	}
	o, known, trouble := t.fleet.outcome(t.berth, t.owner)
	switch {
	case trouble != nil:
		t.again = loginAgain
		t.stuck(words(trouble.Text, trouble.Do))
	case known && blocked(o):
		t.stuck(verdict(o))
	case known:
		t.said.waits("Deleting", verdict(o))
	default:
		t.said.waits("Deleting", fmt.Sprintf("VM %d is being removed", t.record.VMID))
	}
	return false, nil
}

// stuck says why a machine can't be removed, and what can be done about it.
func (t *turn) stuck(why string) {
	t.said.err = "" // this says it, too, and what to do
	t.said.failed(common.DeleteMachineError, "CannotDelete", fmt.Sprintf("%s; to let the Machine go and leave in Proxmox what is there: kubectl annotate -n %s machine %s %s=true",
		why, t.m.Namespace, t.m.Name, ForceDelete))
}

// end lets the Machine go, with its Node.
func (t *turn) end(ctx context.Context) error {
	t.fleet.forget(ctx, t.owner)
	if t.node != nil {
		if err := client.IgnoreNotFound(t.client.Delete(ctx, t.node, client.Preconditions{UID: &t.node.UID})); err != nil {
			return fmt.Errorf("delete node %s: %w", t.node.Name, err)
		}
	}
	if err := errors.Join(t.dropUserData(ctx), t.tokens.Delete(ctx, string(t.m.UID))); err != nil {
		return err
	}
	t.metrics.deprovisioning.Observe(t.now().Sub(t.m.DeletionTimestamp.Time).Seconds())
	t.events.Eventf(t.m, nil, corev1.EventTypeNormal, "Deleted", "Delete", "nothing of the machine is left")
	t.m.Finalizers = slices.DeleteFunc(t.m.Finalizers, mine)
	return nil
}

// mine reports whether a finalizer is one of ours.
func mine(f string) bool { return f == finalizerInstance || f == finalizerNode }
