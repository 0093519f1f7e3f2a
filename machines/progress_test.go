package machines

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A rollout that stands still for longer than progressDeadlineSeconds says so, with what is wrong, and goes on to say how it is.
func TestARolloutThatStandsStillSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Only as fields: the fake client keeps no others of an object whose type it knows.
		unknown := runtime.NewScheme()
		metav1.AddToGroupVersion(unknown, clusterv1alpha1.SchemeGroupVersion)
		unknown.AddKnownTypes(clusterv1alpha1.SchemeGroupVersion, &clusterv1alpha1.Machine{}, &clusterv1alpha1.MachineList{})
		unknown.AddKnownTypeWithName(deploymentKind, &unstructured.Unstructured{})
		md := aDeployment()
		md.SetNamespace("kube-system")
		md.SetName("md")
		md.SetUID(types.UID("1"))
		md.SetGeneration(2)
		md.Object["spec"] = map[string]any{"replicas": int64(2), "progressDeadlineSeconds": int64(60), "selector": map[string]any{"matchLabels": map[string]any{"pool": "md"}},
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"pool": "md"}}}}
		md.Object["status"] = map[string]any{"observedGeneration": int64(2), "replicas": int64(1)}
		broken := &clusterv1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "md-1", Labels: map[string]string{"pool": "md"}}}
		broken.Status.Conditions = []corev1.NodeCondition{{Type: conditionInstance, Message: "there is no template 9000"}}
		c := fake.NewClientBuilder().WithScheme(unknown).WithObjects(md, broken).WithStatusSubresource(md).Build()
		said := events.NewFakeRecorder(10)
		p := &progress{client: c, cache: c, events: said, now: time.Now, last: map[types.UID]seenProgress{}}
		look := func() (metav1.Condition, time.Duration) {
			t.Helper()
			q := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(md)}
			r, err := p.Reconcile(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Get(t.Context(), q.NamespacedName, md); err != nil {
				t.Fatal(err)
			}
			return progressing(md), r.RequeueAfter
		}
		status := func(fields map[string]any) {
			t.Helper()
			for k, v := range fields {
				if err := unstructured.SetNestedField(md.Object, v, "status", k); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Status().Update(t.Context(), md); err != nil {
				t.Fatal(err)
			}
		}
		is, again := look()
		if is.Status != metav1.ConditionTrue || is.Reason != reasonProgressing || again != time.Minute {
			t.Errorf("at first: %+v, looked at again after %v", is, again)
		}
		time.Sleep(40 * time.Second)
		status(map[string]any{"replicas": int64(2)})
		if _, again = look(); again != time.Minute {
			t.Errorf("progress doesn't count: looked at again after %v", again)
		}
		time.Sleep(again)
		if is, _ = look(); is.Status != metav1.ConditionFalse || is.Reason != reasonExceeded || !strings.Contains(is.Message, "0 of 2 machines are updated, 0 available; Machine md-1: there is no template 9000") {
			t.Errorf("after the deadline: %+v", is)
		}
		look()
		if len(said.Events) != 1 {
			t.Errorf("there are %d events", len(said.Events))
		}
		if s, _, _ := unstructured.NestedString(md.Object, "status", labelSelector); s != "pool=md" {
			t.Errorf("the selector is %q", s)
		}
		status(map[string]any{"updatedReplicas": int64(2), "availableReplicas": int64(2)})
		if is, again = look(); is.Status != metav1.ConditionTrue || is.Reason != reasonAvailable || again != 0 {
			t.Errorf("at the end: %+v, %v", is, again)
		}
		spec := func(selector map[string]any) {
			t.Helper()
			if err := unstructured.SetNestedMap(md.Object, selector, "spec", "selector"); err != nil {
				t.Fatal(err)
			}
			if err := c.Update(t.Context(), md); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			selector map[string]any
			want     string
		}{
			{map[string]any{}, "spec.selector is empty"},
			{map[string]any{"matchLabels": map[string]any{"pool": "other"}}, "spec.selector (pool=other) doesn't match spec.template.metadata.labels (pool=md)"},
			{map[string]any{"matchExpressions": []any{map[string]any{"key": "pool", "operator": "Near"}}}, `"Near" is not a valid label selector operator`},
		} {
			spec(c.selector)
			if is, _ = look(); is.Status != metav1.ConditionFalse || is.Reason != reasonInvalid || !strings.Contains(is.Message, c.want) {
				t.Errorf("with the selector %v: %+v", c.selector, is)
			}
		}
		if len(said.Events) != 2 {
			t.Errorf("there are %d events", len(said.Events))
		}
		spec(map[string]any{"matchLabels": map[string]any{"pool": "md"}})
		if is, _ = look(); is.Reason != reasonAvailable {
			t.Errorf("with the right one: %+v", is)
		}
	})
}
