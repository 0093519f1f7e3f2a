package karpenter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
)

// remove has the images of a template go from all regions, and then the object.
func (c *templates) remove(ctx context.Context, t *api.ProxmoxTemplate, owner model.Owner) (reconcile.Result, error) {
	waits, err := c.leave(ctx, t, owner, nil)
	if err != nil {
		return reconcile.Result{}, err
	}
	waits = append(waits, c.regions.unusable(t.Spec.Region, regionsOf(t.Status.Zones))...)
	if len(waits) > 0 {
		before := t.DeepCopy()
		settle(t, t.Status.Zones, t.Status.ImageID, "Deleting", strings.Join(waits, "; "))
		return reconcile.Result{RequeueAfter: lookSoon}, client.IgnoreNotFound(c.client.Status().Patch(ctx, t, client.MergeFrom(before)))
	}
	controllerutil.RemoveFinalizer(t, api.TerminationFinalizer)
	return reconcile.Result{}, client.IgnoreNotFound(c.client.Update(ctx, t))
}

// leave has the images of a template go from all regions but some, such as those that it was in before its region was changed, and says what isn't gone yet.
func (c *templates) leave(ctx context.Context, t *api.ProxmoxTemplate, owner model.Owner, stays []*Region) (waits []string, err error) {
	all, _ := c.regions.All() // of those that can't be used the caller is told otherwise
	for _, r := range all {
		if slices.ContainsFunc(stays, func(s *Region) bool { return s.Name == r.Name || sameCluster(s, r) }) {
			continue
		}
		if is, known := outcomeOf(r, owner); known && is.State == engine.StateGone {
			continue
		}
		goes := t.DeletionTimestamp != nil
		if !goes || t.Spec.Region != "" && t.Spec.Region != r.Name {
			there, err := c.isIn(ctx, r, owner)
			if err != nil {
				waits = append(waits, "region "+r.Name+": "+err.Error())
			}
			if !there {
				continue
			}
		}
		img, _ := r.Cluster.Image(*imageOf(owner, t.Name, &t.Spec)) // whatever is wrong with it, it is to go
		img.Deleted = true
		if err := r.Site.PutImage(owner, img); err != nil {
			return nil, err
		}
		if !goes { // its other regions aren't held up
			out, _ := outcomeOf(r, owner)
			waits = append(waits, "region "+r.Name+": "+textOf(out))
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, lookSoon)
		out, err := r.Site.Await(ctx, owner, site.Gone)
		cancel()
		if err != nil && !errors.Is(err, site.ErrNotWanted) {
			waits = append(waits, "region "+r.Name+": "+textOf(out))
		}
	}
	return waits, nil
}

// isIn reports whether a region has templates of an image, or makes them. A process before this one may have made them, and their notes tell whose they are.
func (c *templates) isIn(ctx context.Context, r *Region, owner model.Owner) (bool, error) {
	if r.Site.Wants(owner) {
		return true, nil
	}
	var some []int
	if err := r.Site.View(ctx, func(have *model.Observed) {
		for id, g := range have.Guests {
			if g.Name == owner.Name && !g.Container && slices.ContainsFunc(g.Tags, model.IsMark) {
				some = append(some, id)
			}
		}
	}); err != nil {
		return false, err
	}
	for _, id := range some {
		whose, err := r.Site.Owner(ctx, id)
		if err != nil && !errors.Is(err, site.ErrNotFound) {
			return false, err
		}
		if err == nil && whose.Door == owner.Door && whose.Set == owner.Set && whose.Key == owner.Key {
			return true, nil
		}
	}
	return false, nil
}

// sameCluster reports whether two regions are one Proxmox cluster.
func sameCluster(a, b *Region) bool {
	one, other := a.Site.Identity(), b.Site.Identity()
	return one != "" && one == other
}

// unusable says why regions can't be asked that an object is in, or is meant for; an empty name means all of them. What such an object has there can't be
// removed.
func (r *Regions) unusable(meant string, in []string) (why []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range model.NamesOf(r.wrong) {
		if meant == name || meant == "" || slices.Contains(in, name) {
			why = append(why, fmt.Sprintf("region %s can't be used: %s", name, r.wrong[name]))
		}
	}
	for _, name := range in {
		if r.all[name] == nil && r.wrong[name] == "" {
			why = append(why, fmt.Sprintf("region %s isn't declared any more, so that its templates can't be removed: create a Provider of that name again, or remove them by hand and then the finalizer %s", name, api.TerminationFinalizer))
		}
	}
	return why
}
