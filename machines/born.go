package machines

import (
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
)

// born gives a Machine that a MachineSet is about to create what the first look at it would write into it.
func born(m *clusterv1alpha1.Machine, now time.Time) {
	if !ours(m) {
		return
	}
	if m.Name == "" {
		m.Name = generated(m.GenerateName)
	}
	if m.Spec.Name == "" {
		m.Spec.Name = m.Name
	}
	finalize(m)
	t := &turn{reconciler: &reconciler{now: func() time.Time { return now }}, m: m, before: &clusterv1alpha1.Machine{}}
	t.unread()
	t.tell()
	t.record.into(m)
}

// generated is a name as the API server makes them.
func generated(base string) string {
	const most, random = 63, 5
	return base[:min(len(base), most-random)] + utilrand.String(random)
}
