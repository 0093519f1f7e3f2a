package karpenter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	awsstatus "github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/status"
)

// How soon objects are looked at again: all before the regions were read, those that wait for something, and those that are as they should be.
const (
	lookAtOnce = time.Second

	lookSoon = 10 * time.Second
	lookLate = 5 * time.Minute
)

// templates looks after ProxmoxTemplates: an image for each of their regions.
type templates struct {
	client  client.Client
	regions *Regions
	set     string
	events  teller
}

// Reconcile looks after one.
func (c *templates) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	var t api.ProxmoxTemplate
	if err := c.client.Get(ctx, r.NamespacedName, &t); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if c.regions.isUnread() {
		return reconcile.Result{RequeueAfter: lookAtOnce}, nil
	}
	owner := imageOf(model.Owner{Door: Door, Set: c.set}, t.Name, &t.Spec).Owner
	if t.DeletionTimestamp != nil {
		return c.remove(ctx, &t, owner)
	}
	if controllerutil.AddFinalizer(&t, api.TerminationFinalizer) {
		if err := c.client.Update(ctx, &t); err != nil {
			return reconcile.Result{}, err
		}
	}
	before := t.DeepCopy()
	again := c.look(ctx, &t, owner)
	if equality.Semantic.DeepEqual(before.Status, t.Status) {
		return reconcile.Result{RequeueAfter: again}, nil
	}
	c.events.turned(before, &t, api.ConditionTemplateReady, fmt.Sprintf("the template is in %d zones", len(t.Status.Zones)))
	return reconcile.Result{RequeueAfter: again}, client.IgnoreNotFound(c.client.Status().Patch(ctx, &t, client.MergeFrom(before)))
}

// look puts the images of a template and notes how they are.
func (c *templates) look(ctx context.Context, t *api.ProxmoxTemplate, owner model.Owner) time.Duration {
	regions, err := c.regions.Meant(t.Spec.Region)
	if err == nil {
		err = wrongTemplate(t)
	}
	if err != nil { // what was made before is there
		settle(t, t.Status.Zones, t.Status.ImageID, reasonInvalid, err.Error())
		return lookSoon
	}
	var zones, waits, away []string
	version := ""
	for _, r := range regions {
		some, id, wait, err := c.inRegion(ctx, r, t, owner)
		if err != nil { // what was there is there
			away, some = append(away, fmt.Sprintf("region %s: %v", r.Name, err)), within(t.Status.Zones, r.Name)
		}
		zones, version = append(zones, some...), max(version, id)
		if wait != "" {
			waits = append(waits, "region "+r.Name+": "+wait)
		}
	}
	leaving, err := c.leave(ctx, t, owner, regions)
	if err != nil {
		leaving = append(leaving, err.Error())
	}
	switch {
	case len(waits) > 0, len(away) > 0 && len(zones) == 0:
		image := t.Status.ImageID
		if image == "" && len(zones) > 0 {
			image = version
		}
		settle(t, zones, image, "NotReady", strings.Join(append(waits, away...), "; "))
		return lookSoon
	case len(away) > 0: // holds up no other region
		settle(t, zones, cmp.Or(version, t.Status.ImageID), "", "")
		return lookSoon
	}
	settle(t, zones, version, "", "")
	if len(leaving) > 0 {
		t.StatusConditions().SetTrueWithReason(api.ConditionTemplateReady, "Leaving", "templates in regions that it was for before aren't gone yet: "+strings.Join(leaving, "; "))
		return lookSoon
	}
	return lookLate
}

// reasonInvalid is the reason of conditions of what no machine can be made from.
const reasonInvalid = "Invalid"

// within are those of some zones that are in a region.
func within(zones []string, region string) []string {
	return slices.DeleteFunc(slices.Clone(zones), func(z string) bool { return !strings.HasPrefix(z, region+"/") })
}

// wantedImage is the image of a ProxmoxTemplate in a region; why says why there can't be one. The error says that Proxmox can't be
// asked.
func wantedImage(ctx context.Context, r *Region, owner model.Owner, name string, t *api.TemplateSpec) (img model.Image, why string, err error) {
	img, errs := r.Cluster.Image(*imageOf(owner, name, t))
	if wrong := errs.OrNil(); wrong != nil {
		return img, inWords(wrong).Error(), nil
	}
	if img.Storage, why, err = storageFor(ctx, r, t.StorageIDs); err != nil || why != "" {
		return img, why, err
	}
	img.Tags, img.Description = tagsOf(t), t.Description
	for key, value := range templateOptions(t) {
		img.Options[key] = value
	}
	return img, "", nil
}

// inRegion puts the image on one region. It returns the zones that have it, its version, and what it waits for. The error says that Proxmox can't
// be asked.
func (c *templates) inRegion(ctx context.Context, r *Region, t *api.ProxmoxTemplate, owner model.Owner) (zones []string, version, wait string, err error) {
	img, why, err := wantedImage(ctx, r, owner, t.Name, &t.Spec)
	switch {
	case err != nil:
		return nil, "", "", err
	case why != "":
		return formerZones(ctx, r, t.Status.Zones, nil), "", why, nil
	}
	if err := r.Site.PutImage(owner, img); err != nil {
		return nil, "", err.Error(), nil //nolint:nilerr // what is wrong with it is told as what it waits for
	}
	out, known := outcomeOf(r, owner)
	if was := within(t.Status.Zones, r.Name); !known && len(was) > 0 && t.Status.ImageID == img.Version() {
		return was, img.Version(), "", nil // this process has just begun
	}
	for _, one := range out.Templates {
		zones = append(zones, fmt.Sprintf("%s/%s/%d", r.Name, one.Node, one.VMID))
	}
	if !known || out.State != engine.StateReady {
		zones = append(zones, formerZones(ctx, r, t.Status.Zones, zones)...)
	}
	slices.Sort(zones)
	switch {
	case !known:
		wait = "Proxmox is asked for the template"
	case out.State != engine.StateReady:
		wait = textOf(out)
	}
	return zones, img.Version(), wait, nil
}

// formerZones are the zones of a region that have a template of the former version and none of the one that is wanted now: that is used until the latter is there.
func formerZones(ctx context.Context, r *Region, former, current []string) (zones []string) {
	_ = r.Site.View(ctx, func(have *model.Observed) { // else nothing is made anyway
		for _, z := range within(former, r.Name) {
			node, id, _ := strings.Cut(strings.TrimPrefix(z, r.Name+"/"), "/")
			vmid, err := strconv.Atoi(id)
			g := have.Guests[vmid]
			if err == nil && templateIn(current, r.Name, node) == 0 && g != nil && g.Template && g.Node == node {
				zones = append(zones, z)
			}
		}
	})
	return zones
}

// tagsOf are the tags of the template itself, as Proxmox keeps them.
func tagsOf(t *api.TemplateSpec) []string {
	var tags []string
	for _, tag := range t.Tags {
		tags = append(tags, strings.ToLower(tag))
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// templateOptions are the options of the template itself.
func templateOptions(t *api.TemplateSpec) map[string]string {
	all := map[string]string{}
	if t.Machine != "" && t.Machine != "pc" {
		all["machine"] = t.Machine
	}
	if cpu := t.CPU; cpu != nil && cpu.Type != "" {
		all["cpu"] = cpu.Type
	}
	return all
}

// wrongTemplate says why no machine can be made of a template, wherever and of whichever image.
func wrongTemplate(t *api.ProxmoxTemplate) error {
	for i, n := range t.Spec.Network {
		if text := wrongNetwork(i, n); text != "" {
			return errors.New(text)
		}
	}
	m := made{Region: "region", Zone: "zone", Size: "any", CPUs: 1, Memory: 1 << 30, Source: api.InstanceTemplateRef{Kind: api.KindTemplate, Name: t.Name}, Template: &t.Spec, VMID: spec.MinVMID}
	one, cluster := m.machine(model.Owner{Door: Door, Key: model.Key{Kind: kindNodeClaim, Name: "node"}}, noCluster, inPlace{})
	_, _, err := m.translate(one, cluster)
	return err
}

// outcomeOf returns the latest outcome of an object of a region; false: none is known yet.
func outcomeOf(r *Region, owner model.Owner) (site.Outcome, bool) { return r.Site.Latest(owner) }

// textOf is what an object waits for, with what to do about it.
func textOf(o site.Outcome) string {
	text := status.Text(o.Text, o.Diff)
	if o.Failure != nil && !strings.Contains(text, o.Failure.Text) {
		text += ": " + o.Failure.Text
	}
	if text == "" {
		text = "it is being made"
	}
	return strings.TrimPrefix(text, ": ")
}

// settle notes how a template is. Reason is empty if it is ready.
func settle(t source, zones []string, image, reason, text string) {
	s := statusOf(t)
	s.Zones, s.ImageID = zones, image
	s.Resources = nodesResource(zones)
	conditions := t.StatusConditions()
	if reason == "" {
		conditions.SetTrue(api.ConditionTemplateReady)
		return
	}
	conditions.SetFalse(api.ConditionTemplateReady, reason, text)
	because(t, api.ConditionTemplateReady)
}

// because gives the condition Ready, which is a column, the message of the first condition that keeps an object from being ready.
func because(o awsstatus.Object, conditions ...string) {
	all := o.StatusConditions()
	for _, name := range conditions {
		if c := all.Get(name); c.IsFalse() {
			all.SetFalse("Ready", c.Reason, c.Message)
			return
		}
	}
}

func nodesResource(zones []string) corev1.ResourceList {
	return corev1.ResourceList{api.ResourceZones: *resource.NewQuantity(int64(len(zones)), resource.DecimalSI)}
}
