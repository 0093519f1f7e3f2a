package karpenter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/proxplane/proxplane/kube/join"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
)

// keeper has machines that were begun be finished, and stay as they were made once their Node is initialized: what is changed in place is changed, and
// first-boot data, which hold a token, are taken away. A machine that vanishes isn't made again: Karpenter replaces its
// NodeClaim.
type keeper struct {
	client   client.Client
	provider *CloudProvider
}

// Reconcile reconciles the machine of one NodeClaim.
func (k *keeper) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	var claim v1.NodeClaim
	if err := k.client.Get(ctx, r.NamespacedName, &claim); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	if err := k.provider.abandon(ctx, r.Name, claim.UID); err != nil || claim.UID == "" {
		return reconcile.Result{}, err
	}
	if !strings.HasPrefix(claim.Status.ProviderID, idScheme) || claim.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	region, vmid, err := ParseProviderID(claim.Status.ProviderID)
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	was := asMade(&claim)
	if was == nil {
		return reconcile.Result{RequeueAfter: lookLate}, k.protect(ctx, &claim)
	}
	at, err := k.provider.regions.Get(region)
	if err != nil {
		return reconcile.Result{}, err
	}
	class, err := k.provider.class(ctx, claim.Spec.NodeClassRef)
	if err != nil || class == nil {
		return reconcile.Result{}, err
	}
	if !claim.StatusConditions().Get(v1.ConditionTypeInitialized).IsTrue() { // it has its first-boot data until then
		return k.making(ctx, &claim, class, was, at, vmid)
	}
	owner := k.provider.ownerOf(&claim)
	k.provider.backoff.joined(class.Name)
	k.provider.runs(&claim, was, vmid)
	if left := join.Settle - time.Since(claim.StatusConditions().Get(v1.ConditionTypeInitialized).LastTransitionTime.Time); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	switch err := at.Site.DropSeed(ctx, owner); {
	case errors.Is(err, site.ErrNotFound):
		return reconcile.Result{RequeueAfter: lookLate}, nil // whoever collects NodeClaims without a machine sees to it
	case err != nil && !errors.Is(err, site.ErrNotDropped):
		return reconcile.Result{}, fmt.Errorf("take the first-boot data out of VM %d of %s: %w", vmid, claim.Name, err)
	}
	vm, err := kept(*was, owner, vmid, at, inPlaceOf(class))
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := at.Site.Put(owner, vm); err != nil {
		return reconcile.Result{}, fmt.Errorf("keep VM %d of %s: %w", vmid, claim.Name, err)
	}
	return reconcile.Result{RequeueAfter: lookLate}, nil
}

// kept is a machine as it is to stay. It has no first-boot data, and nothing that it could be made from again.
func kept(was made, owner model.Owner, vmid int, r *Region, at inPlace) (model.VM, error) {
	m, cluster := was.machine(owner, r.Cluster, at)
	m.Remembered = vmid
	m.Place = model.Place{} // it stays where it is, also where the HA manager has taken it
	vm, _, err := was.translate(m, cluster)
	vm.Source = model.Source{Image: nothing, Copy: true}
	vm.WaitAddress = false
	return vm, err
}

// nothing is what machines are made from that must not be made again.
var nothing = model.Key{Kind: "Template", Name: "none"}

// protect keeps Karpenter from disrupting a node that another provider has made: proxplane couldn't remove its
// machine.
func (k *keeper) protect(ctx context.Context, claim *v1.NodeClaim) error {
	if claim.Annotations[v1.DoNotDisruptAnnotationKey] == "true" {
		return nil
	}
	before := claim.DeepCopy()
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[v1.DoNotDisruptAnnotationKey] = "true"
	return client.IgnoreNotFound(k.client.Patch(ctx, claim, client.MergeFrom(before)))
}
