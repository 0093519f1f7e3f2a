package drain_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
