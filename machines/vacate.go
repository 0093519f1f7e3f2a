package machines

import (
	"context"
	"reflect"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/machines/providerspec"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
)

// vacate gives up the template that a guest, which is gone, was made from. The last Machine of a template waits until its copies are removed, so that they
// are removed by the next process if this one ends; false: they aren't yet.
func (t *turn) vacate(ctx context.Context, image model.Owner) (bool, error) {
	needed, err := t.needed(ctx, image)
	if err != nil || needed {
		return needed, err
	}
	done, o, err := t.fleet.vacate(ctx, t.berth, t.owner, image)
	if err != nil || done {
		return done, err
	}
	const what = "the guest is gone, and the copies of its template are removed"
	switch _, _, trouble := t.fleet.outcome(t.berth, t.owner); {
	case trouble != nil:
		t.again = loginAgain
		t.stuck(words(what+": "+trouble.Text, trouble.Do))
	case blocked(o):
		t.stuck(what + ": " + verdict(o))
	default:
		t.said.waits("Deleting", what)
	}
	return false, nil
}

// needed reports whether another Machine, which isn't being deleted, is made from a template.
func (t *turn) needed(ctx context.Context, image model.Owner) (bool, error) {
	var list clusterv1alpha1.MachineList
	if err := t.client.List(ctx, &list, client.InNamespace(t.m.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return false, err
	}
	for i := range list.Items {
		m := &list.Items[i]
		if m.UID == t.m.UID || m.DeletionTimestamp != nil || !ours(m) {
			continue
		}
		v, err := providerspec.Decode(raw(m))
		if err == nil && v.Template(t.owner) == image && reflect.DeepEqual(v.CloudProviderSpec.Endpoint, t.value.CloudProviderSpec.Endpoint) {
			return true, nil
		}
	}
	return false, nil
}

// vacate has the copies of a template removed unless another machine, which isn't gone, is made from it, and says how far that is.
func (f *fleet) vacate(ctx context.Context, b *berth, o, image model.Owner) (done bool, how site.Outcome, err error) {
	f.mu.Lock()
	f.released[o] = true
	used := false
	for m, of := range b.machines {
		used = used || of == image && !f.released[m]
	}
	how, removing := f.removing[image]
	if !used && !removing {
		f.removing[image] = how
	}
	f.mu.Unlock()
	if used || how.State == model.StateGone {
		return true, how, nil
	}
	if removing {
		return false, how, nil
	}
	if err := b.site.Remove(ctx, image); err != nil {
		f.mu.Lock()
		delete(f.removing, image)
		f.mu.Unlock()
		return false, how, err
	}
	return false, how, nil
}

// templateChanged notes how far the removal of a template's copies is.
func (f *fleet) templateChanged(o site.Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, removing := f.removing[o.Owner]; !removing {
		return
	}
	f.removing[o.Owner] = o
	for _, b := range f.berths {
		for m, image := range b.machines {
			if image == o.Owner && f.released[m] {
				f.feed.wake(m)
			}
		}
	}
}
