package karpenter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/model"
)

// classes looks after ProxmoxNodeClasses: whether nodes can be made by them, and where.
type classes struct {
	client   client.Client
	provider *CloudProvider
}

// whyNot are the conditions that Ready of a class depends on; the last one follows from the others.
var whyNot = []string{api.ConditionInstanceTemplateReady, api.ConditionInstanceMetadataOptionsReady, api.ConditionPlacementReady}

// Reconcile looks after one.
func (c *classes) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	var class api.ProxmoxNodeClass
	if err := c.client.Get(ctx, r.NamespacedName, &class); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if class.DeletionTimestamp != nil {
		return c.finish(ctx, &class)
	}
	if c.provider.regions.isUnread() {
		return reconcile.Result{RequeueAfter: lookAtOnce}, nil
	}
	before := class.DeepCopy()
	changed := controllerutil.AddFinalizer(&class, api.TerminationFinalizer)
	if class.Annotations == nil {
		class.Annotations = map[string]string{}
	}
	if hash := hashOf(&class); class.Annotations[api.AnnotationNodeClassHash] != hash || class.Annotations[api.AnnotationNodeClassHashVersion] != hashVersion {
		class.Annotations[api.AnnotationNodeClassHash], class.Annotations[api.AnnotationNodeClassHashVersion] = hash, hashVersion
		changed = true
	}
	if changed {
		if err := c.client.Patch(ctx, &class, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
	}
	before = class.DeepCopy()
	if err := c.look(ctx, &class); err != nil {
		return reconcile.Result{}, err
	}
	again := lookLate
	if !class.StatusConditions().Get("Ready").IsTrue() {
		again = lookSoon
	}
	if equality.Semantic.DeepEqual(before.Status, class.Status) {
		return reconcile.Result{RequeueAfter: again}, nil
	}
	for _, condition := range whyNot {
		if class.StatusConditions().Get(condition).IsFalse() {
			c.provider.events.turned(before, &class, condition, "")
			break // the others follow from it
		}
	}
	if class.StatusConditions().Get("Ready").IsTrue() {
		c.provider.events.turned(before, &class, "Ready", fmt.Sprintf("nodes can be made in %d zones", len(class.Status.SelectedZones)))
	}
	return reconcile.Result{RequeueAfter: again}, client.IgnoreNotFound(c.client.Status().Patch(ctx, &class, client.MergeFrom(before)))
}

// look notes how a class is.
func (c *classes) look(ctx context.Context, class *api.ProxmoxNodeClass) error {
	t, err := c.provider.template(ctx, class)
	if err != nil {
		return err
	}
	conditions := class.StatusConditions()
	if err := c.provider.boot.check(ctx, class, func() (made, bool) { return c.provider.sample(ctx, class, t) }); err != nil {
		conditions.SetFalse(api.ConditionInstanceMetadataOptionsReady, "Invalid", err.Error())
	} else {
		conditions.SetTrue(api.ConditionInstanceMetadataOptionsReady)
	}
	ref := class.Spec.InstanceTemplateRef
	var zones []string
	switch {
	case t == nil:
		conditions.SetFalse(api.ConditionInstanceTemplateReady, "NotFound", fmt.Sprintf("there is no %s %s: create it, or correct spec.instanceTemplateRef", ref.Kind, ref.Name))
	case t.GetDeletionTimestamp() != nil:
		conditions.SetFalse(api.ConditionInstanceTemplateReady, "Deleting", fmt.Sprintf("%s %s is being deleted: name another one in spec.instanceTemplateRef", ref.Kind, ref.Name))
	case !t.StatusConditions().Get("Ready").IsTrue():
		is := t.StatusConditions().Get(api.ConditionTemplateReady)
		why := is.Message
		if zones = statusOf(t).Zones; is.Reason == reasonInvalid {
			zones = nil
		}
		if len(zones) > 0 {
			conditions.SetTrueWithReason(api.ConditionInstanceTemplateReady, "InPart", fmt.Sprintf("nodes are made from what %d zones have; %s %s isn't ready: %s", len(zones), ref.Kind, ref.Name, why))
		} else {
			conditions.SetFalse(api.ConditionInstanceTemplateReady, "NotReady", fmt.Sprintf("%s %s isn't ready: %s", ref.Kind, ref.Name, why))
		}
	default:
		conditions.SetTrue(api.ConditionInstanceTemplateReady)
		zones = statusOf(t).Zones
	}
	zones, why := c.zones(ctx, class, needOf(class, t), zones)
	class.Status.SelectedZones, class.Status.Resources = zones, nodesResource(zones)
	if why != "" {
		conditions.SetFalse(api.ConditionPlacementReady, "NoZone", why)
	} else {
		conditions.SetTrue(api.ConditionPlacementReady)
	}
	because(class, whyNot...)
	return nil
}

// zones are those of some that the class can use. Where none is left, or something is missing in Proxmox, it says why.
func (c *classes) zones(ctx context.Context, class *api.ProxmoxNodeClass, needs need, zones []string) ([]string, string) {
	regions, err := c.provider.regions.Meant(class.Spec.Region)
	if err != nil {
		return nil, err.Error()
	}
	var good, no []string
	for _, r := range regions {
		some := within(zones, r.Name)
		if len(some) == 0 {
			no = append(no, fmt.Sprintf("no node of region %s has the template", r.Name))
			continue
		}
		needs.learn(ctx, r, fresh(some, class.Status.SelectedZones)...)
		err := r.Site.View(ctx, func(have *model.Observed) {
			if c.provider.static && !have.Root {
				no = append(no, "region "+r.Name+": "+needsRoot)
				return
			}
			for _, z := range some {
				_, rest, _ := strings.Cut(z, "/")
				node, _, _ := strings.Cut(rest, "/")
				if why := cmp.Or(lacks(have, class, node), needs.missing(have, node)); why != "" {
					no = append(no, r.Name+"/"+node+": "+why)
				} else {
					good = append(good, z)
				}
			}
		})
		if err != nil {
			no = append(no, fmt.Sprintf("region %s: %v", r.Name, err))
			good = append(good, within(class.Status.SelectedZones, r.Name)...)
		}
	}
	slices.Sort(good)
	if len(good) > 0 {
		return good, ""
	}
	return nil, reasons(no)
}

// fresh are the nodes of zones that weren't selected before.
func fresh(zones, selected []string) (nodes []string) {
	known := nodesOf(selected)
	for _, z := range nodesOf(zones) {
		if !slices.Contains(known, z) {
			_, node, _ := strings.Cut(z, "/")
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// lacks says what a node doesn't have that machines of a class need; empty: nothing.
func lacks(have *model.Observed, class *api.ProxmoxNodeClass, node string) string {
	if d := class.Spec.BootDevice; d != nil && d.Storage != "" {
		s := have.Storages[d.Storage]
		if s == nil {
			return fmt.Sprintf("there is no storage %s, or this login may not see it: correct spec.bootDevice.storage", d.Storage)
		}
		if !s.Content["images"] {
			return fmt.Sprintf("storage %s holds no disks of VMs: add the content images to it, or correct spec.bootDevice.storage", d.Storage)
		}
		if _, there := s.OnNode[node]; !there && !s.Late[node] {
			return fmt.Sprintf("storage %s isn't there", d.Storage)
		}
	}
	if pool := class.Spec.ResourcePool; pool != "" && have.Pools != nil && !have.Pools[pool] {
		return fmt.Sprintf("there is no pool %s: create it, or correct spec.resourcePool", pool)
	}
	if f := have.Firewall; f != nil && f.Groups != nil {
		for _, g := range class.Spec.SecurityGroups {
			if !f.Groups[g.Name] {
				return fmt.Sprintf("there is no security group %s: create it in Datacenter > Firewall, or correct spec.securityGroups", g.Name)
			}
		}
	}
	return ""
}

// finish lets a class go once no NodeClaim uses it.
func (c *classes) finish(ctx context.Context, class *api.ProxmoxNodeClass) (reconcile.Result, error) {
	var claims v1.NodeClaimList
	if err := c.client.List(ctx, &claims); err != nil {
		return reconcile.Result{}, err
	}
	var users []string
	for i := range claims.Items {
		if ref := claims.Items[i].Spec.NodeClassRef; ref != nil && ref.Group == api.Group && ref.Name == class.Name {
			users = append(users, claims.Items[i].Name)
		}
	}
	if len(users) > 0 {
		before := class.DeepCopy()
		who := fmt.Sprintf("%d NodeClaims use it, such as %s", len(users), users[0])
		if len(users) == 1 {
			who = "NodeClaim " + users[0] + " uses it"
		}
		class.StatusConditions().SetFalse("Ready", "Deleting", who+"; it goes when none does: delete the NodePools that name it, or their NodeClaims")
		if equality.Semantic.DeepEqual(before.Status, class.Status) {
			return reconcile.Result{RequeueAfter: lookSoon}, nil
		}
		return reconcile.Result{RequeueAfter: lookSoon}, client.IgnoreNotFound(c.client.Status().Patch(ctx, class, client.MergeFrom(before)))
	}
	if !controllerutil.RemoveFinalizer(class, api.TerminationFinalizer) {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(c.client.Update(ctx, class))
}
