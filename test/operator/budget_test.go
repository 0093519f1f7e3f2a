package operator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// fleet are the machines of several Proxmox clusters.
type fleet []*sim.Server

// still shows the states of all clusters at one moment.
func (f fleet) still(look func([]*pvesim.State), states ...*pvesim.State) {
	if len(states) == len(f) {
		look(states)
		return
	}
	f[len(states)].Do(func(st *pvesim.State) { f.still(look, append(states, st)...) })
}

// count tells how many machines are up, and how many of them run with so much memory.
func (f fleet) count(memory int64) (up, changed int) {
	f.still(func(states []*pvesim.State) {
		for i, st := range states {
			for _, vm := range st.VMs {
				if vm.Run == nil || vm.Template() {
					continue
				}
				if !vm.Run.Agent.IsZero() && !f[i].Now().Before(vm.Run.Agent) {
					up++
				}
				if vm.Run.Mem == memory {
					changed++
				}
			}
		}
	})
	return up, changed
}

// least is how few machines are up at any moment until it is stopped.
func (f fleet) least(all int) (stop func() int) {
	least, done, ended := all, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-done:
				return
			case <-tick.C:
				up, _ := f.count(0)
				least = min(least, up)
			}
		}
	}()
	return func() int {
		close(done)
		<-ended
		return least
	}
}

// The machines of a class are restarted one after the other, whichever namespaces and
// Providers they are in, and no more of them when one doesn't come back.
func TestAClassHasOneBudgetInAllNamespacesAndProviders(t *testing.T) {
	t.Parallel()
	s := begin(t)
	w := pvesim.DefaultWorld()
	sim.Quick(w)
	all := fleet{s.pve, s.serve(w, pvesim.WithSeed(2))}
	const machines, gib = 6, 1 << 30
	guests := s.namespace + "-west"
	s.kubectl("create", "namespace", guests)
	s.operate("--alone", "--namespace", guests)
	in := func(namespace, input string, args ...string) string {
		t.Helper()
		return s.must(input, append(args, "-n", namespace)...)
	}
	in(s.namespace, fmt.Sprintf(`---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: golden}
spec: {cpus: 2, memory: 2Gi, sharedWith: [%s]}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: ubuntu}
spec: {source: ubuntu-22-template, sharedWith: [%s]}
`, guests, guests), "apply", "-f", "-")
	vm := func(name, count string) string {
		return fmt.Sprintf(`---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: %s}
spec:
  classRef: {name: golden, namespace: %s}
  imageRef: {name: ubuntu, namespace: %s}
  updatePolicy: {restart: Allow}
  %s
`, name, s.namespace, s.namespace, count)
	}
	in(s.namespace, s.pve.Provider("east", "east-login")+"---\n"+vm("web", "")+vm("pool", "count: 2"), "apply", "-f", "-")
	in(guests, all[1].Provider("west", "west-login")+"---\n"+vm("a", "")+vm("b", "")+vm("c", ""), "apply", "-f", "-")
	ready := func() {
		t.Helper()
		in(s.namespace, "", "wait", "--for=condition=Ready", "vm/web", "vm/pool", "--timeout", patience.String())
		in(guests, "", "wait", "--for=condition=Ready", "vm/a", "vm/b", "vm/c", "--timeout", patience.String())
	}
	ready()
	resize := func(memory string) {
		t.Helper()
		in(s.namespace, "", "patch", "vmclass", "golden", "--type=merge", "-p", `{"spec":{"memory":"`+memory+`"}}`)
	}

	stop := all.least(machines)
	resize("4Gi")
	s.until("all were restarted", func() bool { _, changed := all.count(4 * gib); return changed == machines })
	ready()
	if least := stop(); least < machines-1 {
		t.Errorf("%d of %d machines were up at one moment", least, machines)
	}

	// None comes back from now on.
	silence := func(server *sim.Server, vmid int) (end func()) {
		id, err := server.AddFault(pvesim.Fault{Path: "/nodes/*/qemu/*/agent/**", VM: vmid, Status: 500, Reason: "QEMU guest agent is not running"})
		if err != nil {
			t.Fatal(err)
		}
		return func() { server.RemoveFault(id) }
	}
	speak := []func(){silence(all[0], 0), silence(all[1], 0)}
	resize("6Gi")
	// waiting are the objects that wait for another machine to be ready, and what they say.
	waiting := func() (texts []string) {
		for _, namespace := range []string{s.namespace, guests} {
			list := in(namespace, "", "get", "vm", "-o", `jsonpath={range .items[*]}{.status.waiting}{"\n"}{end}`)
			for line := range strings.Lines(list) {
				if strings.Contains(line, "has to be ready first") {
					texts = append(texts, namespace+": "+strings.TrimSpace(line))
				}
			}
		}
		return texts
	}
	s.until("one was restarted, and the others wait", func() bool {
		_, changed := all.count(6 * gib)
		return changed == 1 && len(waiting()) >= 4
	})
	said := strings.Join(waiting(), "\n")
	hidden := fmt.Sprintf("a machine of another namespace that uses vmclass/%s/golden has to be ready first", s.namespace)
	if !strings.Contains(said, hidden) {
		t.Errorf("nobody says %q:\n%s", hidden, said)
	}
	// A new operator goes on at the same place, though only that one is silent for it.
	heal := func() {}
	for _, server := range all {
		lost := 0
		server.Do(func(st *pvesim.State) {
			for id, vm := range st.VMs {
				if vm.Run != nil && vm.Run.Mem == 6*gib {
					lost = id
				}
			}
		})
		if lost != 0 {
			heal = silence(server, lost)
		}
	}
	for _, end := range speak {
		end()
	}
	s.operators[0].Kill()
	s.operate("--alone", "--namespace", guests)
	for _, namespace := range []string{s.namespace, guests} {
		in(namespace, vm("late", "powerState: \"Off\""), "apply", "-f", "-")
		in(namespace, "", "wait", "--for=condition=Ready", "vm/late", "--timeout", patience.String())
	}
	s.until("the others wait again", func() bool { return len(waiting()) >= 4 })
	if _, changed := all.count(6 * gib); changed != 1 {
		t.Errorf("%d were restarted though the first hasn't come back", changed)
	}
	stop = all.least(machines)
	heal()
	s.until("all were restarted", func() bool { _, changed := all.count(6 * gib); return changed == machines })
	ready()
	if least := stop(); least < machines-1 {
		t.Errorf("%d of %d machines were up at one moment", least, machines)
	}
}
