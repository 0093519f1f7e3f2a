package operator

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
)

// keepSecrets holds the Secrets that Providers log in with, by a finalizer, until the
// Providers are gone: whoever deletes a whole namespace deletes the login, too, and
// without it the machines could never be removed.
func (n *namespaces) keepSecrets(ctx context.Context, namespace string, objects []object) error {
	if !readable(n.secrets, model.Key{Kind: "Secret", Namespace: namespace}) {
		return nil
	}
	used := map[string]bool{}
	for _, o := range objects {
		if p, ok := o.(*api.Provider); ok && !kube.Released(p) && controllerutil.ContainsFinalizer(p, finalizer) {
			for _, name := range manifest.LoginsOf(p) {
				used[name] = true
			}
		}
	}
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(metadata("SecretList").GroupVersionKind())
	if err := n.cached.List(ctx, all, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list the Secrets of %s: %w", namespace, err)
	}
	for i := range all.Items {
		s := &all.Items[i]
		held := controllerutil.ContainsFinalizer(s, finalizer)
		if held == used[s.Name] || !held && s.DeletionTimestamp != nil {
			continue
		}
		if err := n.holdSecret(ctx, s.DeepCopy(), used[s.Name]); err != nil {
			return err
		}
	}
	return nil
}

// holdSecret adds or removes the finalizer. Who gives the operator no right to do so
// deletes Secrets last by himself.
func (n *namespaces) holdSecret(ctx context.Context, s *metav1.PartialObjectMetadata, hold bool) error {
	before := s.DeepCopy()
	if hold {
		controllerutil.AddFinalizer(s, finalizer)
	} else {
		controllerutil.RemoveFinalizer(s, finalizer)
	}
	err := n.client.Patch(ctx, s, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsForbidden(err):
		n.log.Warn("the Secret of a Provider can't be held: it may be deleted before the machines", "secret", s.Namespace+"/"+s.Name, "error", err)
		return nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil // its watch event follows
	}
	return err
}
