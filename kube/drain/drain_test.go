package drain_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/proxplane/proxplane/kube/drain"
)

func TestWhatIsNotDrainedSaysWhy(t *testing.T) {
	ready := func() *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	other := []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, {ObjectMeta: metav1.ObjectMeta{Name: "n2"}}}
	for _, c := range []struct {
		reason  string
		node    func() *corev1.Node
		since   time.Duration
		others  []corev1.Node
		joining bool
		want    string
	}{
		{"all is well", ready, time.Minute, other, false, ""},
		{"no Node", func() *corev1.Node { return nil }, time.Minute, other, false, "no Node"},
		{"too long ago", ready, 3 * time.Hour, other, false, "more than 2h0m0s ago"},
		{"not ready", func() *corev1.Node { n := ready(); n.Status.Conditions[0].Status = corev1.ConditionUnknown; return n }, time.Minute, other, false, "isn't ready"},
		{"no condition", func() *corev1.Node { n := ready(); n.Status.Conditions = nil; return n }, time.Minute, other, false, "isn't ready"},
		{"asked not to", func() *corev1.Node {
			n := ready()
			n.Annotations = map[string]string{drain.SkipAnnotation: ""}
			return n
		}, time.Minute, other, false, "annotation"},
		{"the only Node", ready, time.Minute, other[:1], false, "no other Node"},
		{"the only Node, and another one joins", ready, time.Minute, other[:1], true, ""},
		{"the other one is cordoned", ready, time.Minute, []corev1.Node{other[0], {ObjectMeta: metav1.ObjectMeta{Name: "n2"}, Spec: corev1.NodeSpec{Unschedulable: true}}}, false, "no other Node"},
	} {
		got := drain.Skip(c.node(), now.Add(-c.since), now, 2*time.Hour, c.others, c.joining)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: have %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestADrainSaysWhatIsInTheWay(t *testing.T) {
	s := drain.State{Left: 5, Blocked: []string{"a", "b", "c", "d"}}
	if got := s.String(); got != "5 Pods are left: a; b; c; and 1 more" {
		t.Error(got)
	}
	if got := (drain.State{Left: 1}).String(); got != "1 Pod is left" {
		t.Error(got)
	}
}

// What the API server refuses is in the way, whoever refuses it: a webhook of the cluster, for instance. Other Pods are evicted all the same.
func TestAnEvictionThatAWebhookRefusesIsSaid(t *testing.T) {
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{NodeName: "n1"}}
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	evicted := []string{}
	c := fake.NewClientBuilder().WithObjects(node, pod("db"), pod("web")).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).
		WithInterceptorFuncs(interceptor.Funcs{SubResourceCreate: func(_ context.Context, _ client.Client, _ string, o, _ client.Object, _ ...client.SubResourceCreateOption) error {
			if o.GetName() == "db" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "db", errors.New("admission webhook \"keep.example.com\" denied the request: it rebuilds"))
			}
			evicted = append(evicted, o.GetName())
			return nil
		}}).Build()
	d := &drain.Drainer{Client: c, Pods: c}
	s, err := d.Run(t.Context(), node)
	if err != nil || s.Left != 2 || !slices.Equal(evicted, []string{"web"}) || !strings.Contains(s.String(), "Pod default/db: ") || !strings.Contains(s.String(), "it rebuilds") {
		t.Errorf("%v: %s, evicted %v", err, s, evicted)
	}
}
