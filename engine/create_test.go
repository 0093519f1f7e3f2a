package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
)

func TestMakesAMachineOnceAndThenHasNothingToDo(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		want := desired(machine("web"))
		rep := l.mustConverge(want)
		got := l.ours()
		if len(got) != 1 {
			t.Fatalf("there are %d machines", len(got))
		}
		for id, conf := range got {
			checks := map[string]string{
				"name": "web", "cores": "4", "memory": "4096", "ciuser": "ann", "running": "1",
				"net0": "virtio=" + macOf("web") + ",bridge=vmbr1",
			}
			for k, v := range checks {
				if conf[k] != v {
					t.Errorf("%s of VM %d is %q, want %q", k, id, conf[k], v)
				}
			}
			if !strings.Contains(conf["scsi0"], "size=20G") {
				t.Errorf("scsi0 is %q", conf["scsi0"])
			}
			if _, m, ok := model.ParseDescription(conf["description"]); !ok || m.Owner != want.VMs[0].Owner {
				t.Errorf("description is %q", conf["description"])
			}
			if out := rep.Objects[1]; out.VMID != id || len(out.Addresses) == 0 {
				t.Errorf("the report has VM %d with addresses %v", out.VMID, out.Addresses)
			}
		}
		before := l.sim.RequestCount()
		l.mustConverge(want)
		if n := writes(l.requests(before)); n != 0 {
			t.Errorf("the second run has made %d changes", n)
		}
		time.Sleep(time.Minute) // until the lists are up to date
		before = l.sim.RequestCount()
		l.mustConverge(want)
		if again := l.requests(before); len(again) != 6 {
			t.Errorf("the third run asks %v; the lists, the version, and of the machine the config, the power state and the agent should do", again)
		}
	})
}

func TestNewMachinesTakeFourChangesAndLittleMoreTimeThanProxmoxNeeds(t *testing.T) {
	const proxmox = 2*time.Second + 200*time.Millisecond + 300*time.Millisecond + time.Second + 3*time.Second
	for _, c := range []struct {
		n        int
		ratio    float64
		requests float64 // a machine
	}{
		{1, 1.15, 50}, {20, 1.12, 16}, {100, 1.1, 9},
	} {
		inLab(t, labWorld(5), func(t *testing.T, l *lab) {
			start := time.Now()
			l.mustConverge(desired(machines(c.n)...))
			took := time.Since(start)
			reqs := l.requests(0)
			if ratio := float64(took) / float64(proxmox); ratio > c.ratio {
				t.Errorf("%d machines take %v, %.2f times the time of Proxmox", c.n, took, ratio)
			}
			if each := float64(len(reqs)) / float64(c.n); each > c.requests {
				t.Errorf("%d machines take %.1f requests each", c.n, each)
			}
			if n := writes(reqs); n != 4*c.n {
				t.Errorf("%d machines take %d changes", c.n, n)
			}
			if len(l.ours()) != c.n {
				t.Errorf("%d machines are there, want %d", len(l.ours()), c.n)
			}
		})
	}
}

func TestOneMoreMachineIsAsQuickAsTheFirst(t *testing.T) {
	inLab(t, labWorld(5), func(t *testing.T, l *lab) {
		vms := machines(61)
		e := l.engine()
		start := time.Now()
		converge(t, e, desired(vms[0]))
		first := time.Since(start)
		converge(t, e, desired(vms[:60]...))
		time.Sleep(time.Minute)
		start = time.Now()
		converge(t, e, desired(vms...))
		if took := time.Since(start); took > first*11/10 {
			t.Errorf("the first took %v, one more beside 60 %v", first, took)
		}
	})
}

func TestAtRestTheNumberOfRequestsDoesNotGrowWithTheNumberOfMachines(t *testing.T) {
	for _, n := range []int{5, 80} {
		inLab(t, labWorld(5), func(t *testing.T, l *lab) {
			want := desired(machines(n)...)
			l.mustConverge(want)
			time.Sleep(time.Minute)
			l.keeping(l.engine(), want, func() {
				time.Sleep(time.Minute)
				before := l.sim.RequestCount()
				time.Sleep(10 * time.Minute)
				if per := float64(l.sim.RequestCount()-before) / 10; per > 12 {
					t.Errorf("%d machines at rest: %.1f requests a minute", n, per)
				}
			})
		})
	}
}

func TestKeepsMachinesAsTheyAreWanted(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		want := desired(machine("web"))
		want.VMs[0].Update.Restart = true
		l.mustConverge(want)
		l.keeping(l.engine(), want, func() {
			l.setConfig("web", "cores", "1") // nothing in the lists shows it
			time.Sleep(5 * time.Minute)
			if got := l.named("web")["cores"]; got != "4" {
				t.Errorf("cores are %q, as somebody changed them", got)
			}
			l.kill("web")
			time.Sleep(5 * time.Minute)
			if l.named("web")["running"] != "1" {
				t.Error("a machine that stopped isn't started again")
			}
			l.vanish("web")
			time.Sleep(5 * time.Minute)
			if l.named("web") == nil {
				t.Error("a machine that was destroyed isn't made again")
			}
		})
	})
}

func TestPlacesMachinesWhereMemoryIsFreeCountingThoseBeingMade(t *testing.T) {
	inLab(t, labWorld(4), func(t *testing.T, l *lab) {
		l.mustConverge(desired(machines(40)...))
		on := map[string]int{}
		for _, conf := range l.ours() {
			on[conf["node"]]++
		}
		// A machine has 4 GiB, and each node 8 GiB less than the one before it.
		for i := range 4 {
			node := fmt.Sprintf("pve%d", i+1)
			if n := on[node]; n != 13-2*i {
				t.Errorf("%d machines on %s: %v", n, node, on)
			}
		}
	})
}

func TestKeepsMachinesApartAlsoWhenTheyArePlannedOneByOne(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		vms := machines(3)
		for i := range vms {
			vms[i].Labels = map[string]string{"app": "db"}
			vms[i].Place.AntiAffinity = []model.Selector{{Key: "app", Operator: "In", Values: []string{"db"}}}
		}
		l.mustConverge(desired(vms...))
		on := map[string]int{}
		for _, conf := range l.ours() {
			on[conf["node"]]++
		}
		if len(on) != 3 {
			t.Errorf("machines that are to be apart are on %v", on)
		}
	})
}

func TestWorksOnNoMoreAtOnceThanAllowed(t *testing.T) {
	inLab(t, labWorld(5), func(t *testing.T, l *lab) {
		opts, most, now := l.options(), 0, map[string]bool{}
		events := opts.Events
		opts.Parallel = 3
		opts.Events = func(e engine.Event) {
			events(e)
			switch e.Kind {
			case engine.Started:
				now[e.Owner.Name] = true
			case engine.Done, engine.Failed:
				delete(now, e.Owner.Name)
			}
			most = max(most, len(now))
		}
		rep, err := l.engine().Converge(t.Context(), desired(machines(10)...), opts)
		if err != nil || !rep.Converged() {
			t.Fatalf("%v\n%s", err, describe(rep))
		}
		if most != 3 {
			t.Errorf("%d at once", most)
		}
	})
}

func TestTellsWhatHappensInOrder(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		l.mustConverge(desired(machine("web")))
		var kinds []string
		for _, e := range l.events {
			if e.Owner.Name == "web" {
				kinds = append(kinds, string(e.Kind))
			}
		}
		want := "planned started progress done started done started progress done started progress done waiting ready"
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("events are %s", got)
		}
	})
}

func TestTellsHowFarCopiesAre(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := machine("web")
		vm.Source.Full = true
		opts := l.options()
		opts.Progress = true
		if rep, err := l.engine().Converge(t.Context(), desired(vm), opts); err != nil || !rep.Converged() {
			t.Fatalf("%v\n%s", err, describe(rep))
		}
		var seen []float64
		for _, e := range l.events {
			if e.Fraction > 0 {
				seen = append(seen, e.Fraction)
			}
		}
		if len(seen) == 0 || !slices.IsSorted(seen) || seen[len(seen)-1] > 1 {
			t.Errorf("fractions: %v", seen)
		}
	})
}
