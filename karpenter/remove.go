package karpenter

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/site"
)

// Delete removes the machine of a NodeClaim. It returns at once; Karpenter calls again until the machine is gone.
func (p *CloudProvider) Delete(ctx context.Context, claim *v1.NodeClaim) error {
	region, vmid, err := ParseProviderID(claim.Status.ProviderID)
	if err != nil {
		return fmt.Errorf("delete the machine of %s: %w", claim.Name, err)
	}
	r, err := p.regions.Get(region)
	if err != nil {
		return fmt.Errorf("delete VM %d of %s: %w", vmid, claim.Name, err)
	}
	owner := p.ownerOf(claim)
	m, err := r.Site.Read(ctx, owner)
	switch {
	case errors.Is(err, site.ErrNotFound):
		proof, err := p.proof(ctx, r, claim, vmid)
		if err != nil {
			return err
		}
		if proof == unproven {
			err = p.notOurs(ctx, r, claim, vmid)
			p.events.say(claim, corev1.EventTypeWarning, eventNotRemoved, "Delete", "%v", err)
			return err
		}
		// It may be being made, by a process before this one, too: a clone under way can't be told from others' yet.
		if asMade(claim) != nil && !claim.StatusConditions().Get(v1.ConditionTypeRegistered).IsTrue() && (!p.removes(owner, region) || r.Site.Wants(owner)) {
			p.settled(claim, 0, errGone)
			err := r.Site.Remove(ctx, owner)
			p.stays(claim, r, vmid)
			return err
		}
		r.Site.Forget(owner)
		return cloudprovider.NewNodeClaimNotFoundError(fmt.Errorf("VM %d of %s: %w", vmid, claim.Name, errGone))
	case err != nil:
		p.events.say(claim, corev1.EventTypeWarning, eventNotRemoved, "Delete", "VM %d isn't removed yet: %v", vmid, err)
		return fmt.Errorf("find the machine of %s: %w", claim.Name, err)
	}
	p.settled(claim, 0, errGone)
	p.notJoined(ctx, claim, m.Guest.VMID)
	if err := r.Site.Remove(ctx, owner); err != nil {
		return fmt.Errorf("delete VM %d of %s: %w", m.Guest.VMID, claim.Name, err)
	}
	p.stays(claim, r, m.Guest.VMID)
	return nil
}

// removalTime is how long a removal may take until it is said what it waits for, whatever that is.
const removalTime = 2 * time.Minute

// stays emits an event if the removal of a machine waits for somebody, or takes long: a clone that hangs can't be removed before it has ended.
func (p *CloudProvider) stays(claim *v1.NodeClaim, r *Region, vmid int) {
	owner := p.ownerOf(claim)
	p.mu.Lock()
	t := p.tried[owner]
	if t.asked.IsZero() {
		t.asked, t.at, t.region = time.Now(), time.Now(), r.Name
		p.tried[owner] = t
	}
	p.mu.Unlock()
	out, known := r.Site.Latest(owner)
	if known && (out.Wait != nil && out.Wait.Reason.Facts().Ends != model.EndsByItself || r.Site.Stuck(out) || time.Since(t.asked) > removalTime) {
		p.events.say(claim, corev1.EventTypeWarning, eventNotRemoved, "Delete", "VM %d isn't removed yet: %s", vmid, textOf(out))
	}
}

// removes notes that the machine of an owner is removed, and reports whether it was before.
func (p *CloudProvider) removes(owner model.Owner, region string) (before bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, known := p.tried[owner]
	if !known {
		t.region = region
	}
	before, t.removed, t.at = t.removed, true, time.Now()
	p.tried[owner] = t
	return before
}

// proof is what proves that a VM is the machine of a NodeClaim.
type proof int

const (
	isGone   proof = iota // there is no VM, or it is somebody else's
	unproven              // it is the machine, and nothing proves that it is ours
	proven
)

// proof finds out whether the machine of a NodeClaim is there. Not provably ours are those that another provider made, before this one took over, those whose
// notes somebody has overwritten, and those that were made under another cluster name.
func (p *CloudProvider) proof(ctx context.Context, r *Region, claim *v1.NodeClaim, vmid int) (proof, error) {
	was, there := asMade(claim), false
	err := r.Site.View(ctx, func(have *model.Observed) {
		switch g := have.Guests[vmid]; {
		case g == nil || g.Template || g.Container:
		case was == nil:
			there = g.Name == claim.Name
		default:
			there = true
		}
	})
	switch {
	case err != nil || !there:
		return isGone, err
	case was == nil:
		return unproven, nil
	}
	g, err := r.Site.Observer().Known(ctx, vmid)
	if err != nil || g == nil || g.Config == nil {
		return isGone, err
	}
	if m := g.Config.Marker; m != nil {
		switch {
		case m.Owner == p.ownerOf(claim):
			return proven, nil
		case m.Owner.Door == Door && m.Owner.UID == string(claim.UID):
			return unproven, nil
		}
		return isGone, nil
	}
	id, _, tagged := model.ParseStateTag(g.Tags)
	firmware, err := prop.ParseSMBIOS1(g.Config.Options["smbios1"])
	if tagged && id == p.ownerOf(claim).ID() || err == nil && was.UUID != "" && firmware.UUID == was.UUID {
		return unproven, nil
	}
	return isGone, nil
}

// notOurs says why the machine of a NodeClaim isn't destroyed, and what to do.
func (p *CloudProvider) notOurs(ctx context.Context, r *Region, claim *v1.NodeClaim, vmid int) error {
	if asMade(claim) == nil {
		return fmt.Errorf("VM %d of NodeClaim %s wasn't made by proxplane, which destroys nothing that it can't prove to be its own: drain the node and destroy the VM in Proxmox; the NodeClaim goes then", vmid, claim.Name)
	}
	if owner, err := r.Site.Owner(ctx, vmid); err == nil && owner.Set != p.set {
		return fmt.Errorf("VM %d of NodeClaim %s was made when this Kubernetes was called %s, and it is called %s now: give it that name again (clusterName in the chart, --cluster-name), or drain the node and destroy the VM in Proxmox; the NodeClaim goes then", vmid, claim.Name, owner.Set, p.set)
	}
	return fmt.Errorf("the notes of VM %d of NodeClaim %s don't prove any more that proxplane made it, since somebody has overwritten them: write back what they were, or drain the node and destroy the VM in Proxmox; the NodeClaim goes then", vmid, claim.Name)
}

// Get finds a machine by its provider ID: one of ours, or one that a NodeClaim has and that isn't provably ours. Karpenter removes Nodes
// without draining them if their machines are gone.
func (p *CloudProvider) Get(ctx context.Context, id string) (*v1.NodeClaim, error) {
	region, vmid, err := ParseProviderID(id)
	if err != nil {
		return nil, cloudprovider.NewNodeClaimNotFoundError(err)
	}
	r, err := p.regions.Get(region)
	if err != nil {
		return p.unread(ctx, id, err)
	}
	owner, err := r.Site.Owner(ctx, vmid)
	switch {
	case errors.Is(err, site.ErrNotFound):
	case err != nil:
		return p.unread(ctx, id, fmt.Errorf("find out whose VM %d is: %w", vmid, err))
	case owner.Door == Door && owner.Set == p.set:
		m, err := r.Site.Read(ctx, owner)
		if err == nil && m.Guest.VMID == vmid {
			return p.seen(r, m), nil
		}
		if err != nil && !errors.Is(err, site.ErrNotFound) {
			return p.unread(ctx, id, err)
		}
	}
	others, err := p.unlisted(ctx, map[string]*Region{region: r}, nil)
	if err != nil {
		return nil, err
	}
	for _, c := range others {
		if c.Status.ProviderID == id {
			return c, nil
		}
	}
	return nil, cloudprovider.NewNodeClaimNotFoundError(fmt.Errorf("VM %d in region %s: %w", vmid, region, errGone))
}

// unread is the NodeClaim of a machine that can't be read, such as one on a Proxmox node that is lost: it counts as existing, as in [CloudProvider.List]. Karpenter
// drains no Node whose machine it can't get. The error is returned if no NodeClaim has the machine.
func (p *CloudProvider) unread(ctx context.Context, id string, why error) (*v1.NodeClaim, error) {
	var claims v1.NodeClaimList
	if err := p.client.List(ctx, &claims, client.UnsafeDisableDeepCopy); err != nil {
		return nil, errors.Join(why, fmt.Errorf("list NodeClaims: %w", err))
	}
	for i := range claims.Items {
		if claims.Items[i].Status.ProviderID == id {
			return there(&claims.Items[i]), nil
		}
	}
	return nil, why
}

// List returns all machines of this Kubernetes, and those of existing NodeClaims that another provider made. Karpenter
// treats machines that aren't in it as gone, so it includes all NodeClaims of a region that can't be asked.
func (p *CloudProvider) List(ctx context.Context) ([]*v1.NodeClaim, error) {
	p.regions.await(ctx)
	regions, err := p.regions.All()
	if errors.Is(err, errUnread) {
		return nil, err
	}
	var all []*v1.NodeClaim
	asked, listed := map[string]*Region{}, sets.New[string]()
	for _, r := range regions {
		machines, err := r.Site.List(ctx, Door, p.set)
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("list the machines of region %s: %w", r.Name, err)
		case err != nil:
			continue
		}
		asked[r.Name] = r
		for _, m := range machines {
			is := p.seen(r, m)
			all = append(all, is)
			listed.Insert(is.Status.ProviderID)
		}
	}
	others, err := p.unlisted(ctx, asked, listed)
	return append(all, others...), err
}

// unlisted are the NodeClaims whose machines no list shows though they may be there: those in regions that weren't asked,
// those that another provider made, and those whose notes or tags were overwritten.
func (p *CloudProvider) unlisted(ctx context.Context, asked map[string]*Region, listed sets.Set[string]) ([]*v1.NodeClaim, error) {
	var claims v1.NodeClaimList
	if err := p.client.List(ctx, &claims, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list NodeClaims: %w", err)
	}
	var all []*v1.NodeClaim
	for i := range claims.Items {
		c := &claims.Items[i]
		region, vmid, err := ParseProviderID(c.Status.ProviderID)
		if err != nil || listed.Has(c.Status.ProviderID) {
			continue
		}
		r := asked[region]
		if r == nil {
			all = append(all, there(c))
			continue
		}
		if is, err := p.proof(ctx, r, c, vmid); err != nil || is != isGone {
			all = append(all, there(c))
		}
	}
	return all, nil
}

// there is a NodeClaim as a list has it whose machine isn't known to be gone.
func there(claim *v1.NodeClaim) *v1.NodeClaim {
	claim = claim.DeepCopy()
	claim.DeletionTimestamp = nil
	return claim
}

// seen is a machine as Karpenter knows it.
func (p *CloudProvider) seen(r *Region, m site.Machine) *v1.NodeClaim {
	labels := map[string]string{corev1.LabelTopologyRegion: r.Name, corev1.LabelTopologyZone: m.Guest.Node}
	for _, s := range p.sizes {
		if s.cpus() == int64(m.Guest.CPUs) && s.memory() == m.Guest.Memory {
			for k, v := range s.labels() {
				labels[k] = v
			}
			break
		}
	}
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: m.Guest.Name, Labels: labels}, Status: v1.NodeClaimStatus{ProviderID: ProviderID(r.Name, m.Guest.VMID)}}
	if m.Outcome != nil && m.Outcome.State == model.StateGone {
		now := metav1.Now()
		claim.DeletionTimestamp = &now
	}
	return claim
}
