package karpenter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/model"
)

// unmanaged looks for the templates that ProxmoxUnmanagedTemplates name.
type unmanaged struct {
	client  client.Client
	regions *Regions
	events  teller
}

// Reconcile looks for one.
func (c *unmanaged) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	var t api.ProxmoxUnmanagedTemplate
	if err := c.client.Get(ctx, r.NamespacedName, &t); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if t.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	if c.regions.isUnread() {
		return reconcile.Result{RequeueAfter: lookAtOnce}, nil
	}
	before := t.DeepCopy()
	again := c.look(ctx, &t)
	if equality.Semantic.DeepEqual(before.Status, t.Status) {
		return reconcile.Result{RequeueAfter: again}, nil
	}
	c.events.turned(before, &t, api.ConditionTemplateReady, fmt.Sprintf("the template is in %d zones", len(t.Status.Zones)))
	return reconcile.Result{RequeueAfter: again}, client.IgnoreNotFound(c.client.Status().Patch(ctx, &t, client.MergeFrom(before)))
}

// lookUnmanaged is how often it is looked whether people have made other templates.
const lookUnmanaged = time.Minute

func (c *unmanaged) look(ctx context.Context, t *api.ProxmoxUnmanagedTemplate) time.Duration {
	regions, err := c.regions.Meant(t.Spec.Region)
	if err != nil {
		settle(t, nil, "", reasonInvalid, err.Error())
		return lookSoon
	}
	var zones, away []string
	ids := map[string]string{}
	for _, r := range regions {
		found, err := findTemplates(ctx, r, t.Spec)
		if err != nil { // what was there is there, and the region holds up no other one
			away = append(away, fmt.Sprintf("region %s: %v", r.Name, err))
			for _, z := range within(t.Status.Zones, r.Name) {
				at := nodesOf([]string{z})[0]
				_, node, _ := strings.Cut(at, "/")
				zones, ids[at] = append(zones, z), imageIn(t, r.Name, node)
			}
			continue
		}
		for node, g := range found {
			zones = append(zones, fmt.Sprintf("%s/%s/%d", r.Name, node, g.VMID))
			ids[r.Name+"/"+node] = model.Digest(model.OriginOf(g.VMID, g.Config.Options))
		}
	}
	slices.Sort(zones)
	if len(zones) == 0 && len(away) > 0 {
		settle(t, nil, "", "NotReady", strings.Join(away, "; "))
		return lookSoon
	}
	if len(zones) == 0 {
		settle(t, nil, "", "NotFound", "no template in Proxmox "+called(t.Spec)+": make one (qm template VMID), or correct spec.templateName and spec.tags")
		return lookSoon
	}
	settle(t, zones, imageIDs(ids), "", "")
	return lookUnmanaged
}

func called(s api.UnmanagedTemplateSpec) string {
	var parts []string
	if s.TemplateName != "" {
		parts = append(parts, fmt.Sprintf("is named %q", s.TemplateName))
	}
	if len(s.Tags) > 0 {
		parts = append(parts, "has the tags "+strings.Join(s.Tags, ", "))
	}
	return strings.Join(parts, " and ")
}

// findTemplates are the templates that each node of a region can clone: one of its own, or one whose disks are all on shared
// storages. Of several it is the one with the lowest VMID.
func findTemplates(ctx context.Context, r *Region, s api.UnmanagedTemplateSpec) (map[string]*model.Guest, error) {
	var candidates []*model.Guest
	shared := map[string]bool{}
	if err := r.Site.View(ctx, func(have *model.Observed) {
		for _, g := range have.Guests {
			if matches(g, s) {
				candidates = append(candidates, g)
			}
		}
		for name, storage := range have.Storages {
			shared[name] = storage.Shared
		}
	}); err != nil {
		return nil, err
	}
	nodes, err := r.zones(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(candidates, func(a, b *model.Guest) int { return cmp.Compare(a.VMID, b.VMID) })
	found := map[string]*model.Guest{}
	var everywhere *model.Guest
	for _, g := range candidates {
		known, err := r.Site.Observer().Known(ctx, g.VMID)
		if err != nil {
			return nil, fmt.Errorf("read template %d: %w", g.VMID, err)
		}
		if known == nil || known.Config == nil {
			continue
		}
		if found[known.Node] == nil && slices.Contains(nodes, known.Node) {
			found[known.Node] = known
		}
		if everywhere == nil && !slices.ContainsFunc(known.Config.Disks, func(d model.Disk) bool { return !d.CDROM && !shared[d.Storage] }) {
			everywhere = known
		}
	}
	for _, node := range nodes {
		if found[node] == nil && everywhere != nil {
			found[node] = everywhere
		}
	}
	return found, nil
}

// matches reports whether a guest is a template that is meant.
func matches(g *model.Guest, s api.UnmanagedTemplateSpec) bool {
	if !g.Template || g.Container || s.TemplateName != "" && g.Name != s.TemplateName || s.TemplateName == "" && len(s.Tags) == 0 {
		return false
	}
	if slices.ContainsFunc(g.Tags, model.IsMark) {
		return false // proxplane made it, and may remove it
	}
	return !slices.ContainsFunc(s.Tags, func(tag string) bool { return !slices.Contains(g.Tags, strings.ToLower(tag)) })
}
