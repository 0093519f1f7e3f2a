package engine_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// poolOf is a pool with some addresses of each family.
func poolOf(size int) model.AddressPool {
	p := model.AddressPool{Name: "lan", Gateway: "10.9.0.1", Prefix: netip.MustParsePrefix("10.9.0.0/16"), Prefix6: netip.MustParsePrefix("fd09::/64")}
	for _, first := range []string{"10.9.1.1", "fd09::1:1"} {
		r := model.AddressRange{First: netip.MustParseAddr(first), Last: netip.MustParseAddr(first)}
		for range size - 1 {
			r.Last = r.Last.Next()
		}
		p.Ranges = append(p.Ranges, r)
	}
	return p
}

// leased has a machine get its address from a pool.
func leased(vm model.VM, size int) model.VM {
	vm.Leases = []model.Lease{{Slot: "net0", Pool: poolOf(size)}}
	vm.Managed = append(vm.Managed, "ipconfig0")
	return vm
}

// of has a machine be one of another set.
func of(set string, vm model.VM) model.VM {
	vm.Owner.Set = set
	return vm
}

// sharing fails the test if two machines run with the same address at any time, until it is stopped.
func (l *lab) sharing() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			l.sim.Do(func(s *pvesim.State) {
				users := map[netip.Addr]int{}
				for id, vm := range s.VMs {
					for _, a := range model.ConfiguredAddresses(vm.Conf) {
						if other := users[a]; other != 0 && vm.Run != nil {
							l.t.Errorf("VMs %d and %d have %s", id, other, a)
						}
						if vm.Run != nil {
							users[a] = id
						}
					}
				}
			})
			time.Sleep(50 * time.Millisecond)
		}
	}()
	return func() { cancel(); <-done }
}

// Each of several processes makes machines of its own, all from one pool that has just as many
// addresses as there are machines: so they get into each other's way.
func TestProcessesThatChooseAtOnceEndWithDifferentAddresses(t *testing.T) {
	const processes = 4
	for _, apart := range []time.Duration{0, 3 * time.Millisecond, 50 * time.Millisecond, 700 * time.Millisecond, 2100 * time.Millisecond, 2300 * time.Millisecond, 3300 * time.Millisecond} {
		inLab(t, labWorld(3), func(t *testing.T, l *lab) {
			stop := l.sharing()
			var all sync.WaitGroup
			for i := range processes {
				set := fmt.Sprintf("set%d", i)
				want := desired(leased(of(set, machine(set+"-a")), 2*processes), leased(of(set, seeded(set+"-b")), 2*processes))
				want.Set, want.Images[0].Owner.Set = set, set
				c := l.connect(pve.Token("root@pam!lab", secret))
				all.Go(func() {
					time.Sleep(time.Duration(i) * apart)
					rep, err := engineOf(c).Converge(context.Background(), want, engine.Options{})
					if err != nil || !rep.Converged() {
						t.Errorf("%v apart, the %dth: %v\n%s", apart, i+1, err, describe(rep))
					}
				})
			}
			all.Wait()
			stop()
			taken := map[string]string{}
			for _, conf := range l.ours() {
				for _, a := range model.ConfiguredAddresses(conf) {
					if other := taken[a.String()]; other != "" {
						t.Errorf("%v apart: %s is the address of %s and %s", apart, a, other, conf["name"])
					}
					taken[a.String()] = conf["name"]
				}
			}
			if len(taken) != 2*2*processes {
				t.Errorf("%v apart: %d addresses are taken: %v", apart, len(taken), taken)
			}
		})
	}
}

// Of two who want the last address one gets it. The other one waits, until it is given back.
func TestOneOfTwoGetsTheLastAddress(t *testing.T) {
	for _, apart := range []time.Duration{0, 40 * time.Millisecond, 2050 * time.Millisecond, 5 * time.Second} {
		inLab(t, labWorld(2), func(t *testing.T, l *lab) {
			defer l.sharing()()
			var both sync.WaitGroup
			reports := make([]engine.Report, 2)
			wants := make([]model.Desired, 2)
			for i := range 2 {
				set := fmt.Sprintf("set%d", i)
				wants[i] = desired(leased(of(set, machine(set)), 1))
				wants[i].Set, wants[i].Images[0].Owner.Set = set, set
				c := l.connect(pve.Token("root@pam!lab", secret))
				both.Go(func() {
					time.Sleep(time.Duration(i) * apart)
					var err error
					if reports[i], err = engineOf(c).Converge(context.Background(), wants[i], engine.Options{}); err != nil {
						t.Error(err)
					}
				})
			}
			both.Wait()
			winner := 0
			if reports[1].Converged() {
				winner = 1
			}
			if text := describe(reports[1-winner]); !reports[winner].Converged() || !strings.Contains(text, "pool lan has no free IPv4 address: all 1 are taken (10.9.1.1 by VM ") {
				t.Fatalf("%v apart:\n%s%s", apart, describe(reports[0]), describe(reports[1]))
			}
			wants[winner].VMs[0].Deleted = true
			l.mustConverge(wants[winner])
			l.mustConverge(wants[1-winner])
		})
	}
}

func TestAMachineKeepsItsAddressThoughTheProcessDiesAtAnyRequest(t *testing.T) {
	other := desired(leased(of("other", machine("theirs")), 2))
	other.Set, other.Images[0].Owner.Set = "other", "other"
	crashes(t, func(l *lab) { l.mustConverge(other) }, desired(leased(seeded("web"), 2)))
}

// An address that somebody types into a VM by hand is taken, too, and what a person changes about
// the addresses of a machine is put back.
func TestWhatOthersHaveIsTaken(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		l.mustConverge(desired(machine("byhand")))
		l.setConfig("byhand", "ipconfig0", "ip=10.9.1.1/16")
		want := desired(machine("byhand"), leased(machine("web"), 2))
		l.mustConverge(want)
		if got := l.named("web")["ipconfig0"]; !strings.Contains(got, "ip=10.9.1.2/16") {
			t.Errorf("it has %s", got)
		}
		was := l.named("web")["ipconfig0"]
		l.setConfig("web", "ipconfig0", "ip=dhcp")
		l.mustConverge(want)
		if got := l.named("web")["ipconfig0"]; got != was {
			t.Errorf("it has %s, and had %s", got, was)
		}
	})
}

// A machine that had a fixed address keeps it when it is to have one from the pool.
func TestAMachineKeepsTheAddressThatItHas(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := machine("web")
		vm.Options["ipconfig0"] = "gw=10.9.0.1,ip=10.9.1.7/16"
		l.mustConverge(desired(vm))
		l.mustConverge(desired(leased(machine("web"), 9)))
		if got := l.named("web")["ipconfig0"]; !strings.Contains(got, "ip=10.9.1.7/16") || !strings.Contains(got, "ip6=fd09::1:") {
			t.Errorf("it has %s", got)
		}
	})
}

// Machines from a pool take as many requests as others, but for lists that all of them share, and for
// the configs of others, which are read once.
func TestAddressesFromAPoolTakeNoRequestAMachine(t *testing.T) {
	count := func(t *testing.T, n int, kind func(model.VM) model.VM) (requests int) {
		inLab(t, labWorld(3), func(t *testing.T, l *lab) {
			vms := machines(n)
			for i := range vms {
				vms[i] = kind(vms[i])
			}
			l.mustConverge(desired(vms...))
			requests = len(l.requests(0))
		})
		return requests
	}
	pooled := func(vm model.VM) model.VM { return leased(vm, 200) }
	plain := func(vm model.VM) model.VM { return vm }
	const few, many = 10, 40
	more := count(t, many, pooled) - count(t, many, plain)
	less := count(t, few, pooled) - count(t, few, plain)
	t.Logf("%d machines take %d requests more, %d take %d", few, less, many, more)
	if more-less >= (many-few)/2 {
		t.Errorf("%d machines take %d requests more, %d take %d", few, less, many, more)
	}
}
