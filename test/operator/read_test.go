package operator_test

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/jsonpath"
)

// reader reads objects as "kubectl get" does, without a process for each: stories ask again and again until something is so.
type reader struct {
	objects dynamic.Interface
	kinds   meta.RESTMapper // knows short names, too
}

var reading = sync.OnceValues(func() (*reader, error) {
	config, err := clientcmd.BuildConfigFromFlags("", plane.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	known := memory.NewMemCacheClient(found)
	return &reader{objects, restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(known), known, nil)}, nil
})

// field is what a path means in an object, vm/web for example, as kubectl prints it.
func (r *reader) field(ctx context.Context, namespace, object, path string) (string, error) {
	resource, name, _ := strings.Cut(object, "/")
	kind, err := r.kinds.KindFor(schema.GroupVersionResource{Resource: resource})
	if err != nil {
		return "", err
	}
	mapping, err := r.kinds.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return "", err
	}
	var from dynamic.ResourceInterface = r.objects.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		from = r.objects.Resource(mapping.Resource).Namespace(namespace)
	}
	got, err := from.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	meant := jsonpath.New("field").AllowMissingKeys(true)
	if err := meant.Parse("{" + path + "}"); err != nil {
		return "", fmt.Errorf("read the path %s: %w", path, err)
	}
	var out strings.Builder
	err = meant.Execute(&out, got.UnstructuredContent())
	return out.String(), err
}
