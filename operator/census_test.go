package operator

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
)

func TestObjectsAreCountedByTheirState(t *testing.T) {
	at := func(minute int) metav1.Time {
		return metav1.NewTime(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC))
	}
	condition := func(kind string, is bool, minute int) metav1.Condition {
		return metav1.Condition{Type: kind, Status: map[bool]metav1.ConditionStatus{true: metav1.ConditionTrue, false: metav1.ConditionFalse}[is], LastTransitionTime: at(minute)}
	}
	for _, c := range []struct {
		reason     string
		conditions []metav1.Condition
		deleted    bool
		want       string
	}{
		{reason: "nobody has looked at it yet", want: "not ready since 1"},
		{reason: "all is well", conditions: []metav1.Condition{condition("Ready", true, 5), condition("Degraded", false, 3)}, want: "ready since 5"},
		{reason: "it is being made", conditions: []metav1.Condition{condition("Ready", false, 2), condition("Degraded", false, 3)}, want: "not ready since 2"},
		{reason: "somebody has to do something", conditions: []metav1.Condition{condition("Ready", false, 2), condition("Degraded", true, 4)}, want: "degraded since 4, not ready since 2"},
		{reason: "what it says while it goes is about its end", conditions: []metav1.Condition{condition("Ready", false, 2), condition("Degraded", true, 4)}, deleted: true, want: "deleting since 7"},
	} {
		vm := &api.VirtualMachine{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(1)}}
		vm.Status.Conditions = c.conditions
		if c.deleted {
			gone := at(7)
			vm.DeletionTimestamp = &gone
		}
		states := statesOf(vm)
		var told []string
		for _, s := range slices.Sorted(maps.Keys(states)) {
			told = append(told, s+" since "+states[s].Format("4"))
		}
		if got := strings.Join(told, ", "); got != c.want {
			t.Errorf("%s: %s, want %s", c.reason, got, c.want)
		}
	}
}
