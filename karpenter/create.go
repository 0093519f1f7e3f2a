package karpenter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
)

// createTimeout is how long one call waits until a machine is begun. Karpenter calls again, and does nothing else meanwhile.
const createTimeout = 30 * time.Second

// Create creates the machine of a NodeClaim. It returns when the creation has begun. A repeated call for the same NodeClaim
// continues with the same machine.
func (p *CloudProvider) Create(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	class, err := p.class(ctx, claim.Spec.NodeClassRef)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the ProxmoxNodeClass of %s: %w", claim.Name, err)
	case class == nil:
		return nil, cloudprovider.NewInsufficientCapacityError(fmt.Errorf("there is no ProxmoxNodeClass %s", claim.Spec.NodeClassRef.Name))
	case class.DeletionTimestamp != nil:
		return nil, cloudprovider.NewInsufficientCapacityError(fmt.Errorf("ProxmoxNodeClass %s is being deleted", class.Name))
	}
	if ready := class.StatusConditions().Get("Ready"); !ready.IsTrue() {
		return nil, cloudprovider.NewNodeClassNotReadyError(fmt.Errorf("ProxmoxNodeClass %s isn't ready: %s", class.Name, ready.Message))
	}
	if p.abandoned(claim) {
		return nil, cloudprovider.NewNodeClaimNotFoundError(fmt.Errorf("NodeClaim %s is gone", claim.Name))
	}
	at, err := p.choose(ctx, claim, class)
	if err != nil {
		p.events.full(class, err)
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	what, out, err := p.launch(ctx, claim, class, at)
	if wrong := (wrongError{}); errors.As(err, &wrong) {
		err = p.refuse(class, wrong)
	}
	if err != nil {
		p.settled(claim, 0, err)
		p.metrics.failed(at.zone, err)
		p.events.full(class, err)
		return nil, err
	}
	return p.launched(class, what, at, out), nil
}

// choose finds where the machine goes and how large it is. One that was begun earlier stays where it is.
func (p *CloudProvider) choose(ctx context.Context, claim *v1.NodeClaim, class *api.ProxmoxNodeClass) (place, error) {
	earlier, begun, err := p.begun(ctx, claim, class)
	if err != nil || earlier.size.Name != "" {
		return earlier, err
	}
	if was := asMade(claim); was != nil && (!begun || earlier.zone.String() == p.placeOf(was).zone.String()) {
		return p.again(claim, class, was), nil
	}
	// One at a time, so that all see what the others have chosen.
	p.choosing.Lock()
	defer p.choosing.Unlock()
	wanted := scheduling.NewNodeSelectorRequirementsWithMinValues(claim.Spec.Requirements...)
	zones, err := p.zones(ctx, class)
	if err != nil {
		return place{}, err
	}
	mine := p.spread(ctx, class)
	var good []place
	no := refusals{}
	for _, s := range p.sizes {
		it := p.instanceType(s, class, zones)
		if !wanted.IsCompatible(it.Requirements, scheduling.AllowUndefinedWellKnownLabels) || !resources.Fits(claim.Spec.Resources.Requests, it.Allocatable()) {
			continue
		}
		for _, z := range zones {
			labels := scheduling.NewLabelRequirements(map[string]string{corev1.LabelTopologyRegion: z.region, corev1.LabelTopologyZone: z.node, v1.CapacityTypeLabelKey: s.CapacityType})
			if !wanted.IsCompatible(labels, scheduling.AllowUndefinedWellKnownLabels) {
				continue
			}
			if begun && z.String() != earlier.zone.String() {
				continue
			}
			if why := cmp.Or(z.unfit(s.in(class)), p.backoff.why(z, s.Name, class.Name)); why != "" {
				no[[2]string{z.String(), why}] = append(no[[2]string{z.String(), why}], s.Name)
				continue
			}
			good = append(good, place{zone: z, size: s.in(class)})
		}
	}
	if len(good) == 0 {
		why := no.String()
		if len(no) == 0 {
			why = "no instance type and zone meets its requirements"
		}
		return place{}, cloudprovider.NewInsufficientCapacityError(fmt.Errorf("no machine can be made for %s: %s", claim.Name, why))
	}
	packs := strategyOf(class) == api.ZoneAvailabilityFirst
	slices.SortFunc(good, func(a, b place) int { return order(a, b, packs, mine) })
	best := good[0]
	if h := best.zone.pins; h != nil {
		best.pin, _ = h.pin(int(best.size.cpus())) // it fits
	}
	p.mu.Lock()
	p.reserved[p.ownerOf(claim)] = reservation{place: best}
	p.note(p.ownerOf(claim), best.zone.region)
	p.mu.Unlock()
	return best, nil
}

// again is the place that was chosen for a NodeClaim earlier, by this process or one before: a clone that is being made there can't be seen yet.
func (p *CloudProvider) again(claim *v1.NodeClaim, class *api.ProxmoxNodeClass, was *made) place {
	at := p.placeOf(was)
	at.size, at.pin = at.size.in(class), was.Pin
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reserved[p.ownerOf(claim)] = reservation{place: at}
	p.note(p.ownerOf(claim), at.zone.region)
	return at
}

// triedFor is longer than Karpenter tries to launch a NodeClaim.
const triedFor = time.Hour

// note remembers where a machine is begun. The caller holds the lock.
func (p *CloudProvider) note(owner model.Owner, region string) {
	now := time.Now()
	for o, t := range p.tried {
		if now.Sub(t.at) > triedFor {
			delete(p.tried, o)
		}
	}
	p.tried[owner] = try{region: region, at: now}
}

// abandoned reports whether a NodeClaim is gone that a cache still has.
func (p *CloudProvider) abandoned(claim *v1.NodeClaim) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tried[p.ownerOf(claim)].gone
}

// mayBeIn reports whether a machine of a NodeClaim may have been begun in a region. Where it is made is written down before, and the cache may not have that yet.
func (p *CloudProvider) mayBeIn(ctx context.Context, claim *v1.NodeClaim, region string) bool {
	is := *claim
	if is.Annotations[api.AnnotationMachine] == "" {
		is = v1.NodeClaim{}
		if err := p.secrets.Get(ctx, types.NamespacedName{Name: claim.Name}, &is); err != nil || is.UID != claim.UID {
			return true // whose it is shows when it is tried again
		}
	}
	was := asMade(&is)
	return was == nil && is.Annotations[api.AnnotationMachine] != "" || was != nil && was.Region == region
}

// order prefers cheap machines, then by the strategy zones with few nodes of the class, or those that are in use.
func order(a, b place, packs bool, mine map[string]int) int {
	price := cmp.Compare(a.size.price(packs && a.zone.guests == 0), b.size.price(packs && b.zone.guests == 0))
	if packs {
		return cmp.Or(price, cmp.Compare(a.zone.free, b.zone.free), cmp.Compare(a.zone.String(), b.zone.String()))
	}
	return cmp.Or(price, cmp.Compare(mine[a.zone.String()], mine[b.zone.String()]), cmp.Compare(b.zone.free, a.zone.free), cmp.Compare(a.zone.String(), b.zone.String()))
}

// spread counts the nodes of a class by zone, those that are being made among them.
func (p *CloudProvider) spread(ctx context.Context, class *api.ProxmoxNodeClass) map[string]int {
	count := map[string]int{}
	var claims v1.NodeClaimList
	if err := p.client.List(ctx, &claims, client.UnsafeDisableDeepCopy); err != nil {
		return count // they are spread by what is free then
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		if ref := c.Spec.NodeClassRef; ref != nil && ref.Name == class.Name && c.Labels[corev1.LabelTopologyZone] != "" {
			count[c.Labels[corev1.LabelTopologyRegion]+"/"+c.Labels[corev1.LabelTopologyZone]]++
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.reserved {
		count[r.zone.String()]++
	}
	return count
}

// settled notes that a machine was made, or couldn't be. What it takes counts until lists show it.
func (p *CloudProvider) settled(claim *v1.NodeClaim, vmid int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	owner := p.ownerOf(claim)
	r, known := p.reserved[owner]
	if err != nil || !known {
		delete(p.reserved, owner)
		return
	}
	r.vmid, r.until = vmid, time.Now().Add(listsLate)
	p.reserved[owner] = r
}

// listsLate is how late lists of Proxmox may be.
const listsLate = 2 * time.Minute

// begun finds a machine that was made for the NodeClaim, or is being made: a process before this one may have begun it.
func (p *CloudProvider) begun(ctx context.Context, claim *v1.NodeClaim, class *api.ProxmoxNodeClass) (place, bool, error) {
	owner := p.ownerOf(claim)
	// In all regions: the class may have had others when the machine was begun.
	names, err := p.regions.Names()
	if err != nil {
		return place{}, false, err
	}
	was := asMade(claim)
	if was != nil { // first where it was to be: several regions may be one Proxmox
		if i := slices.Index(names, was.Region); i > 0 {
			names[0], names[i] = names[i], names[0]
		}
	}
	for _, name := range names {
		r, err := p.regions.Get(name)
		var m site.Machine
		if err == nil {
			m, err = r.Site.Read(ctx, owner)
		}
		if errors.Is(err, site.ErrNotFound) || err != nil && ctx.Err() == nil && !p.mayBeIn(ctx, claim, name) {
			continue // a region that can't be asked holds up no other one
		}
		if err != nil {
			return place{}, false, fmt.Errorf("find the machine of %s in region %s: %w", claim.Name, name, err)
		}
		at := place{zone: zone{region: name, node: m.Guest.Node}}
		if p.static {
			at.pin = pinOf(m.Guest.Config)
		}
		for _, s := range p.sizes {
			if s.is(m.Guest.Config) && (at.size.Name == "" || was != nil && s.Name == was.Size) {
				at.size = s.in(class)
			}
		}
		return at, true, nil // of one that was begun and never finished, nobody knows how large it is to be
	}
	return place{}, false, nil
}

// launched is what Karpenter gets to know of a machine.
func (p *CloudProvider) launched(class *api.ProxmoxNodeClass, what made, at place, out site.Outcome) *v1.NodeClaim {
	labels := at.size.labels()
	labels[corev1.LabelTopologyRegion], labels[corev1.LabelTopologyZone], labels[api.LabelInstanceImage] = what.Region, what.Zone, what.Image
	if t := what.Template; t != nil && t.CPU != nil {
		labels[api.LabelInstanceCPUType] = t.CPU.Type
	}
	it := p.instanceType(at.size, class, nil)
	return &v1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: out.Owner.Name, Labels: labels, Annotations: map[string]string{
			api.AnnotationNodeClassHash: hashOf(class), api.AnnotationNodeClassHashVersion: hashVersion, api.AnnotationMachine: what.String(),
		}},
		Status: v1.NodeClaimStatus{ProviderID: ProviderID(what.Region, out.VMID), ImageID: what.Image, Capacity: it.Capacity, Allocatable: it.Allocatable()},
	}
}

// fullReasons are those of machines that can't be made where they were to be, though elsewhere they may.
var fullReasons = []model.Reason{model.WaitPlace, model.WaitUnfit, model.WaitNode, model.WaitAddress, model.WaitVMID, model.WaitMissing, model.WaitAway, model.WaitLogin, model.WaitHost}
