package machines_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/kubelet"
)

// joins lets the machines of the story's Proxmox become nodes, by what their user-data say.
func (s *story) joins() {
	s.t.Helper()
	fleet, err := kubelet.Start(kubeconfig, kubelet.Options{}, s.pve.Sim)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(fleet.Stop)
}

func (s *story) node(name string) *corev1.Node {
	s.t.Helper()
	var n corev1.Node
	if err := client.IgnoreNotFound(kube.Get(s.t.Context(), client.ObjectKey{Name: name}, &n)); err != nil {
		s.t.Fatal(err)
	}
	if n.Name == "" {
		return nil
	}
	return &n
}

func TestANodeIsAsItsMachineSaysAndIsDrained(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.joins()
	s.apply(s.pool(pool{name: "md", replicas: 2, machine: `metadata: {labels: {tier: web}, annotations: {note: here}}
      taints: [{key: gpu, value: "yes", effect: NoSchedule}]`}))
	s.until("both run", func() bool { return s.phases()["Running"] == 2 })
	for _, m := range s.list() {
		n := s.node(m.Name)
		if n == nil || n.Labels["tier"] != "web" || n.Annotations["note"] != "here" || n.Labels["machine-controller/owned-by"] != string(m.UID) ||
			n.Labels["v1.machine-controller.kubermatic.io/operating-system"] != "ubuntu" ||
			n.Annotations["cluster.k8s.io/machine"] != s.namespace+"/"+m.Name || n.Spec.ProviderID != "kubermatic://proxmox/"+string(m.UID) ||
			!slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "gpu" }) {
			t.Errorf("%+v", n)
		}
		if m.Status.NodeRef == nil || m.Status.NodeRef.Name != m.Name || m.Status.Versions == nil || m.Status.Versions.Kubelet != "1.37.1" {
			t.Errorf("%+v", m.Status)
		}
	}
	goes := s.machines()[0]
	s.apply(podWithBudget(goes))
	s.change(&clusterv1alpha1.Machine{}, goes, `{"metadata":{"annotations":{"cluster.k8s.io/delete-machine":"true"}}}`)
	s.scale("md", 1)
	s.until("the drain waits for the Pod, and says so", func() bool { return s.drains(goes) })
	if n := s.node(goes); n == nil || !n.Spec.Unschedulable || !slices.Contains(s.guests(), goes) {
		t.Errorf("node %+v, guests %v", n, s.guests())
	}
	if err := kube.DeleteAllOf(t.Context(), &policyv1.PodDisruptionBudget{}, client.InNamespace(s.namespace)); err != nil {
		t.Fatal(err)
	}
	s.until("guest, Node and Machine are gone", func() bool {
		return !slices.Contains(s.guests(), goes) && s.node(goes) == nil && len(s.machines()) == 1
	})
}

// podWithBudget is a Pod on a node that may not be evicted.
func podWithBudget(node string) string {
	return `apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec: {nodeName: ` + node + `, terminationGracePeriodSeconds: 0, containers: [{name: web, image: web}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}`
}

// drains reports whether a Machine says that its Node has one Pod left.
func (s *story) drains(name string) bool {
	return slices.ContainsFunc(s.list(), func(m machine) bool {
		return m.Name == name && slices.ContainsFunc(m.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == "Drained" && c.Status == corev1.ConditionFalse && strings.Contains(c.Message, "1 Pod is left: Pod "+s.namespace+"/web")
		})
	})
}

func TestMachinesRollToANewTemplateAndBack(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.joins()
	if err := s.pve.Call(t.Context(), "POST", "/nodes/pve1/qemu/9000/clone", pve.Params{"newid": "9001", "name": "another", "full": "1"}); err != nil {
		t.Fatal(err)
	}
	if err := s.pve.Call(t.Context(), "POST", "/nodes/pve1/qemu/9001/template", nil); err != nil {
		t.Fatal(err)
	}
	const many = 10
	begin := func(p pool) {
		t.Helper()
		p.name, p.replicas, p.more = "md", many, "strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2, maxUnavailable: 0}}"
		s.apply(s.pool(p))
	}
	roll := func(p pool) {
		t.Helper()
		begin(p)
		s.until("all are made from it", func() bool {
			ready, right := 0, 0
			for _, m := range s.list() {
				if m.Status.NodeRef != nil && m.DeletionTimestamp == nil && m.Spec.Versions.Kubelet == cmp.Or(p.kubelet, "1.30.1") {
					ready++
				}
			}
			s.pve.Do(func(st *pvesim.State) {
				for _, vm := range st.VMs {
					if vm.Conf["template"] == "" && strings.Contains(vm.Conf["scsi0"], fmt.Sprintf("base-%d-", cmp.Or(p.template, 9000))) {
						right++
					}
				}
			})
			return ready == many && right == many && len(s.guests()) == many && len(s.list()) == many
		})
	}
	roll(pool{})
	first := s.machines()

	// A budget that allows nothing holds up the machine of its Pod, and says so, until it is gone.
	held := first[0]
	s.apply(podWithBudget(held))
	begin(pool{template: 9001})
	s.until("the drain waits for the Pod, and says so", func() bool { return s.drains(held) })
	s.until("others are replaced meanwhile", func() bool {
		return !slices.ContainsFunc(first[1:], func(name string) bool { return slices.Contains(s.guests(), name) })
	})
	if !slices.Contains(s.guests(), held) || s.node(held) == nil {
		t.Errorf("%s is gone in spite of the budget", held)
	}
	if err := kube.DeleteAllOf(t.Context(), &policyv1.PodDisruptionBudget{}, client.InNamespace(s.namespace)); err != nil {
		t.Fatal(err)
	}
	roll(pool{template: 9001})
	second := s.machines()
	roll(pool{})
	roll(pool{kubelet: "1.30.2"})
	for _, name := range append(first, second...) {
		if slices.Contains(s.machines(), name) || s.node(name) != nil {
			t.Errorf("%s is still there", name)
		}
	}
	for _, m := range s.list() {
		if m.Spec.Versions.Kubelet != "1.30.2" {
			t.Errorf("%s has %s", m.Name, m.Spec.Versions.Kubelet)
		}
	}
}
