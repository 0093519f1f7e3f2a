package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// renewed has machines made anew from another image.
func renewed(vms ...model.VM) model.Desired {
	second := ubuntu()
	second.Owner.Name = "second"
	want := desired(vms...)
	want.Images = append(want.Images, second)
	for i := range want.VMs {
		want.VMs[i].Source.Image, want.VMs[i].Update = key("VMImage", "second"), model.Allow{Replace: true}
	}
	return want
}

// A machine that is made anew keeps its address, also one that isn't the first of its candidates, and
// others that are made meanwhile don't get it.
func TestAMachineThatIsMadeAnewKeepsItsAddress(t *testing.T) {
	for _, address := range []string{"10.9.1.1", "10.9.1.2", "10.9.1.3", "10.9.1.4"} {
		inLab(t, labWorld(2), func(t *testing.T, l *lab) {
			vm := machine("web")
			vm.Options["ipconfig0"] = "gw=10.9.0.1,ip=" + address + "/16"
			l.mustConverge(desired(vm))
			l.mustConverge(desired(leased(machine("web"), 9)))
			was := l.named("web")["ipconfig0"]
			l.mustConverge(renewed(leased(machine("web"), 9), leased(machine("a"), 9), leased(machine("b"), 9), leased(machine("c"), 9)))
			if got := l.named("web")["ipconfig0"]; got != was || !strings.Contains(got, "ip="+address+"/16") {
				t.Errorf("it had %s, and has %s", was, got)
			}
		})
	}
}

// What was written down of a machine brings its address back, if nobody has it meanwhile.
func TestAMachineGetsTheAddressThatItHad(t *testing.T) {
	for _, address := range []string{"10.9.1.1", "10.9.1.2", "10.9.1.3", "10.9.1.4"} {
		inLab(t, labWorld(2), func(t *testing.T, l *lab) {
			vm := leased(machine("web"), 4)
			vm.Had = []string{"172.16.0.1", address, "fe80::1"}
			l.mustConverge(desired(vm))
			if got := l.named("web")["ipconfig0"]; !strings.Contains(got, "ip="+address+"/16") {
				t.Errorf("it had %s, and has %s", address, got)
			}
			if other := leased(machine("other"), 4); true {
				other.Had = vm.Had
				l.mustConverge(desired(vm, other))
				if got := l.named("other")["ipconfig0"]; strings.Contains(got, "ip="+address+"/16") {
					t.Errorf("both have %s", got)
				}
			}
		})
	}
}

// Two processes fill a pool that has just enough addresses, with many machines each. Then one gives its addresses
// back, and a third one takes them.
func TestManyMachinesOfTwoProcessesFillAPool(t *testing.T) {
	const each = 50
	set := func(name string) model.Desired {
		var vms []model.VM
		for i := range each {
			vms = append(vms, leased(of(name, machine(fmt.Sprintf("%s-%d", name, i))), 2*each))
		}
		want := desired(vms...)
		want.Set, want.Images[0].Owner.Set = name, name
		return want
	}
	inLab(t, labWorld(5), func(t *testing.T, l *lab) {
		stop := l.sharing()
		var both sync.WaitGroup
		for _, name := range []string{"one", "two"} {
			c := l.connect(pve.Token("root@pam!lab", secret))
			both.Go(func() {
				if rep, err := engineOf(c).Converge(context.Background(), set(name), engine.Options{}); err != nil || !rep.Converged() {
					t.Errorf("%s: %v\n%s", name, err, describe(rep))
				}
			})
		}
		both.Wait()
		gone := set("one")
		for i := range gone.VMs {
			gone.VMs[i].Deleted = true
		}
		l.mustConverge(gone)
		l.mustConverge(set("three"))
		stop()
		taken := map[string]bool{}
		for _, conf := range l.ours() {
			for _, a := range model.ConfiguredAddresses(conf) {
				taken[a.String()] = true
			}
		}
		if len(taken) != 2*2*each {
			t.Errorf("%d addresses are taken by %d machines", len(taken), 2*each)
		}
	})
}

// Two interfaces of a machine get two addresses of a pool that has no more.
func TestTwoInterfacesOfAMachineGetTwoAddresses(t *testing.T) {
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		inLab(t, labWorld(1), func(t *testing.T, l *lab) {
			vm := leased(machine(name), 2)
			vm.NICs = append(vm.NICs, model.NIC{Slot: "net1", Model: "virtio", Bridge: "vmbr0", MAC: "02:00:00:00:00:11"})
			vm.Leases = append(vm.Leases, model.Lease{Slot: "net1", Pool: poolOf(2)})
			vm.Managed = append(vm.Managed, "ipconfig1")
			l.mustConverge(desired(vm))
			seen := map[string]bool{}
			for _, a := range model.ConfiguredAddresses(l.named(name)) {
				seen[a.String()] = true
			}
			if len(seen) != 4 {
				t.Errorf("%s has %v", name, seen)
			}
		})
	}
}
