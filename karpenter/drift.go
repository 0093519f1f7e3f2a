package karpenter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
)

// Why nodes have drifted.
const (
	NodeClassDrift cloudprovider.DriftReason = "NodeClassDrift" // the class says something else
	ImageDrift     cloudprovider.DriftReason = "ImageDrift"     // the template has another content
	TemplateDrift  cloudprovider.DriftReason = "TemplateDrift"  // the template has other hardware
	ZoneDrift      cloudprovider.DriftReason = "ZoneDrift"      // the machine is on another Proxmox node than its labels say
	MachineDrift   cloudprovider.DriftReason = "MachineDrift"   // somebody has changed the machine in ways that only a restart undoes
)

// IsDrifted returns the reason for which a node should be replaced; empty: it shouldn't.
func (p *CloudProvider) IsDrifted(ctx context.Context, claim *v1.NodeClaim) (cloudprovider.DriftReason, error) {
	reason, err := p.drift(ctx, claim)
	p.events.drifted(claim, reason)
	return reason, err
}

func (p *CloudProvider) drift(ctx context.Context, claim *v1.NodeClaim) (cloudprovider.DriftReason, error) {
	was := asMade(claim)
	if was == nil {
		return "", nil // another provider made it, which proxplane leaves alone
	}
	class, err := p.class(ctx, claim.Spec.NodeClassRef)
	if err != nil || class == nil {
		return "", err
	}
	if claim.Annotations[api.AnnotationNodeClassHashVersion] == hashVersion && claim.Annotations[api.AnnotationNodeClassHash] != hashOf(class) {
		return NodeClassDrift, nil
	}
	t, err := p.template(ctx, class)
	if err != nil || t == nil {
		return "", err
	}
	if ready := t.StatusConditions().Get("Ready"); ready.IsTrue() && ready.ObservedGeneration == t.GetGeneration() {
		if is := imageIn(t, was.Region, was.Zone); is != "" && is != was.Image {
			return ImageDrift, nil
		}
		if managed, ok := t.(*api.ProxmoxTemplate); ok && was.Template != nil && hardwareOf(managed.Spec) != hardwareOf(*was.Template) {
			return TemplateDrift, nil
		}
	}
	return p.machineDrift(ctx, claim, was)
}

// machineDrift compares a machine with what it was made as.
func (p *CloudProvider) machineDrift(ctx context.Context, claim *v1.NodeClaim, was *made) (cloudprovider.DriftReason, error) {
	r, err := p.regions.Get(was.Region)
	if err != nil {
		return "", err
	}
	m, err := r.Site.Read(ctx, p.ownerOf(claim))
	switch {
	case errors.Is(err, site.ErrNotFound):
		return "", nil // whoever collects NodeClaims without a machine sees to it
	case err != nil:
		return "", fmt.Errorf("find the machine of %s: %w", claim.Name, err)
	case claim.Labels[corev1.LabelTopologyZone] != "" && m.Guest.Node != claim.Labels[corev1.LabelTopologyZone]:
		return ZoneDrift, nil
	case m.Outcome != nil && m.Outcome.State == engine.StateRefused:
		return MachineDrift, nil
	}
	return "", nil
}

// hashVersion changes when hashes are made in another way: those of before say nothing then.
const hashVersion = "proxplane-1"

// hashOf is short and changes with what machines of a class are made by, and not with what is changed in place.
func hashOf(class *api.ProxmoxNodeClass) string {
	s := class.Spec
	s.Tags, s.MetadataOptions, s.SecurityGroups, s.ResourcePool, s.PlacementStrategy = nil, nil, nil, "", nil
	return digest(s)
}

// hardwareOf is short and changes with the hardware that machines of a template get.
func hardwareOf(t api.TemplateSpec) string {
	t.Region, t.Description, t.SourceImage, t.StorageIDs, t.Tags, t.ResourcePool = "", "", api.SourceImage{}, nil, nil, ""
	return digest(t)
}

func digest(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain values only
	}
	return model.Digest(string(b))
}

// templateIn is the VMID of the template in a zone; 0: there is none.
func templateIn(zones []string, region, node string) int {
	for _, z := range zones {
		if rest, ok := strings.CutPrefix(z, region+"/"+node+"/"); ok {
			vmid, _ := strconv.Atoi(rest)
			return vmid
		}
	}
	return 0
}

// imageIn is the ID of what a template has in a zone; empty: that isn't known. Of a template that people made, each zone has
// its own.
func imageIn(t source, region, node string) string {
	id := statusOf(t).ImageID
	if _, managed := t.(*api.ProxmoxTemplate); managed {
		return id
	}
	for part := range strings.SplitSeq(id, ",") {
		if of, ok := strings.CutPrefix(part, region+"/"+node+"="); ok {
			return of
		}
	}
	return ""
}

// imageIDs puts together the IDs of what a template has in zones.
func imageIDs(ids map[string]string) string {
	var parts []string
	for zone, id := range ids {
		parts = append(parts, zone+"="+id)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}
