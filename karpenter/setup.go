package karpenter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpapis "sigs.k8s.io/karpenter/pkg/apis"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	infra "github.com/proxplane/proxplane/api/infra/v1beta1"
	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/kube/join"
	"github.com/proxplane/proxplane/model"
)

// uncached are kinds of objects that are read when they are needed: there are many of them, and few matter.
var uncached = []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}

// workers is how many objects of a kind are looked after at once, and keepers how many machines.
const (
	workers = 4
	keepers = 16
)

// setUp connects our controllers with the manager.
func setUp(mgr manager.Manager, p *CloudProvider, cfg Config) error {
	events, err := kube.NewEvents(mgr, "proxplane-karpenter")
	if err != nil {
		return err
	}
	p.events = teller{events}
	claims, images := &kube.Feed{}, &kube.Feed{}
	p.regions.changed = func(key model.Key) {
		switch key.Kind {
		case kindNodeClaim:
			claims.Wake(types.NamespacedName{Name: key.Name})
		case api.KindTemplate:
			images.Wake(types.NamespacedName{Name: key.Name})
		}
	}
	byRegion := func(list client.ObjectList) handler.EventHandler { return all(mgr.GetClient(), list) }
	generation := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	return errors.Join(
		ctrl.NewControllerManagedBy(mgr).Named("karpenter-region").For(&infra.Provider{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).WithOptions(kube.Options(1)).
			Complete(keeperOf(mgr, p, cfg)),
		mgr.Add(&regionReader{keeper: keeperOf(mgr, p, cfg), log: cfg.Logger}),
		ctrl.NewControllerManagedBy(mgr).Named("karpenter-template").For(&api.ProxmoxTemplate{}, generation).WithOptions(kube.Options(workers)).
			WatchesRawSource(images).
			Watches(&infra.Provider{}, byRegion(&api.ProxmoxTemplateList{}), generation).
			Complete(&templates{client: mgr.GetClient(), regions: p.regions, set: p.set, events: p.events}),
		ctrl.NewControllerManagedBy(mgr).Named("karpenter-unmanagedtemplate").For(&api.ProxmoxUnmanagedTemplate{}, generation).WithOptions(kube.Options(workers)).
			Watches(&infra.Provider{}, byRegion(&api.ProxmoxUnmanagedTemplateList{}), generation).
			Complete(&unmanaged{client: mgr.GetClient(), regions: p.regions, events: p.events}),
		ctrl.NewControllerManagedBy(mgr).Named("karpenter-nodeclass").For(&api.ProxmoxNodeClass{}, generation).WithOptions(kube.Options(workers)).
			Watches(&api.ProxmoxTemplate{}, byRegion(&api.ProxmoxNodeClassList{})).
			Watches(&api.ProxmoxUnmanagedTemplate{}, byRegion(&api.ProxmoxNodeClassList{})).
			Complete(&classes{client: mgr.GetClient(), provider: p}),
		ctrl.NewControllerManagedBy(mgr).Named("karpenter-machine").For(&v1.NodeClaim{}).WithOptions(kube.Options(keepers)).
			WatchesRawSource(claims).
			Watches(&api.ProxmoxNodeClass{}, byRegion(&v1.NodeClaimList{}), generation).
			Complete(&keeper{client: mgr.GetClient(), provider: p}),
		mgr.Add(&collector{direct: mgr.GetAPIReader(), provider: p, log: cfg.Logger, every: collectEvery, missing: map[model.Owner]string{}}),
		join.Setup(mgr, p.boot.tokens, &machines{client: mgr.GetClient(), provider: p}),
	)
}

// all enqueues all objects of a kind.
func all(c client.Reader, list client.ObjectList) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) (requests []reconcile.Request) {
		some := list.DeepCopyObject().(client.ObjectList)
		if err := c.List(ctx, some); err != nil {
			return nil
		}
		_ = eachName(some, func(name string) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
		})
		return requests
	})
}

// regionKeeper reads the regions again when a Provider changes.
type regionKeeper struct {
	client, direct client.Reader
	regions        *Regions
	set            string
	secret         clustersSecret
}

func keeperOf(mgr manager.Manager, p *CloudProvider, cfg Config) *regionKeeper {
	secret := clustersSecret{NamespacedName: cfg.Regions, key: cfg.RegionsKey, vmids: cmp.Or(cfg.VMIDs, model.DefaultRange)}
	return &regionKeeper{client: mgr.GetClient(), direct: mgr.GetAPIReader(), regions: p.regions, set: p.set, secret: secret}
}

// readRegionsEvery is how often they are read anyway: Secrets change, too.
const readRegionsEvery = time.Minute

// Reconcile reads all of them.
func (k *regionKeeper) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{RequeueAfter: readRegionsEvery}, k.read(ctx)
}

func (k *regionKeeper) read(ctx context.Context) error {
	list, err := declaredBy(ctx, k.client, k.direct, k.set)
	if err != nil {
		return err
	}
	if k.secret.Name == "" {
		k.regions.update(list)
		return nil
	}
	further, err := declaredIn(ctx, k.direct, k.secret)
	if err != nil { // those that it had go on, and those of Providers don't wait for it
		further = k.regions.fromSecret(nil, err)
	} else {
		k.regions.fromSecret(further, nil)
	}
	k.regions.update(append(list, further...))
	return err
}

// regionReader reads the regions at the start, and again and again: there may be no Provider at all, and Secrets change.
type regionReader struct {
	keeper *regionKeeper
	log    *slog.Logger
}

// Start runs until ctx ends.
func (r *regionReader) Start(ctx context.Context) error {
	for {
		pause := readRegionsEvery
		if err := r.keeper.read(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn("read the regions", "error", err)
			pause = time.Second
		} else if r.keeper.regions.troubled() {
			pause = lookSoon // a Secret is created after the Provider that names it, or corrected
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// NeedLeaderElection reports true to the manager: followers change nothing.
func (*regionReader) NeedLeaderElection() bool { return true }

// index lets objects be found as Karpenter looks for them.
func index(ctx context.Context, mgr manager.Manager) error {
	one := func(o client.Object, field string, value func(client.Object) string) error {
		return mgr.GetFieldIndexer().IndexField(ctx, o, field, func(o client.Object) []string { return []string{value(o)} })
	}
	ref := func(o client.Object) v1.NodeClassReference {
		var r *v1.NodeClassReference
		switch o := o.(type) {
		case *v1.NodeClaim:
			r = o.Spec.NodeClassRef
		case *v1.NodePool:
			r = o.Spec.Template.Spec.NodeClassRef
		}
		if r == nil {
			return v1.NodeClassReference{}
		}
		return *r
	}
	errs := []error{
		one(&corev1.Pod{}, "spec.nodeName", func(o client.Object) string { return o.(*corev1.Pod).Spec.NodeName }),
		one(&corev1.Node{}, "spec.providerID", func(o client.Object) string { return o.(*corev1.Node).Spec.ProviderID }),
		one(&storagev1.VolumeAttachment{}, "spec.nodeName", func(o client.Object) string { return o.(*storagev1.VolumeAttachment).Spec.NodeName }),
		one(&v1.NodeClaim{}, "status.providerID", func(o client.Object) string { return o.(*v1.NodeClaim).Status.ProviderID }),
	}
	for _, k := range []struct {
		object client.Object
		prefix string
	}{{&v1.NodeClaim{}, "spec.nodeClassRef."}, {&v1.NodePool{}, "spec.template.spec.nodeClassRef."}} {
		errs = append(errs,
			one(k.object, k.prefix+"group", func(o client.Object) string { return ref(o).Group }),
			one(k.object, k.prefix+"kind", func(o client.Object) string { return ref(o).Kind }),
			one(k.object, k.prefix+"name", func(o client.Object) string { return ref(o).Name }),
		)
	}
	return errors.Join(errs...)
}

// define installs the definitions of Karpenter's own kinds where there are none. Those that are there stay as they are.
func define(ctx context.Context, kubernetes *rest.Config) error {
	s := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(s); err != nil {
		return err
	}
	c, err := client.New(kubernetes, client.Options{Scheme: s})
	if err != nil {
		return fmt.Errorf("connect to Kubernetes: %w", err)
	}
	for _, crd := range karpapis.CRDs {
		err := c.Get(ctx, types.NamespacedName{Name: crd.Name}, &apiextensionsv1.CustomResourceDefinition{})
		if apierrors.IsNotFound(err) {
			err = c.Create(ctx, crd.DeepCopy())
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("install Karpenter's own kind %s: %w", crd.Spec.Names.Kind, err)
		}
	}
	return await(ctx, c)
}

// await waits until Kubernetes serves the kinds that Karpenter needs.
func await(ctx context.Context, c client.Client) error {
	for {
		ready := 0
		for _, crd := range karpapis.CRDs {
			var have apiextensionsv1.CustomResourceDefinition
			if err := c.Get(ctx, types.NamespacedName{Name: crd.Name}, &have); err != nil {
				return err
			}
			for _, cond := range have.Status.Conditions {
				if cond.Type == apiextensionsv1.Established && cond.Status == apiextensionsv1.ConditionTrue {
					ready++
				}
			}
		}
		if ready == len(karpapis.CRDs) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
