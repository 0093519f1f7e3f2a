package machines_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

func TestAMachineDeploymentMakesMachinesAndTakesThemAway(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.apply(s.pool(pool{name: "md", replicas: 2}))
	s.until("two machines run that are named as the Machines", func() bool { return len(s.guests()) == 2 && slices.Equal(s.machines(), s.guests()) })
	s.until("the VMs run and have addresses", func() bool {
		return s.phases()["Joining"] == 2 && !slices.ContainsFunc(s.list(), func(m machine) bool { return len(m.Status.Addresses) == 0 })
	})
	for _, m := range s.list() {
		if m.Spec.ProviderID == nil || *m.Spec.ProviderID != "kubermatic://proxmox/"+string(m.UID) || m.Spec.Name != m.Name {
			t.Errorf("%s: %+v", m.Name, m.Spec)
		}
	}
	s.scale("md", 1)
	s.until("one is gone", func() bool { return len(s.guests()) == 1 && len(s.machines()) == 1 })
	s.scale("md", 0)
	s.until("all are gone", func() bool { return len(s.guests()) == 0 && len(s.machines()) == 0 })
	s.nothingLeft()
}

// nothingLeft holds that nothing of the machines is left in Kubernetes and Proxmox.
func (s *story) nothingLeft() {
	s.t.Helper()
	var secrets corev1.SecretList
	if err := kube.List(s.t.Context(), &secrets, client.InNamespace(s.namespace), client.HasLabels{"machines.proxplane.io/machine"}); err != nil {
		s.t.Fatal(err)
	}
	for _, one := range secrets.Items {
		s.t.Errorf("the user-data %s are left", one.Name)
	}
	s.until("no volume is left", func() bool { return len(s.volumes()) == 0 })
}

// The example that belongs to the original's page, but for where Proxmox is and who logs in.
func TestThePagesExampleEndsInAReadyNode(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.joins()
	s.apply(s.example())
	s.until("there is a ready node", func() bool { return s.phases()["Running"] == 1 })
	s.pve.Do(func(st *pvesim.State) {
		vm := sim.VM(st, s.machines()[0])
		if vm == nil || vm.Conf["sockets"] != "2" || vm.Conf["memory"] != "2048" || !strings.Contains(vm.Conf["scsi0"], "size=20G") {
			t.Errorf("%+v", vm)
		}
	})
}

// The template that the page has people make in a shell of a Proxmox node, and its example, end in a ready node.
func TestThePagesStepsEndInAReadyNode(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.joins()
	if err := s.pve.Call(t.Context(), "DELETE", "/nodes/pve1/qemu/9000", nil); err != nil { // there is one from the start
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/machines.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```bash\n")
	script, _, found := strings.Cut(rest, "```")
	if !found || !strings.Contains(script, "qm template") {
		t.Fatal("the page has no script")
	}
	s.pve.Shell(t, "pve1", script)
	s.apply(s.example())
	s.until("there is a ready node", func() bool { return s.phases()["Running"] == 1 })
}

// example is the example that belongs to the page, but for where Proxmox is and who logs in.
func (s *story) example() string {
	s.t.Helper()
	text, err := os.ReadFile("../../examples/machines/proxmox-machinedeployment.yaml")
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.NewReplacer(
		"https://pve.example.com:8006", s.pve.Endpoint, "machine-controller@pve!token", sim.TokenID, "00000000-0000-0000-0000-000000000000", sim.TokenSecret,
		"namespace: kube-system", "namespace: "+s.namespace,
	).Replace(string(text))
}

func TestScaleUpAndDown(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.apply(s.pool(pool{name: "md", replicas: 1}))
	for _, n := range []int{1, 20, 3} {
		s.scale("md", n)
		s.until("as many guests as replicas", func() bool { return len(s.guests()) == n && slices.Equal(s.machines(), s.guests()) })
	}
}

func TestMachinesThatAreOlderThanTheOperator(t *testing.T) {
	t.Parallel()
	s := before(t)
	s.apply(s.pool(pool{name: "md", replicas: 1}))
	s.operate()
	s.until("a machine runs", func() bool { return s.phases()["Joining"] == 1 && len(s.guests()) == 1 })
}

func TestTwoMachineDeploymentsWithTwoEndpoints(t *testing.T) {
	t.Parallel()
	s := begin(t)
	other := s.serve()
	s.apply(s.pool(pool{name: "here", replicas: 1}))
	s.apply(s.pool(pool{name: "there", replicas: 2, endpoint: other.Endpoint}))
	s.until("each has its own", func() bool { return len(s.guests()) == 1 && len(guests(other)) == 2 })
	s.scale("there", 0)
	s.until("only those of the other are gone", func() bool { return len(s.guests()) == 1 && len(guests(other)) == 0 })
}

func TestAKilledOperatorMakesNothingTwice(t *testing.T) {
	t.Parallel()
	s := before(t)
	s.apply(s.pool(pool{name: "md", replicas: 5}))
	for _, n := range []int{1, 2, 3, 5} {
		p := s.operate()
		s.until("it has begun", func() bool { return len(s.guests()) >= n })
		p.Kill()
	}
	s.operate()
	s.until("all run", func() bool { return s.phases()["Joining"] == 5 })
	if !slices.Equal(s.guests(), s.machines()) {
		t.Errorf("guests %v, Machines %v", s.guests(), s.machines())
	}
	s.scale("md", 0)
	s.until("all are gone", func() bool { return len(s.guests()) == 0 && len(s.machines()) == 0 })
	s.nothingLeft()
}
