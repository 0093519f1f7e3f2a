package machines_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deployment reads a MachineDeployment.
func (s *story) deployment(name string) *clusterv1alpha1.MachineDeployment {
	s.t.Helper()
	var d clusterv1alpha1.MachineDeployment
	if err := kube.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, &d); err != nil {
		s.t.Fatal(err)
	}
	return &d
}

// kubelets counts the Machines that are nodes by the version of their kubelets.
func (s *story) kubelets() map[string]int {
	all := map[string]int{}
	for _, m := range s.list() {
		if m.Status.NodeRef != nil && m.DeletionTimestamp == nil {
			all[m.Spec.Versions.Kubelet]++
		}
	}
	return all
}

// While a MachineDeployment is paused nothing is rolled. A new machine has to be ready for minReadySeconds before an old one goes.
func TestPauseAndMinReadySeconds(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.joins()
	p := pool{name: "md", replicas: 1}
	s.apply(s.pool(p))
	s.until("it is a node", func() bool { return s.kubelets()["1.30.1"] == 1 })

	p.kubelet, p.more = "1.30.2", "paused: true"
	s.apply(s.pool(p))
	s.until("the change is seen", func() bool { d := s.deployment("md"); return d.Status.ObservedGeneration == d.Generation })
	s.until("replicas are as asked", func() bool { return s.deployment("md").Status.Replicas == 1 })
	if k := s.kubelets(); len(k) != 1 || k["1.30.1"] != 1 {
		t.Errorf("it is rolled though it is paused: %v", k)
	}

	p.more = "paused: false\n  minReadySeconds: 3600"
	s.apply(s.pool(p))
	s.until("the new one is a node", func() bool { return s.kubelets()["1.30.2"] == 1 })
	if s.kubelets()["1.30.1"] != 1 {
		t.Error("the old one is gone before the new one was ready for long enough")
	}
	p.more = "paused: false\n  minReadySeconds: 0"
	s.apply(s.pool(p))
	s.until("the old one goes", func() bool { return len(s.machines()) == 1 && s.kubelets()["1.30.2"] == 1 })
}

// The cluster-autoscaler goes by annotations of the MachineDeployment and of Nodes, marks the machine that is to go and changes the
// scale; kubectl scale and the HPA do the last.
func TestTheAutoscalerScalesByTheSubresource(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.joins()
	s.apply(strings.Replace(s.pool(pool{name: "md", replicas: 1}), "metadata: {name: md}",
		`metadata: {name: md, annotations: {cluster.k8s.io/cluster-api-autoscaler-node-group-min-size: "1", cluster.k8s.io/cluster-api-autoscaler-node-group-max-size: "5"}}`, 1))
	scale := func(n int32) {
		t.Helper()
		var is autoscalingv1.Scale
		if err := kube.SubResource("scale").Get(t.Context(), s.deployment("md"), &is); err != nil {
			t.Fatal(err)
		}
		if is.Spec.Replicas != *s.deployment("md").Spec.Replicas {
			t.Errorf("the scale is %d", is.Spec.Replicas)
		}
		body := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "md"}, Spec: autoscalingv1.ScaleSpec{Replicas: n}}
		if err := kube.SubResource("scale").Update(t.Context(), s.deployment("md"), client.WithSubResourceBody(body)); err != nil {
			t.Fatal(err)
		}
	}
	s.until("it is a node", func() bool { return s.phases()["Running"] == 1 })
	scale(3)
	s.until("all are nodes", func() bool { return s.phases()["Running"] == 3 })
	goes := s.machines()[1]
	if n := s.node(goes); n == nil || n.Annotations["cluster.k8s.io/machine"] != s.namespace+"/"+goes {
		t.Errorf("the Node doesn't say whose it is: %+v", n)
	}
	s.change(&clusterv1alpha1.Machine{}, goes, `{"metadata":{"annotations":{"cluster.k8s.io/delete-machine":"true"}}}`)
	scale(2)
	s.until("the marked one goes", func() bool { return len(s.machines()) == 2 && len(s.guests()) == 2 })
	if slices.Contains(s.machines(), goes) {
		t.Errorf("another one than %s went", goes)
	}
	if a := s.deployment("md").Annotations; a["cluster.k8s.io/cluster-api-autoscaler-node-group-max-size"] != "5" {
		t.Errorf("the annotations are %v", a)
	}
}

// Beside machine-controller, only Machines are ours whose provider is proxmox; MachineDeployments are left to it.
func TestBesideMachineController(t *testing.T) {
	t.Parallel()
	s := begin(t, "--machines-beside")
	s.apply(s.pool(pool{name: "md", replicas: 1}))
	d := s.pool(pool{name: "one", replicas: 1})
	_, spec, _ := strings.Cut(d, "template:")
	one := fmt.Sprintf("apiVersion: cluster.k8s.io/v1alpha1\nkind: Machine\nmetadata: {name: one, labels: {machine.k8s.io/controller: proxplane}}\n%s", outdent(spec[strings.Index(spec, "    spec:"):]))
	s.apply(one)
	s.apply(strings.NewReplacer("cloudProvider: proxmox", "cloudProvider: aws", "name: one,", "name: other,", "machine.k8s.io/controller: proxplane", "pool: none").Replace(one))
	s.until("ours runs", func() bool { return slices.Equal(s.guests(), []string{"one"}) && s.phases()["Joining"] == 1 })
	if names := s.machines(); len(names) != 2 {
		t.Errorf("the Machines are %v: somebody has worked on the MachineDeployment", names)
	}
	if s.warned("other", "cloudProvider") {
		t.Error("it is said of the other's Machine that nobody makes it")
	}
	if !strings.Contains(s.operators[0].Log(), "only Machines whose cloudProvider is proxmox") {
		t.Error("nobody says what is left to machine-controller")
	}
}

// outdent takes four spaces off each line.
func outdent(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll("\n"+text, "\n    ", "\n"), "\n")
}
