package operator_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// held is how long a clone takes that ends when the story says so.
const held = time.Hour

func heldClones(w *pvesim.World) { w.Timing.Clone = pvesim.Duration(held) }

// release lets those clones end that are under way.
func (s *story) release() { s.pve.Advance(held) }

// goesOn lets clones end, also those that are begun from now on, until a machine is ready.
func (s *story) goesOn(machine string) {
	s.t.Helper()
	s.until(machine+" is ready", func() bool {
		s.release()
		return s.field(machine, `.status.conditions[?(@.type=="Ready")].status`) == "True"
	})
}

func TestAMachineIsMadeChangedAndRemoved(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	if s.field("vm/web", ".status.state") != "running" || s.field("vm/web", ".status.addresses[0]") == "" {
		t.Errorf("its status is %s", s.field("vm/web", ".status"))
	}
	if id := s.field("vm/web", ".status.vmid"); s.conf(id, "name") != "web" {
		t.Errorf("VM %s isn't it", id)
	}
	s.kubectl("patch", "vm", "web", "--type=merge", "-p", `{"spec":{"tags":["blue"],"description":"the web"}}`)
	s.waitFor("--for=condition=Ready", "vm/web")
	if tags := s.conf("web", "tags"); !strings.Contains(tags, "blue") {
		t.Errorf("its tags are %s", tags)
	}
	s.kubectl("delete", "vm", "web", "--timeout", patience.String())
	if m := s.machines(); m != "" {
		t.Errorf("there is still %s", m)
	}
}

func TestAnEditWhileTheCloneRunsIsMade(t *testing.T) {
	t.Parallel()
	s := beginAlone(t, heldClones)
	s.apply(machine("web"))
	s.waitFor("--for=jsonpath={.status.task}", "vm/web")
	s.kubectl("patch", "vmclass", "small", "--type=merge", "-p", `{"spec":{"cpus":4,"memory":"4Gi"}}`)
	s.waitFor("--for=condition=Ready", "vmclass/small") // the operator has seen it
	s.release()
	s.waitFor("--for=condition=Ready", "vm/web")
	if s.conf("web", "cores") != "4" || s.conf("web", "memory") != "4096" || s.machines() != "web" {
		t.Errorf("it has %s cores and %s MiB; there is %s", s.conf("web", "cores"), s.conf("web", "memory"), s.machines())
	}
}

func TestADeletionWhileTheCloneRunsLeavesNothing(t *testing.T) {
	t.Parallel()
	s := beginAlone(t, heldClones)
	s.apply(machine("web"))
	s.waitFor("--for=jsonpath={.status.task}", "vm/web")
	s.kubectl("delete", "vm", "web", "--wait=false")
	s.release()
	s.waitFor("--for=delete", "vm/web")
	if m := s.machines(); m != "" {
		t.Errorf("there is still %s", m)
	}
}

func TestWhatIsChangedByHandInProxmoxIsSetRight(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web"))
	s.apply(machine("db"))
	s.apply(machine("gone"))
	s.waitFor("--for=condition=Ready", "vm/web", "vm/db", "vm/gone")
	s.until("it is destroyed", func() bool { // before it is started again
		if err := s.pve.Touch(t.Context(), "gone", "POST", "/status/stop", nil); err != nil {
			t.Fatal(err)
		}
		return s.pve.Touch(t.Context(), "gone", "DELETE", "", nil) == nil
	})
	s.vm("web", func(_ *pvesim.State, vm *pvesim.VM) { vm.Run = nil }) // it has crashed
	node := "pve3"
	if s.field("vm/db", ".status.node") == node {
		node = "pve2"
	}
	if err := s.pve.Touch(t.Context(), "db", "POST", "/migrate", pve.Params{"target": node, "online": "1"}); err != nil {
		t.Fatal(err)
	}
	s.until("it is started again", func() bool {
		running := false
		s.vm("web", func(_ *pvesim.State, vm *pvesim.VM) { running = vm.Run != nil })
		return running
	})
	s.until("it is made again", func() bool { return slices.Contains(strings.Fields(s.machines()), "gone") })
	s.waitFor("--for=condition=Ready", "vm/web", "vm/db", "vm/gone")
	s.waitFor("--for=jsonpath={.status.node}="+node, "vm/db")
	if names := slices.Sorted(slices.Values(strings.Fields(s.machines()))); !slices.Equal(names, []string{"db", "gone", "web"}) {
		t.Errorf("there is %s", names)
	}
}

func TestTwoObjectsCantHaveOneMachine(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("first", "vmid: 200"))
	s.waitFor("--for=condition=Ready", "vm/first")
	s.apply(machine("second", "vmid: 200"))
	s.waits("vm/second", `VMID 200 is taken by "first"`)
	if reason := s.field("vm/second", `.status.conditions[?(@.type=="Degraded")].reason`); reason != "TakenByOthers" {
		t.Errorf("the reason is %s", reason)
	}
	s.kubectl("delete", "vm", "second", "--timeout", patience.String())
	if s.machines() != "first" || s.conf("first", "name") != "first" {
		t.Errorf("there is %q", s.machines())
	}
	s.waitFor("--for=condition=Ready", "vm/first")
}
