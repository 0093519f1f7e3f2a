package operator

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/status"
)

// census counts objects by what they say of themselves, when somebody asks. Only the
// replica that works counts, so that each object is counted once.
type census struct {
	reader  client.Reader
	elected <-chan struct{}
	now     func() time.Time
}

var (
	objectsDesc = describe("proxplane_objects", "Objects in Kubernetes, by namespace, kind and state (ready, not ready, degraded, deleting). One that is degraded isn't ready either.", "object_namespace", "kind", "state")
	longestDesc = describe("proxplane_objects_longest_seconds", "How long the object is in a state that is in it for the longest time.", "object_namespace", "kind", "state")
)

// Describe implements prometheus.Collector.
func (c *census) Describe(ch chan<- *prometheus.Desc) {
	ch <- objectsDesc
	ch <- longestDesc
}

// group is what is counted together.
type group struct{ namespace, kind, state string }

// Collect implements prometheus.Collector.
func (c *census) Collect(ch chan<- prometheus.Metric) {
	select {
	case <-c.elected:
	default:
		return
	}
	objects, err := kube.Objects(context.Background(), c.reader, metav1.NamespaceAll, client.UnsafeDisableDeepCopy)
	if err != nil {
		return // the caches aren't filled yet
	}
	count, longest := map[group]int{}, map[group]time.Duration{}
	for _, o := range objects {
		for state, since := range statesOf(o) {
			g := group{o.GetNamespace(), manifest.KindOf(o), state}
			count[g]++
			longest[g] = max(longest[g], c.now().Sub(since))
		}
	}
	for g, n := range count {
		ch <- prometheus.MustNewConstMetric(objectsDesc, prometheus.GaugeValue, float64(n), g.namespace, g.kind, g.state)
		ch <- prometheus.MustNewConstMetric(longestDesc, prometheus.GaugeValue, longest[g].Seconds(), g.namespace, g.kind, g.state)
	}
}

// statesOf are the states that an object is in, with their beginning.
func statesOf(o object) map[string]time.Time {
	states := map[string]time.Time{}
	if at := o.GetDeletionTimestamp(); at != nil {
		states["deleting"] = at.Time
		return states
	}
	conditions := o.Common().Conditions
	switch ready := meta.FindStatusCondition(conditions, status.ConditionReady); {
	case ready == nil:
		states["not ready"] = o.GetCreationTimestamp().Time
	case ready.Status == metav1.ConditionTrue:
		states["ready"] = ready.LastTransitionTime.Time
	default:
		states["not ready"] = ready.LastTransitionTime.Time
	}
	if bad := meta.FindStatusCondition(conditions, status.ConditionDegraded); bad != nil && bad.Status == metav1.ConditionTrue {
		states["degraded"] = bad.LastTransitionTime.Time
	}
	return states
}
