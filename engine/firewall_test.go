package engine_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// walled is a machine with a firewall that has these rules, each an action and a macro.
func walled(name string, rules ...string) model.VM {
	vm := machine(name)
	vm.NICs[0].Firewall = true
	vm.Firewall = &model.Firewall{Options: map[string]string{"enable": "1", "policy_in": "REJECT"}}
	for _, r := range rules {
		action, macro, _ := strings.Cut(r, " ")
		vm.Firewall.Rules = append(vm.Firewall.Rules, model.FirewallRule{Type: "in", Action: action, Macro: macro})
	}
	return vm
}

// firewall is the firewall of a machine in one line.
func (l *lab) firewall(name string) (text string) {
	l.vm(name, func(s *pvesim.State, vm *pvesim.VM) { text = fileText(s.Firewall.Files[fmt.Sprintf("vm/%d", vm.ID)]) })
	return text
}

func fileText(f *pvesim.FirewallFile) string {
	if f == nil {
		return ""
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(f.Options)) {
		parts = append(parts, k+"="+f.Options[k])
	}
	for _, r := range f.Rules {
		parts = append(parts, strings.TrimSpace(r["action"]+" "+r["macro"])+map[string]string{"0": " off"}[r["enable"]])
	}
	return strings.Join(parts, ", ")
}

// templateRules gives the lab's templates a firewall, which clones get, too.
func (l *lab) templateRules() {
	l.sim.Do(func(s *pvesim.State) {
		for _, id := range []int{9000, 9001, 9002} {
			s.Firewall.Files[fmt.Sprintf("vm/%d", id)] = &pvesim.FirewallFile{
				Options: map[string]string{"enable": "1", "policy_in": "ACCEPT"}, Rules: []pvesim.FirewallRule{{"type": "in", "action": "ACCEPT", "enable": "1"}},
			}
		}
	})
}

const sshOnly = "enable=1, policy_in=REJECT, ACCEPT SSH, DROP"

// A machine that runs has its firewall, whenever its maker dies.
func TestNoMachineRunsWithoutItsFirewallThoughTheProcessDiesAtAnyRequest(t *testing.T) {
	w := labWorld(2)
	w.Timing.Clone, w.Timing.Resize, w.Timing.Start, w.Timing.Agent = ms(300), ms(100), ms(100), ms(1000)
	want := desired(walled("web", "ACCEPT SSH", "DROP"))
	for _, after := range []bool{false, true} {
		killed := true
		for n := 1; killed; n++ {
			inLab(t, w, func(t *testing.T, l *lab) {
				l.templateRules()
				killed = l.runUntil(want, n, after)
				time.Sleep(5 * time.Second) // what was begun ends
				if conf := l.named("web"); conf["running"] == "1" && l.firewall("web") != sshOnly {
					t.Errorf("killed at request %d (done: %v) it runs with %q", n, after, l.firewall("web"))
				}
				l.mustConverge(want)
				l.check(want)
				if have := l.firewall("web"); have != sshOnly {
					t.Errorf("killed at request %d (done: %v) its firewall is %q", n, after, have)
				}
			})
			if t.Failed() {
				return
			}
		}
	}
}

func TestAFirewallIsChangedThoughTheProcessDiesAtAnyRequest(t *testing.T) {
	want := desired(walled("web", "ACCEPT HTTP", "ACCEPT SSH", "ACCEPT HTTPS", "DROP"))
	w := labWorld(1)
	for _, after := range []bool{false, true} {
		killed := true
		for n := 1; killed; n++ {
			inLab(t, w, func(t *testing.T, l *lab) {
				l.mustConverge(desired(walled("web", "ACCEPT SSH", "DROP")))
				killed = l.runUntil(want, n, after)
				l.mustConverge(want)
				if have := l.firewall("web"); have != "enable=1, policy_in=REJECT, ACCEPT HTTP, ACCEPT SSH, ACCEPT HTTPS, DROP" {
					t.Errorf("killed at request %d (done: %v) its firewall is %q", n, after, have)
				}
			})
			if t.Failed() {
				return
			}
		}
	}
}

func TestAFirewallGoesWithItsMachine(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := walled("web", "ACCEPT SSH")
		l.mustConverge(desired(vm))
		vm.Deleted = true
		l.mustConverge(desired(vm))
		l.sim.Do(func(s *pvesim.State) {
			if len(s.Firewall.Files) > 0 {
				t.Errorf("there are still %v", s.Firewall.Files)
			}
		})
	})
}

func TestAFirewallThatIsNoLongerDescribedGoes(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		l.mustConverge(desired(walled("web", "ACCEPT SSH")))
		l.mustConverge(desired(machine("web")))
		if have := l.firewall("web"); have != "" {
			t.Errorf("its firewall is still %q", have)
		}
		l.somebody("web", "POST", "/firewall/rules", pve.Params{"type": "in", "action": "DROP"})
		l.mustConverge(desired(machine("web")))
		if have := l.firewall("web"); have != "DROP off" {
			t.Errorf("what others have set is %q", have)
		}
	})
}

// What somebody changes by hand is found by a session, without any trace in lists and configs.
func TestASessionTakesRulesBackThatSomebodyHasAdded(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		s.Want(desired(walled("web", "ACCEPT SSH", "DROP")), nil)
		s.await("web", engine.StateReady)
		l.somebody("web", "POST", "/firewall/rules", pve.Params{"type": "in", "action": "ACCEPT", "enable": 1})
		l.somebody("web", "PUT", "/firewall/options", pve.Params{"policy_in": "ACCEPT"})
		time.Sleep(time.Hour + time.Minute)
		if have := l.firewall("web"); have != sshOnly {
			t.Errorf("its firewall is %q", have)
		}
	})
}

// Firewalls that nobody describes cost nothing; those that somebody does cost two requests to read
// and one for each rule and for all options; and all together one, which shows whether they have an effect.
func TestWhatFirewallsCost(t *testing.T) {
	const n = 6
	count := func(want model.Desired) (made, again int) {
		inLab(t, labWorld(1), func(t *testing.T, l *lab) {
			l.mustConverge(want)
			made = len(firewallCalls(l.requests(0)))
			before := l.sim.RequestCount()
			l.mustConverge(want)
			again = len(firewallCalls(l.requests(before)))
		})
		return made, again
	}
	if made, again := count(desired(machines(n)...)); made+again != 0 {
		t.Errorf("machines without firewalls take %d and %d requests about them", made, again)
	}
	var vms []model.VM
	for i := range n {
		vms = append(vms, walled(fmt.Sprintf("web-%d", i), "ACCEPT SSH", "DROP"))
	}
	const cluster = 4 // groups, macros, options, aliases and sets
	if made, again := count(desired(vms...)); made != cluster+n*(2+1+2) || again != 1+2*n {
		t.Errorf("%d machines with 2 rules each take %d requests to be made, want %d, and %d to be looked at, want %d", n, made, cluster+n*(2+1+2), again, 1+2*n)
	}
}

func firewallCalls(requests []string) []string {
	return slices.DeleteFunc(requests, func(r string) bool { return !strings.Contains(r, "/firewall/") })
}

func TestASecurityGroupThatIsNotThereIsToldBeforeAnythingIsMade(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := walled("web")
		vm.Firewall.Rules = []model.FirewallRule{{Type: model.FirewallGroup, Action: "front"}}
		rep := l.converge(desired(vm))
		if text := describe(rep); !strings.Contains(text, "there is no security group front") || writes(l.requests(0)) != 0 {
			t.Errorf("%s after %v", text, l.requests(0))
		}
		l.sim.Do(func(s *pvesim.State) { s.Firewall.Groups["front"] = &pvesim.FirewallGroup{} })
		l.mustConverge(desired(vm))
		if have := l.firewall("web"); have != "enable=1, policy_in=REJECT, front" {
			t.Errorf("its firewall is %q", have)
		}
	})
}

// Proxmox may add a rule when nobody waits for the answer any more, in front of the others and after they were read again. The
// next reading finds that, and the rule is there once.
func TestARuleThatComesTooLateIsFoundByTheNextReading(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		l.mustConverge(desired(walled("web", "ACCEPT SSH", "DROP")))
		if _, err := l.sim.AddFault(pvesim.Fault{Method: "POST", Path: "/nodes/*/qemu/*/firewall/rules", Times: 1, Delay: pvesim.Duration(85 * time.Second)}); err != nil {
			t.Fatal(err)
		}
		want := desired(walled("web", "ACCEPT HTTP", "ACCEPT SSH", "DROP"))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = l.engine().Converge(ctx, want, engine.Options{}) // it ends with its context
		}()
		time.Sleep(2 * time.Second)
		cancel() // the request is on its way
		<-ended
		l.mustConverge(want) // it reads the rules before the request is carried out
		time.Sleep(2 * time.Minute)
		if have := l.firewall("web"); strings.Count(have, "ACCEPT HTTP") != 2 {
			t.Fatalf("no rule came late: %q", have)
		}
		l.mustConverge(want)
		if have := l.firewall("web"); have != "enable=1, policy_in=REJECT, ACCEPT HTTP, ACCEPT SSH, DROP" {
			t.Errorf("its firewall is %q", have)
		}
	})
}
