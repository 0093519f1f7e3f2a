package machines

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What the Machine says is added to its Node. A label that somebody has changed there stays, as with the original: two controllers would change it for ever.
func TestLabelsThatSomebodyHasChangedStay(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		m := machineOf("md-1")
		m.Spec.Labels, m.Spec.Annotations = map[string]string{"tier": "web", "rack": "r1"}, map[string]string{"note": "here"}
		l.add(m)
		l.joinsAsNode(l.until("md-1", "it runs", inPhase(phaseJoining)))
		l.until("md-1", "it is a node", inPhase(phaseRunning))
		node := func() *corev1.Node {
			var n corev1.Node
			if err := l.direct.Get(t.Context(), client.ObjectKey{Name: "md-1"}, &n); err != nil {
				t.Fatal(err)
			}
			return &n
		}
		n := node()
		if n.Labels["tier"] != "web" || n.Labels["rack"] != "r1" || n.Annotations["note"] != "here" || n.Labels["v1.machine-controller.kubermatic.io/operating-system"] != "ubuntu" {
			t.Errorf("%v %v", n.Labels, n.Annotations)
		}
		n.Labels["tier"], n.Annotations["note"] = "db", "there"
		delete(n.Labels, "rack")
		n.Labels[ownerLabel], n.Annotations[machineAnnotation] = string(m.UID), "nowhere/else"
		if err := l.direct.Update(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		l.look("md-1")
		n = node()
		if n.Labels["tier"] != "db" || n.Labels["rack"] != "r1" || n.Annotations["note"] != "there" || n.Annotations[machineAnnotation] != "kube-system/md-1" || n.Labels[ownerLabel] != string(m.UID) {
			t.Errorf("%v %v", n.Labels, n.Annotations)
		}
	})
}
