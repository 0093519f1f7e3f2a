package karpenter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
)

// launch begins a machine and waits until it is being made under its VMID. Karpenter does nothing else, for no NodePool, while a
// NodeClaim has no provider ID, so nobody waits here for what takes long: see [keeper.making].
func (p *CloudProvider) launch(ctx context.Context, claim *v1.NodeClaim, class *api.ProxmoxNodeClass, at place) (made, site.Outcome, error) {
	r, err := p.regions.Get(at.zone.region)
	if err != nil {
		return made{}, site.Outcome{}, err
	}
	what, err := p.made(ctx, class, at)
	if err != nil {
		return made{}, site.Outcome{}, wrongInput(err)
	}
	owner := p.ownerOf(claim)
	if was := asMade(claim); was != nil { // it was begun earlier
		what.UUID, what.SMBIOS, what.Interfaces, what.Search, what.Hosts, what.Taken = was.UUID, was.SMBIOS, was.Interfaces, was.Search, was.Hosts, was.Taken
	} else {
		what.UUID = uuidOf(owner)
		if what.Template == nil {
			err = p.inheritedBy(ctx, r, class, &what)
		}
		if err == nil && (what.pooled() || isDrive(class)) {
			err = p.hostedBy(ctx, r, &what)
		}
	}
	if err != nil {
		return what, site.Outcome{}, err
	}
	if err := p.remember(ctx, claim, what); err != nil {
		return what, site.Outcome{}, err
	}
	if err := p.put(ctx, r, claim, class, what, at.size); err != nil {
		return what, site.Outcome{}, err
	}
	out, err := r.Site.Await(ctx, owner, begunOrCant)
	switch {
	case err == nil && !cant(out):
		return what, out, nil
	case err == nil:
		return what, out, p.giveUp(ctx, r, owner, at, out)
	}
	var stuck *site.AwaitError
	if errors.As(err, &stuck) && stuck.Err == nil {
		return what, stuck.Outcome, p.giveUp(ctx, r, owner, at, stuck.Outcome)
	}
	return what, out, fmt.Errorf("make the machine of %s in zone %s: it isn't begun yet: %w", claim.Name, at.zone, err)
}

// remember writes down what the machine of a NodeClaim is made from, and where, before anything is made: whoever goes on after a crash chooses nothing else.
func (p *CloudProvider) remember(ctx context.Context, claim *v1.NodeClaim, what made) error {
	if claim.Annotations[api.AnnotationMachine] == what.String() {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": claim.UID, "annotations": map[string]string{api.AnnotationMachine: what.String()}}})
	if err != nil {
		return err
	}
	if err := p.client.Patch(ctx, &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim.Name}}, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("write down where the machine of %s is made: %w", claim.Name, err)
	}
	return nil
}

// put has the machine of a NodeClaim made, or made on.
func (p *CloudProvider) put(ctx context.Context, r *Region, claim *v1.NodeClaim, class *api.ProxmoxNodeClass, what made, size Size) error {
	owner := p.ownerOf(claim)
	m, cluster := what.machine(owner, r.Cluster, inPlaceOf(class))
	var err error
	if m.FirstBoot, err = p.boot.data(ctx, claim, class, what, size, m); err != nil {
		return wrongInput(err)
	}
	vm, image, err := what.translate(m, cluster)
	if err != nil {
		return wrongInput(err)
	}
	if what.Template != nil {
		if what.VMID == 0 {
			image = nil
		}
		if err := p.putTemplate(ctx, r, what); err != nil {
			return err
		}
	}
	if image != nil {
		if err := r.Site.PutImage(image.Owner, *image); err != nil {
			return err
		}
	}
	return r.Site.Put(owner, vm)
}

// putTemplate declares the image of a ProxmoxTemplate as it is wanted now, if its own controller hasn't done so yet. What a machine was begun from
// earlier would take the template back, and bring back one that is being deleted.
func (p *CloudProvider) putTemplate(ctx context.Context, r *Region, what made) error {
	ref := what.Source
	t, err := readTemplate(ctx, p.client, ref)
	if err != nil {
		return err
	}
	managed, ok := t.(*api.ProxmoxTemplate)
	if !ok || managed.DeletionTimestamp != nil || managed.Spec.Region != "" && managed.Spec.Region != r.Name {
		return nil
	}
	img, why, err := wantedImage(ctx, r, model.Owner{Door: Door, Set: p.set}, ref.Name, &managed.Spec)
	switch {
	case err != nil:
		return err
	case why != "" && what.VMID != 0: // it is made from a former one
		return nil
	case why != "":
		return wrongInput(errors.New(why))
	case r.Site.Wants(img.Owner):
		return nil
	}
	return r.Site.PutImage(img.Owner, img)
}

// begunOrCant waits until a machine is being made, or there is no room for it.
func begunOrCant(o site.Outcome) bool {
	return cant(o) || o.VMID != 0 && (site.Running(o) || site.Ready(o) || o.State == engine.StateChanging)
}

// cant reports whether a machine can't be made where it was to be.
func cant(o site.Outcome) bool {
	return !site.Running(o) && o.Wait != nil && slices.Contains(fullReasons, o.Wait.Reason)
}

// giveUp removes a machine that can't be made, and has its zone left alone for a while. Karpenter then looks
// for another zone.
func (p *CloudProvider) giveUp(ctx context.Context, r *Region, owner model.Owner, at place, out site.Outcome) error {
	text := out.Text
	if out.Failure != nil && text == "" {
		text = out.Failure.Text
	}
	size := at.size.Name
	if out.State == engine.StateFailed {
		size = "" // whatever its size
	}
	until := p.backoff.failed(at.zone, size, text)
	err := fmt.Errorf("zone %s: %s; the zone is tried again in %s", at.zone, text, p.backoff.left(until))
	if gone := r.Site.Remove(context.WithoutCancel(ctx), owner); gone != nil {
		err = errors.Join(err, gone)
	}
	return cloudprovider.NewInsufficientCapacityError(err)
}

// wrongError says that no machine can be made until a person has changed something.
type wrongError struct{ error }

func (e wrongError) Unwrap() error { return e.error }

// wrongInput is that error, unless it is Kubernetes that couldn't be asked.
func wrongInput(err error) error {
	var unreached *url.Error
	if err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown || errors.As(err, &unreached) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return wrongError{err}
}

// refuse has the NodeClaim go whose machine can't be made as it is declared, and its class left alone for a moment: Karpenter does nothing else, for no
// NodePool, while there is a NodeClaim that isn't launched.
func (p *CloudProvider) refuse(class *api.ProxmoxNodeClass, wrong wrongError) error {
	text := strings.TrimSpace(wrong.Error())
	until := p.backoff.refused(class.Name, text)
	return cloudprovider.NewInsufficientCapacityError(fmt.Errorf("%s; machines of ProxmoxNodeClass %s are tried again in %s", text, class.Name, p.backoff.left(until)))
}

// made is what a machine of a class is made from in a place.
func (p *CloudProvider) made(ctx context.Context, class *api.ProxmoxNodeClass, at place) (made, error) {
	t, err := p.template(ctx, class)
	if err != nil {
		return made{}, err
	}
	if t == nil {
		return made{}, fmt.Errorf("there is no %s %s", class.Spec.InstanceTemplateRef.Kind, class.Spec.InstanceTemplateRef.Name)
	}
	m := made{
		Region: at.zone.region, Zone: at.zone.node, Size: at.size.Name, CPUs: at.size.cpus(), Memory: at.size.memory(), Boot: class.Spec.BootDevice,
		Pin: at.pin, Source: class.Spec.InstanceTemplateRef, Image: imageIn(t, at.zone.region, at.zone.node), VMID: templateIn(statusOf(t).Zones, at.zone.region, at.zone.node),
	}
	if own, disk := p.placeOf(&m).size.Capacity[corev1.ResourceEphemeralStorage], bootSize(m.Boot); disk == nil && !own.IsZero() || disk != nil && own.Cmp(*disk) > 0 {
		larger := &api.BootDevice{Size: fmt.Sprintf("%dGi", (own.Value()+1<<30-1)>>30)}
		if m.Boot != nil {
			larger.Storage = m.Boot.Storage
		}
		m.Boot = larger
	}
	if k := class.Spec.KubeletConfiguration; k != nil && k.TopologyManagerPolicy != "" && k.TopologyManagerPolicy != "none" {
		m.NUMA = true
	}
	if managed, ok := t.(*api.ProxmoxTemplate); ok {
		m.Template = managed.Spec.DeepCopy()
		if m.Image, m.VMID, err = p.version(ctx, managed, m); err != nil {
			return made{}, err
		}
	} else if m.VMID == 0 {
		return made{}, fmt.Errorf("%s %s has no template that zone %s reaches", m.Source.Kind, m.Source.Name, at.zone)
	}
	return m, nil
}

// version is the image of a ProxmoxTemplate that a machine is made from: the one that is wanted, or the former one, by its VMID, where the former is all that there
// is yet.
func (p *CloudProvider) version(ctx context.Context, t *api.ProxmoxTemplate, m made) (image string, vmid int, err error) {
	r, err := p.regions.Get(m.Region)
	if err != nil {
		return "", 0, err
	}
	img, why, err := wantedImage(ctx, r, model.Owner{Door: Door, Set: p.set}, t.Name, &t.Spec)
	if err != nil {
		return "", 0, err
	}
	out, _ := outcomeOf(r, img.Owner)
	switch {
	case why != "": // it can't be made, as its own controller says
	case slices.ContainsFunc(out.Templates, func(one model.Template) bool { return one.Node == m.Zone }):
		return img.Version(), 0, nil
	case t.StatusConditions().Get("Ready").IsTrue() || t.Status.ImageID == img.Version():
		return m.Image, 0, nil
	}
	return t.Status.ImageID, templateIn(t.Status.Zones, m.Region, m.Zone), nil
}
