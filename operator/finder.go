package operator

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/model"
)

// finder gives Secrets and ConfigMaps that objects name. Of all others in the
// cluster only their names and versions are watched: what is in them isn't read.
type finder struct {
	cached client.Reader // metadata
	direct client.Reader // content
	// secrets are the namespaces in which Secrets may be read; none: all.
	secrets []string

	mu   sync.Mutex
	seen map[model.Key]content
	used map[string]map[model.Key]bool // by namespace, what was asked for last
}

// content is one that was read.
type content struct {
	version string
	value   any
}

func newFinder(cached, direct client.Reader, secrets []string) *finder {
	return &finder{cached: cached, direct: direct, secrets: secrets, seen: map[model.Key]content{}, used: map[string]map[model.Key]bool{}}
}

// search is what one translation asks for.
type search struct {
	f    *finder
	ctx  context.Context
	used map[model.Key]bool
	err  error // the first thing that couldn't be read, though it may be there
}

func (f *finder) begin(ctx context.Context) *search {
	return &search{f: f, ctx: ctx, used: map[model.Key]bool{}}
}

// end remembers what was asked for, and forgets what nobody asks for any more.
func (s *search) end(namespace string) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	for key := range s.f.used[namespace] {
		if !s.used[key] {
			delete(s.f.seen, key)
		}
	}
	s.f.used[namespace] = s.used
}

// uses reports whether the last translation asked for something.
func (f *finder) uses(key model.Key) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used[key.Namespace][key]
}

// find is for [manifest.Options].
func (s *search) find(key model.Key) any {
	s.used[key] = true
	if !readable(s.f.secrets, key) {
		return fmt.Errorf("the operator may not read Secrets in namespace %s: its administrator allows that with --secret-namespace (rbac.secretNamespaces of the chart)", key.Namespace)
	}
	value, err := s.f.get(s.ctx, key)
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("read %s: %w", key, err)
	}
	return value
}

// readable reports whether something may be read, where Secrets may only be in some
// namespaces.
func readable(secrets []string, key model.Key) bool {
	return key.Kind != "Secret" || len(secrets) == 0 || slices.Contains(secrets, key.Namespace)
}

func (f *finder) get(ctx context.Context, key model.Key) (any, error) {
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	meta := metadata(key.Kind)
	if err := f.cached.Get(ctx, name, meta); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	f.mu.Lock()
	known := f.seen[key]
	f.mu.Unlock()
	if known.version == meta.ResourceVersion {
		return known.value, nil
	}
	value, version, err := kube.Content(ctx, f.direct, key)
	switch {
	case err != nil:
		return known.value, err
	case value == nil:
		return nil, nil
	}
	f.mu.Lock()
	f.seen[key] = content{version, value}
	f.mu.Unlock()
	return value, nil
}

// metadata is what is watched of Secrets and ConfigMaps.
func metadata(kind string) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return m
}

// onlyName leaves nothing of metadata but what is needed: annotations may repeat all
// that is in a Secret.
func onlyName(o any) (any, error) {
	if m, ok := o.(*metav1.PartialObjectMetadata); ok {
		m.Annotations, m.Labels, m.ManagedFields, m.OwnerReferences = nil, nil, nil, nil
	}
	return o, nil
}
