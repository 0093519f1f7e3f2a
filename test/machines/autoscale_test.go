package machines_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// metrics serves one external metric, as an adapter of a monitoring system does, to the controllers of the Kubernetes.
func (s *story) metrics(name string) *atomic.Int64 {
	s.t.Helper()
	const root = "/apis/external.metrics.k8s.io/v1beta1"
	var value atomic.Int64
	answer := func(w http.ResponseWriter, o any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(o) // who asks has gone
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := strings.TrimSuffix(r.URL.Path, "/"); path {
		case root:
			answer(w, map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "external.metrics.k8s.io/v1beta1", "resources": []any{}})
		case root + "/namespaces/" + s.namespace + "/" + name:
			item := map[string]any{"metricName": name, "metricLabels": map[string]string{}, "timestamp": "2026-01-01T00:00:00Z", "value": strconv.FormatInt(value.Load(), 10)}
			answer(w, map[string]any{"kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1", "metadata": map[string]any{}, "items": []any{item}})
		default:
			http.NotFound(w, r)
		}
	}))
	s.t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	port, err := strconv.ParseInt(at.Port(), 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	s.apply("{apiVersion: v1, kind: Service, metadata: {name: metrics}, spec: {type: ExternalName, externalName: localhost}}")
	api := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1beta1.external.metrics.k8s.io"},
		"spec": map[string]any{
			"group": "external.metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100), "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": s.namespace, "name": "metrics", "port": port},
		},
	}}
	if err := kube.Create(s.t.Context(), api); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := kube.Delete(context.Background(), api); err != nil {
			s.t.Error(err)
		}
	})
	return &value
}

// selector is what the scale subresource of a MachineDeployment tells autoscalers.
func (s *story) selector(name string) string {
	s.t.Helper()
	d, scale := &clusterv1alpha1.MachineDeployment{}, &autoscalingv1.Scale{}
	d.Namespace, d.Name = s.namespace, name
	if err := kube.SubResource("scale").Get(s.t.Context(), d, scale); err != nil {
		s.t.Fatal(err)
	}
	return scale.Status.Selector
}

// A HorizontalPodAutoscaler changes how many machines a MachineDeployment has, by a metric of the load.
func TestAHorizontalPodAutoscalerScalesAMachineDeployment(t *testing.T) {
	t.Parallel()
	s := begin(t)
	queue := s.metrics("queue")
	queue.Store(10)
	s.apply(s.pool(pool{name: "md", replicas: 1}))
	s.until("the scale has a selector", func() bool { return s.selector("md") == "pool=md" })
	s.apply(`apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: md}
spec:
  scaleTargetRef: {apiVersion: cluster.k8s.io/v1alpha1, kind: MachineDeployment, name: md}
  minReplicas: 1
  maxReplicas: 4
  metrics: [{type: External, external: {metric: {name: queue}, target: {type: AverageValue, averageValue: "10"}}}]
  behavior: {scaleDown: {stabilizationWindowSeconds: 0}}
`)
	queue.Store(30)
	s.until("there are three machines", func() bool { return len(s.guests()) == 3 && s.phases()["Joining"] == 3 })
	queue.Store(10)
	s.until("there is one", func() bool { return len(s.guests()) == 1 && len(s.machines()) == 1 })
	if have := s.selector("md"); have != "pool=md" {
		t.Errorf("the selector is %q", have)
	}
}

// A MachineDeployment whose status others have written, an earlier release among them, gets its selector back.
func TestAMachineDeploymentWithoutASelectorInItsStatusGetsOne(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.apply(s.pool(pool{name: "md", replicas: 0}))
	s.until("the scale has a selector", func() bool { return s.selector("md") == "pool=md" })
	if err := kube.Status().Patch(t.Context(), s.deployment("md"), client.RawPatch("application/merge-patch+json", []byte(`{"status":{"labelSelector":null}}`))); err != nil {
		t.Fatal(err)
	}
	s.until("it is back", func() bool { return s.selector("md") == "pool=md" })
}
