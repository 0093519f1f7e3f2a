package operator

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/status"
)

// objects is the controller of one kind: it writes down how each object is, and
// holds it until what belongs to it has gone. What is done about it is none of its
// business.
type objects struct {
	*deps
	kind kind
}

// Reconcile writes the status of one object.
func (c *objects) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	obj := c.kind.Make()
	if err := c.client.Get(ctx, r.NamespacedName, obj); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	deleting, held := obj.GetDeletionTimestamp() != nil, controllerutil.ContainsFinalizer(obj, finalizer)
	switch {
	case !c.kind.guests && !deleting && !held:
		return reconcile.Result{}, c.patch(ctx, obj, controllerutil.AddFinalizer)
	case c.kind.guests && !deleting && (!held || unrecorded(obj) || uncounted(obj)):
		name, err := c.known(ctx, obj)
		if err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, c.patch(ctx, obj, func(o client.Object, finalizer string) bool { return hold(o, finalizer, name) })
	case deleting && !held:
		return reconcile.Result{}, nil // others keep it
	}
	known, ok := c.ledger.of(keyOf(obj), obj.GetUID(), deleting)
	switch {
	case !ok || known.found.released != kube.Released(obj):
		return reconcile.Result{}, nil // its watch event follows
	case known.found.released:
		return c.release(ctx, obj, known)
	case deleting && known.free(obj):
		return reconcile.Result{}, c.patch(ctx, obj, controllerutil.RemoveFinalizer)
	case deleting && known.stuck(c.kind.Name) && neverMade(obj):
		return reconcile.Result{}, c.releaseUnmade(ctx, obj)
	}
	return reconcile.Result{}, c.write(ctx, obj, known)
}

// releasePause is the interval of checks whether requests for a released object have ended.
const releasePause = 200 * time.Millisecond

// release removes the finalizer of an object whose guests stay in Proxmox, as soon as no
// request can change them any more, which the providers know.
func (c *objects) release(ctx context.Context, obj object, known entry) (reconcile.Result, error) {
	if !known.released || c.providers.touch(known.found.identity) {
		return reconcile.Result{RequeueAfter: releasePause}, nil
	}
	c.events.Eventf(obj, nil, corev1.EventTypeWarning, EventReleased, "Force", "released, as its annotation %s asks: what there is in Proxmox stays", api.ForceDelete)
	return reconcile.Result{}, c.patch(ctx, obj, controllerutil.RemoveFinalizer)
}

// unrecorded reports whether the annotations with an object's identity are missing.
func unrecorded(obj client.Object) bool {
	a := obj.GetAnnotations()
	_, counted := a[api.Members]
	return a[api.Identity] == "" || a[api.ClusterName] == "" || !counted && uncounted(obj)
}

// uncounted reports whether an object has a larger count than its annotation.
func uncounted(obj client.Object) bool {
	vm, ok := obj.(*api.VirtualMachine)
	if !ok || vm.Spec.Count == nil {
		return false
	}
	most, recorded := manifest.Members(vm)
	return !recorded || most < *vm.Spec.Count
}

// hold keeps an object from going before what belongs to it, and writes down what it
// is known by.
func hold(obj client.Object, finalizer, cluster string) bool {
	annotations := maps.Clone(obj.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[api.Identity] = manifest.Identity(obj)
	annotations[api.ClusterName] = cmp.Or(annotations[api.ClusterName], cluster)
	if uncounted(obj) {
		annotations[api.Members] = strconv.Itoa(*obj.(*api.VirtualMachine).Spec.Count)
	}
	obj.SetAnnotations(annotations)
	return controllerutil.AddFinalizer(obj, finalizer)
}

// releaseUnmade removes the finalizer of an object that nothing was created for, according
// to its present status in the API server: caches may be stale.
func (c *objects) releaseUnmade(ctx context.Context, obj object) error {
	if err := c.direct.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil || !neverMade(obj) {
		return client.IgnoreNotFound(err)
	}
	return c.patch(ctx, obj, controllerutil.RemoveFinalizer)
}

// patch changes the list of finalizers. It is written as a whole, so it must be the
// one that was read.
func (c *objects) patch(ctx context.Context, obj object, change func(client.Object, string) bool) error {
	before := obj.DeepCopyObject().(client.Object)
	change(obj, finalizer)
	err := c.client.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // its watch event follows
	}
	return err
}

// write brings the status up to date, if it isn't.
func (c *objects) write(ctx context.Context, obj object, known entry) error {
	if known.superseded(obj) {
		return nil // its namespace is being translated again
	}
	before := obj.DeepCopyObject().(object)
	verdict, ok := c.verdict(obj, known)
	if !ok {
		v, ok := known.verdict(c.kind.Name)
		if !ok || !v.Reason.Facts().Away || !isMachine(obj) {
			return nil
		}
		if unreachable(obj, v); reflect.DeepEqual(before, obj) {
			return nil
		}
		return client.IgnoreNotFound(c.client.Status().Patch(ctx, obj, client.MergeFrom(before)))
	}
	known.fill(obj)
	if p, ok := obj.(*api.Provider); ok {
		p.Status.ClusterName = cmp.Or(p.Status.ClusterName, p.Annotations[api.ClusterName])
		c.providers.of(keyOf(p)).fill(p)
	}
	settle(obj, verdict, known.found.version)
	if w := cmp.Or(c.providers.trouble(known.found.providers), known.doubt()); w != nil && isMachine(obj) {
		unreachable(obj, status.Verdict{Reason: w.Reason, Message: w.Text})
	}
	if reflect.DeepEqual(before, obj) {
		return nil
	}
	if isReady(obj) && !isReady(before) {
		c.metrics.ready(obj)
	}
	patch, exact := client.MergeFrom(before), known.found.group || isMachine(obj) && made(before) != made(obj)
	if exact {
		// The list of machines is written as a whole, so it must be the one that was read; and which Provider has
		// a machine isn't to be overwritten by one that had it before.
		patch = client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	}
	if image, ok := obj.(*api.VMImage); ok {
		c.announceTemplates(before.(*api.VMImage), image)
	}
	if p, ok := obj.(*api.Provider); ok {
		c.announce(before.(*api.Provider), p)
	} else {
		c.complain(before, obj)
	}
	err := c.client.Status().Patch(ctx, obj, patch)
	if exact && apierrors.IsConflict(err) {
		return nil // its watch event follows
	}
	return client.IgnoreNotFound(err)
}
