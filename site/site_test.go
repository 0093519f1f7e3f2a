package site_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
)

func TestAMachineIsMadeChangedReadAndRemoved(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		s := l.open(site.Options{Set: "shop"})
		defer s.Close()
		web := owner("shop", "web")
		l.put(s, machine(2), web)
		made := l.await(s, web, site.Ready)
		if made.Status != model.StatusRunning || len(made.Addresses) == 0 {
			t.Errorf("it is ready as %+v", made)
		}
		larger := machine(4)
		larger.Update.Restart = true
		l.put(s, larger, web)
		if out := l.await(s, web, site.Ready); out.VMID != made.VMID {
			t.Errorf("it was VM %d and is VM %d", made.VMID, out.VMID)
		}
		m, err := s.Read(t.Context(), web)
		if err != nil || m.Guest.Config.Options["cores"] != "4" || m.Guest.VMID != made.VMID || m.Outcome == nil {
			t.Errorf("it is read as %+v, %v", m, err)
		}
		if err := s.Remove(t.Context(), web); err != nil {
			t.Fatal(err)
		}
		l.await(s, web, site.Gone)
		if left := l.guests(); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
		if _, err := s.Read(t.Context(), web); !errors.Is(err, site.ErrNotFound) {
			t.Errorf("what is gone is read with %v", err)
		}
		l.await(s, web, site.Gone) // which it still is when nobody wants anything of it
		if d := s.Desired(); len(d.VMs) != 0 {
			t.Errorf("what is gone is still looked after: %+v", d.VMs)
		}
	})
}

func TestPuttingTheSameAgainDoesNothing(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		s := l.open(site.Options{})
		defer s.Close()
		web, vm := owner("shop", "web"), machine(2)
		vm.Seed = &model.Seed{Storage: "local", Files: map[string][]byte{"user-data": []byte("#cloud-config\n{}\n"), "meta-data": []byte("{}\n")}}
		l.put(s, vm, web)
		l.await(s, web, site.Ready)
		before := l.sim.RequestCount()
		for range 100 {
			l.put(s, vm, web)
			l.await(s, web, site.Ready)
		}
		if n := l.sim.RequestCount() - before; n > 0 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestOptionsMayBeSpelledInAnyWay(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		s := l.open(site.Options{})
		defer s.Close()
		web, vm := owner("shop", "web"), machine(1)
		vm.Options["agent"], vm.Managed = "enabled=1,fstrim_cloned_disks=0", []string{"cores", "agent"}
		l.put(s, vm, web)
		l.await(s, web, site.Ready)
		before := l.sim.RequestCount()
		l.put(s, vm, web)
		l.await(s, web, site.Ready)
		if n := l.sim.RequestCount() - before; n > 0 {
			t.Errorf("the same again takes %d requests", n)
		}
	})
}

func TestDriftShowsInThePlan(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		s := l.open(site.Options{})
		defer s.Close()
		web := owner("shop", "web")
		l.put(s, machine(2), web)
		out := l.await(s, web, site.Ready)
		if p, err := s.Plan(t.Context(), s.Desired()); err != nil || !p.Ready() {
			t.Errorf("%v, %+v", err, p)
		}
		l.sim.Do(func(state *pvesim.State) { state.VMs[out.VMID].Conf["cores"] = "3" })
		p, err := s.Plan(t.Context(), s.Desired())
		if err != nil || p.Ready() {
			t.Errorf("somebody has changed it by hand, and the plan is %+v, %v", p, err)
		}
	})
}

func TestAListTakesNoRequestAMachine(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		s := l.open(site.Options{})
		var owners []model.Owner
		for i := range 10 {
			owners = append(owners, owner("shop", fmt.Sprintf("web-%d", i)))
		}
		l.put(s, machine(3), owners...)
		if err := s.Put(owner("other", "web-0"), machine(3)); !errors.Is(err, site.ErrSameKey) {
			t.Errorf("another set's machine of the same name takes its place: %v", err)
		}
		other := l.open(site.Options{})
		l.put(other, machine(3), owner("other", "web-0"))
		for _, o := range owners {
			l.await(s, o, site.Ready)
		}
		l.await(other, owner("other", "web-0"), site.Ready)
		other.Close()
		s.Close()
		time.Sleep(time.Minute) // lists are late about names
		// Another process knows nothing.
		next, err := site.Open(l.config(), site.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer next.Close()
		before := l.sim.RequestCount()
		list, err := next.List(t.Context(), "test", "shop")
		if err != nil || len(list) != len(owners) {
			t.Fatalf("%v, %+v", err, list)
		}
		const login, lists = 1, 3
		if n := l.sim.RequestCount() - before; n > login+lists {
			t.Errorf("%d requests for %d machines", n, len(list))
		}
		whose, err := next.Owner(t.Context(), list[3].Guest.VMID)
		if err != nil || whose.Set != "shop" || whose.Name != list[3].Guest.Name {
			t.Errorf("%+v, %v", whose, err)
		}
		if list, err = next.List(t.Context(), "test", "nobody"); err != nil || len(list) != 0 {
			t.Errorf("%v, %+v", err, list)
		}
	})
}

// A clone has no tags until it is configured: whoever asks for what was begun gets it by its notes, which are read of guests with the right names only.
func TestWhatWasBegunIsFoundByItsNotes(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		s := l.open(site.Options{})
		l.put(s, machine(2), owner("shop", "web-1"), owner("shop", "db-1"))
		time.Sleep(time.Second) // clones are under way
		s.Close()
		time.Sleep(time.Minute) // lists are late about names
		next, err := site.Open(l.config(), site.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer next.Close()
		named := func(name string) bool { return strings.HasPrefix(name, "web-") }
		if list, err := next.List(t.Context(), "test", "shop"); err != nil || len(list) != 0 {
			t.Fatalf("they have tags: %+v, %v", list, err)
		}
		for _, c := range []struct {
			set                string
			machines, requests int
		}{{"shop", 1, 1}, {"shop", 1, 0}, {"other", 0, 0}} {
			before := l.sim.RequestCount()
			list, err := next.Begun(t.Context(), "test", c.set, named)
			if err != nil || len(list) != c.machines || c.machines > 0 && list[0].Owner != owner("shop", "web-1") {
				t.Errorf("%s: %+v, %v", c.set, list, err)
			}
			if n := l.sim.RequestCount() - before; n != c.requests {
				t.Errorf("%s: %d requests", c.set, n)
			}
		}
		// Of one that can't be read nothing is known; the others are found.
		all := func(string) bool { return true }
		id, err := l.sim.AddFault(pvesim.Fault{Path: "/nodes/*/qemu/*/pending", Status: 595})
		if err != nil {
			t.Fatal(err)
		}
		if list, err := next.Begun(t.Context(), "test", "shop", all); !errors.Is(err, pve.ErrNodeUnreachable) || len(list) != 1 {
			t.Errorf("%+v, %v", list, err)
		}
		l.sim.RemoveFault(id)
		time.Sleep(time.Minute) // the node isn't asked for a while
		if list, err := next.Begun(t.Context(), "test", "shop", all); err != nil || len(list) != 2 {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

func TestAKilledProcessFindsItsMachinesAgain(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		s := l.open(site.Options{})
		owners := []model.Owner{owner("shop", "web-1"), owner("shop", "web-2"), owner("shop", "web-3")}
		l.put(s, machine(2), owners...)
		time.Sleep(time.Second) // clones are under way
		s.Close()
		next, err := site.Open(l.config(), site.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer next.Close()
		l.put(next, machine(2), owners[:2]...)
		for _, o := range owners[:2] {
			l.await(next, o, site.Ready)
		}
		if n := len(l.guests()); n != 3 {
			t.Errorf("there are %d machines", n)
		}
		// One that it never put can go all the same.
		if err := next.Remove(t.Context(), owners[2]); err != nil {
			t.Fatal(err)
		}
		l.await(next, owners[2], site.Gone)
		if n := len(l.guests()); n != 2 {
			t.Errorf("there are %d machines", n)
		}
	})
}

func TestRemovingWhatIsBeingMadeLeavesNothing(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		s := l.open(site.Options{})
		defer s.Close()
		for i, wait := range []time.Duration{0, time.Second, 2500 * time.Millisecond, 4 * time.Second} {
			web := owner("shop", fmt.Sprintf("web-%d", i))
			l.put(s, machine(2), web)
			time.Sleep(wait)
			if err := s.Remove(t.Context(), web); err != nil {
				t.Fatal(err)
			}
			l.await(s, web, site.Gone)
			if left := l.guests(); len(left) != 0 {
				t.Errorf("removed after %s, and left: %v", wait, left)
			}
		}
	})
}

func TestAChangeThatIsNotAllowedIsRefused(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		s := l.open(site.Options{})
		defer s.Close()
		web := owner("shop", "web")
		l.put(s, machine(2), web)
		l.await(s, web, site.Ready)
		other := machine(2)
		other.Options["cpu"], other.Managed = "host", []string{"cores", "cpu"}
		l.put(s, other, web)
		out, err := s.Await(t.Context(), web, site.Ready)
		if err == nil || out.State != engine.StateRefused || len(out.Refused) == 0 || out.Refused[0].Effect != plan.Restart {
			t.Errorf("%v, %+v", err, out)
		}
	})
}

func TestForgottenMachinesStay(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		s := l.open(site.Options{})
		defer s.Close()
		web := owner("shop", "web")
		l.put(s, machine(2), web)
		l.await(s, web, site.Ready)
		s.Forget(web)
		time.Sleep(10 * time.Minute)
		if len(l.guests()) != 1 || len(s.Desired().VMs) != 0 {
			t.Errorf("%v, %+v", l.guests(), s.Desired())
		}
		other := l.open(site.Options{})
		defer other.Close()
		if err := other.Put(web, machine(2)); err != nil {
			t.Errorf("nobody wants anything of it, and %v", err)
		}
	})
}
