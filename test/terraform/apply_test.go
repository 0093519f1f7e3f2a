package terraform_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// unset takes variables out of the environment.
func (b *bench) unset(prefix string) {
	b.env = slices.DeleteFunc(b.env, func(v string) bool { return strings.HasPrefix(v, prefix) })
}

func TestTheVariablesOfOtherProvidersAreTaken(t *testing.T) {
	b := begin(t)
	b.unset("PVE_")
	b.env = append(b.env, "PROXMOX_VE_ENDPOINT="+b.server.Endpoint, "PROXMOX_VE_API_TOKEN="+sim.TokenID+"="+sim.TokenSecret, "PROXMOX_VE_INSECURE=true")
	b.config(fleet(1))
	b.apply()
	b.settled()
}

func TestOneEndpointThatAnswersIsEnough(t *testing.T) {
	b := begin(t)
	b.unset("PVE_ENDPOINT")
	b.write("main.tf", strings.ReplaceAll(head, `set = "shop"`, fmt.Sprintf("set = \"shop\"\n  endpoints = [%q, %q]", "https://127.0.0.1:1", b.server.Endpoint))+fleet(1))
	b.apply()
	b.settled()
}

func TestWorkspacesOnOneProxmoxDontMeet(t *testing.T) {
	b := begin(t)
	b.write("main.tf", strings.ReplaceAll(head, `"shop"`, `"shop-${terraform.workspace}"`)+fleet(2))
	for _, name := range []string{"one", "two"} {
		b.do("workspace", "new", name)
		b.apply()
		b.settled()
	}
	if got := len(strings.Fields(b.machines())); got != 4 {
		t.Errorf("there are %d machines", got)
	}
	b.destroy()
	b.do("workspace", "select", "one")
	b.settled()
	if got := len(strings.Fields(b.machines())); got != 2 {
		t.Errorf("there are %d machines", got)
	}
}

func TestAnyParallelismMakesTheSame(t *testing.T) {
	for _, n := range []int{1, 10, 50} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			b := begin(t)
			b.config(fleet(12))
			b.do("apply", "-auto-approve", fmt.Sprintf("-parallelism=%d", n))
			b.settled()
			if got := len(strings.Fields(b.machines())); got != 12 {
				t.Errorf("there are %d machines", got)
			}
		})
	}
}

// interrupted applies a configuration of several machines, and is interrupted when some are begun. Whether all was made by then is up to the moment.
func (b *bench) interrupted(config string) {
	b.Helper()
	b.config(config)
	cmd, out := b.started("apply", "-auto-approve", "-parallelism=12")
	b.awaitClones(3)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		b.Fatal(err)
	}
	if err := cmd.Wait(); err == nil && strings.Contains(out.String(), "was interrupted") {
		b.Errorf("an apply that was interrupted succeeded:\n%s", out)
	}
}

// Ctrl-C ends what runs, and the next apply goes on with it.
func TestAnInterruptedApplyGoesOn(t *testing.T) {
	b := begin(t)
	before := b.census()
	b.interrupted(fleet(12))
	b.goesOn(12, before)
}

// Who gives up after Ctrl-C destroys what was begun: it is in the state.
func TestWhatAnInterruptedApplyHasBegunCanBeDestroyed(t *testing.T) {
	for name, config := range map[string]string{
		"count":    fleet(12),
		"replicas": replicas(12),
	} {
		t.Run(name, func(t *testing.T) {
			b := begin(t)
			before := b.census()
			b.interrupted(config)
			b.destroy()
			b.nothingLeft(before)
		})
	}
}

// What fails keeps nothing else from being made, and is made by the next apply.
func TestWhatWasMadeIsKnownWhenSomethingFails(t *testing.T) {
	b := begin(t)
	const twoThings = `
resource "proxplane_virtual_machine" "good" {
  name  = "good"
  class = { cpus = 1, memory = "1Gi" }
  image = { source = "ubuntu-22-template" }
}
resource "proxplane_virtual_machine" "late" {
  name     = "late"
  class    = { cpus = 1, memory = "1Gi" }
  image    = { source = "ubuntu-22-template" }
  agent    = { wait_for_address = true }
  timeouts = { create = "%s" }
}
`
	b.config(fmt.Sprintf(twoThings, "1ms"))
	out, code := b.run("apply", "-auto-approve")
	if code != 1 {
		t.Fatalf("apply ended with %d:\n%s", code, out)
	}
	b.says(out, "late isn't ready", "it has taken longer than timeouts allow", "The next apply goes on with what was begun")
	if state := b.do("state", "list"); !strings.Contains(state, "good") || !strings.Contains(state, "late") {
		t.Errorf("the state has %s", state)
	}
	b.config(fmt.Sprintf(twoThings, "5m"))
	b.apply()
	b.settled()
	if b.machines() != "good late" {
		t.Errorf("there is %s", b.machines())
	}
}

// twoNodes are two machines of one resource.
func twoNodes(more string) string {
	return fmt.Sprintf(`
resource "proxplane_virtual_machine" "node" {
  name     = "node"
  replicas = 2
  class    = { cpus = 1, memory = "1Gi" }
  image    = { source = "ubuntu-22-template" }
  %s
}
`, more)
}

// unready applies a configuration whose machines are made and can't be started. It returns what lets them start.
func (b *bench) unready(config string) (mend func()) {
	b.Helper()
	fault, err := b.server.AddFault(pvesim.Fault{Task: "qmstart", Error: "MAX 0 vcpus allowed per VM on this node"})
	if err != nil {
		b.Fatal(err)
	}
	b.config(config)
	if out, code := b.run("apply", "-auto-approve"); code != 1 {
		b.Fatalf("apply ended with %d:\n%s", code, out)
	}
	b.says(b.do("state", "show", "proxplane_virtual_machine.node"), "(tainted)", "shop/node (unfinished)")
	return func() { b.server.RemoveFault(fault) }
}

// Who gives up after a failure destroys what was begun: it is in the state.
func TestWhatAFailedApplyHasBegunCanBeDestroyed(t *testing.T) {
	b := begin(t)
	before := b.census()
	b.unready(twoNodes(""))
	b.destroy()
	b.nothingLeft(before)
}

// What was begun isn't made anew, whatever Terraform calls it.
func TestTheApplyAfterAFailedOneGoesOn(t *testing.T) {
	const resource = "proxplane_virtual_machine.node"
	for name, more := range map[string]string{"": "", "create before destroy": "lifecycle {\n    create_before_destroy = true\n  }"} {
		t.Run(name, func(t *testing.T) {
			b := begin(t)
			before := b.census()
			mend := b.unready(twoNodes(more))
			begun := b.numbers()
			mend()
			b.says(b.planned(), resource+" is tainted, so it must be replaced", "node isn't replaced", "Nothing is destroyed: applying goes on with node-1 (VM", "node-2 (VM")
			b.apply()
			b.settled()
			if now := b.numbers(); !slices.Equal(now, begun) {
				t.Errorf("the machines were VMs %v, and are VMs %v", begun, now)
			}
			b.destroy()
			b.nothingLeft(before)
		})
	}
	for name, command := range map[string][]string{"untainted": {"apply", "-auto-approve"}, "not read again": {"apply", "-auto-approve", "-refresh=false"}} {
		t.Run(name, func(t *testing.T) {
			b := begin(t)
			mend := b.unready(twoNodes(""))
			begun := b.numbers()
			mend()
			if name == "untainted" {
				b.do("untaint", resource)
				b.says(b.planned(), "0 to add, 1 to change, 0 to destroy")
			}
			b.do(command...)
			b.settled()
			if now := b.numbers(); !slices.Equal(now, begun) {
				t.Errorf("the machines were VMs %v, and are VMs %v", begun, now)
			}
		})
	}
}

// numbers are the VMIDs of the machines.
func (b *bench) numbers() (list []int) {
	b.server.Do(func(st *pvesim.State) {
		for id, vm := range st.VMs {
			if !vm.Template() {
				list = append(list, id)
			}
		}
	})
	slices.Sort(list)
	return list
}

// A machine goes from one set to another as it is, and its notes say whose it is.
func TestAMachineIsHandedFromSetToSet(t *testing.T) {
	from := begin(t)
	from.write("main.tf", strings.ReplaceAll(head, `"shop"`, `"old"`)+fleet(1))
	from.apply()
	before := from.configs()
	to := beside(t, from.server)
	to.config("import {\n  to = proxplane_virtual_machine.node\n  id = \"old/node-0\"\n}\n")
	out := to.do("plan", "-generate-config-out=node.tf")
	to.says(out, "1 to import, 0 to add, 1 to change, 0 to destroy", "of set old now", "Take it out of what set old is made from")
	to.apply()
	to.settled()
	to.same(before)
	from.server.Do(func(st *pvesim.State) {
		if text := sim.VM(st, "node-0").Conf["description"]; !strings.Contains(text, `"set":"shop"`) {
			t.Errorf("its notes say %s", text)
		}
	})
	// The former set has nothing of it any more.
	from.write("main.tf", strings.ReplaceAll(head, `"shop"`, `"old"`))
	from.apply()
	to.settled()
}
