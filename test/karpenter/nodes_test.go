package karpenter_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// Pods that fit nowhere get nodes, which go again when the load is gone. Nothing is left of the join.
func TestPendingPodsGetNodes(t *testing.T) {
	t.Parallel()
	s := begin(t, "pending")
	s.load(3, "1", true)
	s.awaitReady(3)
	s.awaitMachines(3)
	zones := map[string]bool{}
	for _, zone := range s.machines() {
		zones[zone] = true
	}
	if len(zones) != 3 {
		t.Errorf("the nodes are on %v", zones)
	}
	for _, n := range s.nodes() {
		if !strings.HasPrefix(n.Spec.ProviderID, "proxmox://pending/") || s.fleet.Settings(n.Name).How != "kubeadm" {
			t.Errorf("node %s has the provider ID %s", n.Name, n.Spec.ProviderID)
		}
	}
	s.await(func() string {
		for _, n := range s.nodes() {
			if s.fleet.Serving(n.Name) == nil {
				return n.Name + " has no serving certificate"
			}
		}
		var tokens corev1.SecretList
		if err := kube.List(t.Context(), &tokens, client.InNamespace("kube-system")); err != nil {
			return err.Error()
		}
		for _, secret := range tokens.Items {
			for _, n := range s.nodes() {
				if secret.Type == corev1.SecretTypeBootstrapToken && secret.Annotations["proxplane.io/join-node"] == n.Name {
					return "the token of " + n.Name + " is left"
				}
			}
		}
		if left := s.seeds(); len(left) > 0 {
			return fmt.Sprintf("the seeds %v are left", left)
		}
		return ""
	})
	s.scale(0)
	s.awaitMachines(0)
}

// Many pods at once are packed onto few nodes, and consolidated when most of them are gone.
func TestTwoHundredPodsAtOnce(t *testing.T) {
	t.Parallel()
	s := begin(t, "crowd")
	s.load(200, "250m", false)
	s.awaitReady(200)
	most := len(s.machines())
	if most > 20 {
		t.Errorf("200 pods with a quarter of a CPU each take %d machines", most)
	}
	s.scale(10)
	s.await(func() string {
		if n := len(s.machines()); n > 2 { // one of four CPUs costs more than two of one and two CPUs
			return fmt.Sprintf("%d machines are left for 10 pods", n)
		}
		return ""
	})
	s.awaitReady(10)
}

// A node is drained as far as the budget of its pods allows, and goes when it does.
func TestBudgetsOfPodsAreRespected(t *testing.T) {
	t.Parallel()
	s := begin(t, "budget")
	d := s.load(2, "1", true)
	s.awaitReady(2)
	s.awaitMachines(2)
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.name}, Spec: policyv1.PodDisruptionBudgetSpec{
		Selector: d.Spec.Selector, MaxUnavailable: &intstr.IntOrString{IntVal: 0},
	}}
	if err := kube.Create(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	s.await(func() string {
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(budget), budget); err != nil || budget.Status.ExpectedPods != 2 {
			return "the budget isn't known yet"
		}
		return ""
	})
	before := s.machines()
	claim := s.claims()[0]
	if err := kube.Delete(t.Context(), &claim); err != nil {
		t.Fatal(err)
	}
	// It can't be drained, and that is said.
	s.await(func() string {
		out, err := plane.Kubectl(t.Context(), "get", "events", "-A", "-o", "jsonpath={range .items[*]}{.reason} {.involvedObject.name} {.message}{\"\\n\"}{end}").CombinedOutput()
		for line := range strings.Lines(string(out)) {
			if err == nil && strings.Contains(line, "FailedDraining") && (strings.Contains(line, claim.Name) || strings.Contains(line, claim.Status.NodeName)) {
				return ""
			}
		}
		return "nobody says that the node can't be drained"
	})
	for id := range before {
		if _, there := s.machines()[id]; !there {
			t.Fatalf("VM %d is gone in spite of the budget", id)
		}
	}
	if err := kube.Delete(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	s.await(func() string {
		for _, c := range s.claims() {
			if c.Name == claim.Name {
				return "the node stays"
			}
		}
		return ""
	})
	s.awaitReady(2)
}

// A Proxmox node that has no memory left gets no machine.
func TestANodeWithoutMemoryIsntChosen(t *testing.T) {
	t.Parallel()
	s := begin(t, "small", func(w *pvesim.World) { w.Nodes[1].Memory = 2 << 30 })
	s.load(6, "1", true)
	s.awaitReady(6)
	for id, node := range s.machines() {
		if node == "pve2" {
			t.Errorf("VM %d is on the node without memory", id)
		}
	}
}

// While a region can't be reached its pods wait; when it is back they get their nodes.
func TestARegionThatIsDownComesBack(t *testing.T) {
	t.Parallel()
	s := begin(t, "away")
	s.load(1, "1", true)
	s.awaitReady(1)
	if _, err := s.pve.AddFault(pvesim.Fault{Path: "/**", Status: 503}); err != nil {
		t.Fatal(err)
	}
	s.scale(3)
	from := s.pve.RequestCount()
	s.pve.AwaitRequests(t.Context(), from+5)
	if n := len(s.machines()); n != 1 {
		t.Errorf("%d machines were made while nothing could be", n)
	}
	s.pve.RemoveFault(0)
	s.awaitReady(3)
	s.awaitMachines(3)
}

// A machine of somebody else takes the VMID that one of ours was to have: it stays as it is, and ours gets another one.
func TestAForeignMachineTakesTheVMID(t *testing.T) {
	t.Parallel()
	s := begin(t, "foreign")
	busy, err := s.pve.AddFault(pvesim.Fault{Task: "qmclone", Error: "can't lock file '/var/lock/qemu-server/lock-9000.conf' - got timeout"})
	if err != nil {
		t.Fatal(err)
	}
	from := s.pve.RequestCount()
	s.load(2, "1", true)
	var id int
	s.await(func() string {
		for _, r := range s.pve.Requests(from) {
			if r.Method == "POST" && strings.HasSuffix(r.URL, "/clone") {
				if id, err = strconv.Atoi(r.Params["newid"]); err == nil {
					return ""
				}
			}
		}
		return "nothing is cloned"
	})
	if err = s.pve.Call(t.Context(), "POST", "/nodes/pve1/qemu", pve.Params{"vmid": id, "name": "foreign", "memory": 512}); err != nil {
		t.Fatal(err)
	}
	digest := func() (text string) {
		s.pve.Do(func(st *pvesim.State) {
			if vm := st.VMs[id]; vm != nil {
				text = vm.Digest()
			}
		})
		return text
	}
	before := digest()
	s.pve.RemoveFault(busy)
	s.awaitReady(2)
	if n := len(s.machines()); n != 3 {
		t.Errorf("there are %d machines", n)
	}
	s.scale(0)
	s.await(func() string {
		if claims, vms := len(s.claims()), len(s.machines()); claims > 0 || vms > 1 {
			return fmt.Sprintf("%d NodeClaims and %d machines are left", claims, vms)
		}
		return ""
	})
	if digest() != before {
		t.Error("the foreign machine isn't as it was")
	}
}

// A node whose Proxmox node is lost isn't ready, and is replaced after a while; its pods run elsewhere meanwhile. Its machine goes when the Proxmox node is back.
func TestANodeOfALostProxmoxNodeIsReplaced(t *testing.T) {
	t.Parallel()
	s := begin(t, "repaired")
	s.load(2, "1", true)
	s.awaitReady(2)
	s.awaitMachines(2)
	claims := s.claims()
	claim := claims[0]
	if claim.Labels[corev1.LabelTopologyZone] == "pve1" { // that is where Proxmox is reached
		claim = claims[1]
	}
	zone := claim.Labels[corev1.LabelTopologyZone]
	s.pve.Do(func(st *pvesim.State) { st.Nodes[zone].State = pvesim.Offline })
	// Ten minutes are long: the time at which it was no longer ready is put back.
	s.await(func() string {
		var node corev1.Node
		if err := kube.Get(t.Context(), client.ObjectKey{Name: claim.Status.NodeName}, &node); err != nil {
			return err.Error()
		}
		for i, c := range node.Status.Conditions {
			if c.Type != corev1.NodeReady || c.Status == corev1.ConditionTrue {
				continue
			}
			before := node.DeepCopy()
			node.Status.Conditions[i].LastTransitionTime = metav1.NewTime(time.Now().Add(-11 * time.Minute))
			if err := kube.Status().Patch(t.Context(), &node, client.MergeFrom(before)); err != nil {
				return err.Error()
			}
			return ""
		}
		return node.Name + " is still ready"
	})
	s.await(func() string {
		var is karpv1.NodeClaim
		if err := kube.Get(t.Context(), client.ObjectKey{Name: claim.Name}, &is); client.IgnoreNotFound(err) != nil || err == nil && is.DeletionTimestamp == nil {
			return fmt.Sprintf("%s isn't replaced: %v", claim.Name, err)
		}
		return ""
	})
	s.awaitReady(2)
	for id, node := range s.machines() {
		if other := strings.HasSuffix(claim.Status.ProviderID, "/"+strconv.Itoa(id)); !other && node == zone {
			t.Errorf("VM %d is on the Proxmox node that is lost", id)
		}
	}
	s.pve.Do(func(st *pvesim.State) { st.Nodes[zone].State = pvesim.Online })
	s.awaitMachines(2)
	s.awaitReady(2)
}
