package operator_test

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

// several is an object that stands for some machines.
func several(count, policy string) string {
	return machine("web", "count: "+count, "updatePolicy: {scaleDown: "+policy+"}",
		"networks: [{name: lan, staticIP: {address: 192.168.77.100/24, gateway: 192.168.77.1}}]",
		`userData: {cloudInit: {inline: "#cloud-config\nfinal_message: machine ${vm_index} of ${vm_count}"}}`)
}

func TestOneObjectStandsForSeveralMachines(t *testing.T) {
	t.Parallel()
	s := begin(t)
	bin := s.plugins()
	s.operate("--alone")
	s.provide()
	s.apply(several("3", "Never"))
	s.waitFor("--for=condition=Ready", "vm/web")
	if s.machines() != "web-1 web-2 web-3" && len(strings.Fields(s.machines())) != 3 {
		t.Fatalf("there is %s", s.machines())
	}
	shown := s.kubectl("get", "vm", "web")
	if !strings.Contains(shown, "3/3 running") {
		t.Errorf("it shows %s", shown)
	}
	if s.field("vm/web", ".status.members[1].addresses[0]") != "192.168.77.101" || s.field("vm/web", ".status.members[*].name") != "web-1 web-2 web-3" {
		t.Errorf("its status is %s", s.field("vm/web", ".status"))
	}
	ids, mac := s.field("vm/web", ".status.members[*].vmid"), s.conf("web-3", "net0")
	if said := s.does(bin, "proxplane", "plan", "--detailed-exitcode"); !strings.Contains(said, "Nothing to do") {
		t.Errorf("the plan is %s", said)
	}
	if said := s.does(bin, "proxplane", "console", "web-2"); !strings.Contains(said, "vmname=web-2") {
		t.Errorf("the console is %s", said)
	}
	s.apply(strings.NewReplacer("before", "of-one", "{name: web}", "{name: web-2}").Replace(snapshot))
	s.waitFor("--for=condition=Ready", "vmsnapshot/of-one")
	s.vm("web-2", func(_ *pvesim.State, vm *pvesim.VM) {
		if vm.Snaps["of-one"] == nil {
			t.Errorf("it has the snapshots %v", vm.Snaps)
		}
	})
	s.kubectl("delete", "vmsnapshot", "of-one", "--timeout", patience.String())

	// Fewer: that has to be allowed, and takes the last ones.
	s.kubectl("scale", "vm/web", "--replicas=2")
	s.waits("vm/web", `destroy web-3 \(count is 2\) isn.t done: set spec.updatePolicy.scaleDown: Allow to allow it`)
	if len(strings.Fields(s.machines())) != 3 {
		t.Errorf("there is %s", s.machines())
	}
	s.apply(several("2", "Allow"))
	s.waitFor("--for=condition=Ready", "vm/web")
	s.waitFor("--for=jsonpath={.status.count}=2", "vm/web")
	if strings.Contains(s.machines(), "web-3") || len(strings.Fields(s.machines())) != 2 {
		t.Errorf("there is %s", s.machines())
	}
	// More again: the same machine, by VMID and MAC.
	s.kubectl("scale", "vm/web", "--replicas=3")
	s.waitFor("--for=jsonpath={.status.count}=3", "vm/web")
	s.waitFor("--for=condition=Ready", "vm/web")
	if s.field("vm/web", ".status.members[*].vmid") != ids || s.conf("web-3", "net0") != mac {
		t.Errorf("VMIDs %s and %s are %s and %s now", ids, mac, s.field("vm/web", ".status.members[*].vmid"), s.conf("web-3", "net0"))
	}
	s.until("it is told", func() bool { return strings.Contains(s.kubectl("events", "--for", "vm/web"), "web-2: clone") })
	if out, err := s.try("", "patch", "vm", "web", "--type=json", "-p", `[{"op":"remove","path":"/spec/count"}]`); err == nil || !strings.Contains(out, "make another VirtualMachine") {
		t.Errorf("%v: %s", err, out)
	}
	s.kubectl("delete", "vm", "web", "--timeout", patience.String())
	if s.machines() != "" {
		t.Errorf("there is still %s", s.machines())
	}
}

func TestACountThatChangesWhileMachinesAreMadeLeavesNothing(t *testing.T) {
	t.Parallel()
	s := begin(t, heldClones)
	o := s.operate("--alone")
	s.provide()
	s.apply(several("4", "Allow"))
	s.until("all have a VMID", func() bool { return len(strings.Fields(s.field("vm/web", ".status.members[*].vmid"))) == 4 })
	s.kubectl("scale", "vm/web", "--replicas=1")
	o.Kill()
	s.operate("--alone")
	s.until("one is left", func() bool {
		s.release()
		return s.field("vm/web", ".status.count") == "1"
	})
	s.goesOn("vm/web")
	if s.machines() != "web-1" {
		t.Errorf("there is %s", s.machines())
	}
	s.kubectl("scale", "vm/web", "--replicas=0")
	s.waitFor("--for=jsonpath={.status.state}=0/0 running", "vm/web")
	s.waitFor("--for=condition=Ready", "vm/web")
	s.kubectl("delete", "vm", "web", "--timeout", patience.String())
	if s.machines() != "" {
		t.Errorf("there is still %s", s.machines())
	}
}

// Of two objects that stand for the same machine the older one has it.
func TestTheOlderOfTwoNamesWins(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("pool", "powerState: Off", "count: 2"))
	s.waitFor("--for=condition=Ready", "vm/pool")
	s.apply(machine("pool-1", "powerState: Off"))
	s.waits("vm/pool-1", "is that of a machine of VirtualMachine .*pool, which has a count and was there first; choose another name")
	s.waitFor("--for=condition=Ready", "vm/pool")
	s.kubectl("delete", "vm", "pool-1", "--timeout", patience.String())
	if s.machines() != "pool-1 pool-2" && s.machines() != "pool-2 pool-1" {
		t.Errorf("there is %s", s.machines())
	}
}
