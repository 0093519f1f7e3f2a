package karpenter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
)

// making finishes a machine that was begun, or deletes its NodeClaim, so that Karpenter creates another one.
func (k *keeper) making(ctx context.Context, claim *v1.NodeClaim, class *api.ProxmoxNodeClass, was *made, r *Region, vmid int) (reconcile.Result, error) {
	p, owner := k.provider, k.provider.ownerOf(claim)
	if !r.Site.Wants(owner) {
		return reconcile.Result{}, k.goOn(ctx, claim, class, was, r, vmid)
	}
	out, known := r.Site.Latest(owner)
	switch {
	case !known || claim.StatusConditions().Get(v1.ConditionTypeRegistered).IsTrue():
	case out.VMID != 0 && out.VMID != vmid:
		return reconcile.Result{}, k.replace(ctx, claim, fmt.Errorf("somebody else has taken VMID %d", vmid))
	case site.Running(out):
		p.runs(claim, was, vmid)
	case out.State != model.StateGone && (r.Site.Stuck(out) || cant(out) && !slices.Contains(outages, out.Wait.Reason)):
		err := p.giveUp(ctx, r, owner, p.placeOf(was), out)
		p.settled(claim, 0, err)
		p.metrics.failed(zone{region: was.Region, node: was.Zone}, err)
		p.events.full(class, err)
		return reconcile.Result{}, k.replace(ctx, claim, err)
	}
	return reconcile.Result{}, nil
}

// joinTime is how long Karpenter waits for the Node of a machine.
const joinTime = 15 * time.Minute

// notJoined has the next machine of a class wait if the machine of a NodeClaim that goes didn't become a node in time: its first-boot data are wrong, as
// a rule, so that each further one would be made and destroyed for nothing.
func (p *CloudProvider) notJoined(ctx context.Context, claim *v1.NodeClaim, vmid int) {
	if claim.StatusConditions().Get(v1.ConditionTypeRegistered).IsTrue() || time.Since(claim.CreationTimestamp.Time) < joinTime {
		return
	}
	owner := p.ownerOf(claim)
	p.mu.Lock()
	t := p.tried[owner]
	noted := t.alone
	t.alone, t.at = true, time.Now()
	p.tried[owner] = t
	p.mu.Unlock()
	class, err := p.class(ctx, claim.Spec.NodeClassRef)
	if noted || err != nil || class == nil {
		return
	}
	text := fmt.Sprintf("VM %d of %s didn't become a node within %s: see what its first boot says (proxplane console, or /var/log/cloud-init-output.log in it), and user-data of spec.metadataOptions.templatesRef", vmid, claim.Name, joinTime)
	until := p.backoff.unjoined(class.Name, text)
	p.events.say(class, corev1.EventTypeWarning, eventNotJoined, "Join", "%s; the next machine of the class is made in %s", text, p.backoff.left(until))
}

// abandon removes what was begun for NodeClaims of a name that are gone: Karpenter tells nobody that it has deleted one that wasn't launched yet. The one
// with the UID is there; empty: none is.
func (p *CloudProvider) abandon(ctx context.Context, name string, there types.UID) error {
	lost := map[model.Owner]string{}
	p.mu.Lock()
	for owner, t := range p.tried {
		if owner.Name == name && owner.UID != string(there) {
			t.gone = true
			p.tried[owner], lost[owner] = t, t.region
			delete(p.reserved, owner)
		}
	}
	p.mu.Unlock()
	for owner, region := range lost {
		r, err := p.regions.Get(region)
		if err != nil || !r.Site.Wants(owner) {
			continue // a region that nobody declares any more makes nothing
		}
		if err := r.Site.Remove(ctx, owner); err != nil {
			return fmt.Errorf("remove what was begun for %s: %w", name, err)
		}
	}
	return nil
}

// outages are reasons why nothing can be done in a whole region: machines that were begun there wait until it is over.
var outages = []model.Reason{model.WaitAway, model.WaitLogin}

// goOn goes on with a machine that a process before this one has begun. One that runs has all that it needs.
func (k *keeper) goOn(ctx context.Context, claim *v1.NodeClaim, class *api.ProxmoxNodeClass, was *made, r *Region, vmid int) error {
	m, err := r.Site.Read(ctx, k.provider.ownerOf(claim))
	switch {
	case err == nil && m.Guest.Status == model.StatusRunning:
		return nil
	case err != nil && !errors.Is(err, site.ErrNotFound):
		return fmt.Errorf("find the machine of %s: %w", claim.Name, err)
	}
	if claim.StatusConditions().Get(v1.ConditionTypeRegistered).IsTrue() {
		return nil // it is a node already; whoever collects NodeClaims without a machine sees to it
	}
	if err := k.provider.put(ctx, r, claim, class, *was, k.provider.placeOf(was).size.in(class)); err != nil {
		return fmt.Errorf("go on with VM %d of %s: %w", vmid, claim.Name, err)
	}
	return nil
}

// replace has Karpenter make another machine.
func (k *keeper) replace(ctx context.Context, claim *v1.NodeClaim, why error) error {
	k.provider.events.say(claim, corev1.EventTypeWarning, eventNotMade, "Replace", "%v; another node is made if it is still needed", why)
	return client.IgnoreNotFound(k.client.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}))
}

// placeOf is where a machine is made, and how large it is.
func (p *CloudProvider) placeOf(was *made) place {
	at := place{zone: zone{region: was.Region, node: was.Zone}}
	for _, s := range p.sizes {
		if s.Name == was.Size {
			at.size = s
		}
	}
	return at
}

// runs notes that a machine runs.
func (p *CloudProvider) runs(claim *v1.NodeClaim, was *made, vmid int) {
	p.mu.Lock()
	r, known := p.reserved[p.ownerOf(claim)]
	p.mu.Unlock()
	if !known || r.vmid != 0 {
		return // that was noted, or this process hasn't begun it
	}
	p.settled(claim, vmid, nil)
	p.backoff.worked(r.zone, was.Size)
	p.metrics.made(r.zone, time.Since(claim.CreationTimestamp.Time))
}
