package site_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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

func TestCallersDoNotSeeEachOther(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		var mu sync.Mutex
		heard := map[string]bool{}
		note := func(by string) site.Options {
			return site.Options{Set: by, Options: engine.Options{Changed: func(o site.Outcome) {
				mu.Lock()
				defer mu.Unlock()
				heard[by+" of "+o.Owner.Set] = true
			}}}
		}
		blue, red := l.open(note("blue")), l.open(note("red"))
		defer blue.Close()
		defer red.Close()
		// The same name in both, and each is to be alone among its own.
		alone := machine(2)
		alone.Labels = map[string]string{"app": "web"}
		alone.Place = model.Place{Nodes: []string{"pve1"}, AntiAffinity: []model.Selector{{Key: "app", Operator: "Exists"}}}
		l.put(blue, alone, owner("blue", "web"))
		l.put(red, alone, owner("red", "web"))
		one, two := l.await(blue, owner("blue", "web"), site.Ready), l.await(red, owner("red", "web"), site.Ready)
		if one.VMID == two.VMID || one.Node != "pve1" || two.Node != "pve1" {
			t.Errorf("%+v\n%+v", one, two)
		}
		if _, err := blue.Await(t.Context(), owner("red", "web"), site.Ready); !errors.Is(err, site.ErrNotWanted) {
			t.Errorf("one waits for what is another's: %v", err)
		}
		third := l.open(site.Options{})
		defer third.Close()
		if err := third.Put(owner("red", "web"), alone); !errors.Is(err, site.ErrTaken) {
			t.Errorf("one puts what is another's: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		if heard["blue of red"] || heard["red of blue"] || !heard["red of red"] || !heard["blue of blue"] {
			t.Errorf("%v", heard)
		}
	})
}

func TestCallersShareUntilTheLastOneCloses(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		first, second := l.open(site.Options{}), l.open(site.Options{})
		if first.Client() != second.Client() || first.Observer() != second.Observer() {
			t.Fatal("they share nothing")
		}
		web, db := owner("shop", "web"), owner("shop", "db")
		l.put(first, machine(2), web)
		l.put(second, machine(2), db)
		l.await(first, web, site.Ready)
		first.Close()
		first.Close()
		if err := first.Put(web, machine(2)); !errors.Is(err, site.ErrClosed) {
			t.Errorf("%v", err)
		}
		if _, err := first.Await(t.Context(), web, site.Ready); !errors.Is(err, site.ErrClosed) {
			t.Errorf("%v", err)
		}
		l.await(second, db, site.Ready)
		if len(l.guests()) != 2 {
			t.Errorf("%v", l.guests())
		}
		// What one has left another can take over.
		l.put(second, machine(2), web)
		l.await(second, web, site.Ready)
		idle := l.open(site.Options{}) // wants nothing
		defer idle.Close()
		second.Close()
		before := l.sim.RequestCount()
		time.Sleep(10 * time.Minute)
		if n := l.sim.RequestCount() - before; n > 0 {
			t.Errorf("nobody wants anything any more, and there are %d requests", n)
		}
		idle.Close()
		third := l.open(site.Options{})
		defer third.Close()
		if third.Client() == first.Client() {
			t.Error("what is closed is used on")
		}
	})
}

func TestOtherCredentialsShareNothingButTheBounds(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		cfg, other := l.config(), l.config()
		other.Proxmox.RoundTripper = cfg.Proxmox.RoundTripper
		cfg.Identify, other.Identify = true, true
		other.Keys = model.Keys{[]byte("0123456789abcdef0123456789abcdef")}
		one, err := l.sites.Open(cfg, site.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer one.Close()
		two, err := l.sites.Open(other, site.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer two.Close()
		for _, s := range []*site.Site{one, two} {
			if err := s.View(t.Context(), func(*model.Observed) {}); err != nil {
				t.Fatal(err)
			}
		}
		if one.Observer() == two.Observer() || one.Client() == two.Client() {
			t.Error("what is seen depends on the credentials and keys, and it is shared")
		}
		if one.Client().Load() != two.Client().Load() || one.Identity() == "" || one.Identity() != two.Identity() {
			t.Error("two clients of one cluster are bounded apart")
		}
	})
}

func TestManyWhoPutOneAskNoMoreThanOneWhoPutsMany(t *testing.T) {
	const n = 30
	cost := func(put func(l *lab) []*site.Site) (requests int, took time.Duration) {
		inLab(t, func(t *testing.T, l *lab) {
			begun := time.Now()
			sites := put(l)
			took, requests = time.Since(begun), l.sim.RequestCount()
			if len(l.guests()) != n {
				t.Errorf("%d machines", len(l.guests()))
			}
			for _, s := range sites {
				s.Close()
			}
		})
		return requests, took
	}
	apply, applyTook := cost(func(l *lab) []*site.Site {
		s := l.open(site.Options{})
		want := model.Desired{Set: "shop", Range: model.DefaultRange, Images: []model.Image{{Owner: model.Owner{Door: "test", Set: "shop", Key: debian}, Template: "debian"}}}
		for i := range n {
			v := machine(2)
			v.Owner, v.Name, v.Range = owner("shop", fmt.Sprintf("web-%d", i)), fmt.Sprintf("web-%d", i), model.DefaultRange
			want.VMs = append(want.VMs, v)
		}
		report, err := s.Apply(l.t.Context(), want, engine.Options{})
		if err != nil || !report.Converged() {
			l.t.Errorf("%v, %+v", err, report)
		}
		return []*site.Site{s}
	})
	for name, each := range map[string]bool{"one caller": false, "callers of their own": true} {
		requests, took := cost(func(l *lab) (sites []*site.Site) {
			var all sync.WaitGroup
			var mu sync.Mutex
			s := l.open(site.Options{})
			sites = append(sites, s)
			for i := range n {
				all.Go(func() {
					s := s
					if each {
						s = l.open(site.Options{})
						mu.Lock()
						sites = append(sites, s)
						mu.Unlock()
					}
					o := owner("shop", fmt.Sprintf("web-%d", i))
					l.put(s, machine(2), o)
					l.await(s, o, site.Ready)
				})
			}
			all.Wait()
			return sites
		})
		t.Logf("%s: %d requests in %s; apply makes %d in %s", name, requests, took, apply, applyTook)
		// A session looks at the cluster once in a while, and apply asks for old tasks, too.
		const rounds = 5
		if requests > apply+rounds || took > applyTook+applyTook/10 {
			t.Errorf("%s: %d requests in %s; apply makes %d in %s", name, requests, took, apply, applyTook)
		}
	}
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

func TestAwaitSaysWhatIsInTheWay(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		s := l.open(site.Options{})
		defer s.Close()
		id, err := l.sim.AddFault(pvesim.Fault{Method: "POST", Path: "/nodes/*/qemu/*/clone", Status: 400, Reason: "Parameter verification failed."})
		if err != nil {
			t.Fatal(err)
		}
		lost := machine(2)
		lost.Place.Nodes = []string{"pve9"}
		for _, c := range []struct {
			name   string
			vm     model.VM
			reason string
			state  engine.State
		}{
			{"refused", machine(2), "Parameter verification failed", engine.StateFailed},
			{"nowhere", lost, "pve9", engine.StateWaiting},
		} {
			web := owner("shop", c.name)
			l.put(s, c.vm, web)
			out, err := s.Await(t.Context(), web, site.Ready)
			var why *site.AwaitError
			if !errors.As(err, &why) || why.Err != nil || !strings.Contains(err.Error(), c.reason) || out.State != c.state {
				t.Errorf("%s: %v, %+v", c.name, err, out)
			}
		}
		l.sim.RemoveFault(id)
		web := owner("shop", "slow")
		l.put(s, machine(2), web)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("a second has passed"))
		defer cancel()
		if _, err := s.Await(ctx, web, site.Ready); err == nil || !strings.Contains(err.Error(), "a second has passed") {
			t.Errorf("%v", err)
		}
		l.await(s, web, site.Ready) // it was gone on with
	})
}

func TestAwaitWaitsWhileProxmoxIsAwayAndNotForALogin(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		s := l.open(site.Options{})
		defer s.Close()
		id, err := l.sim.AddFault(pvesim.Fault{Path: "**", Drop: "before"})
		if err != nil {
			t.Fatal(err)
		}
		web := owner("shop", "web")
		l.put(s, machine(2), web)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if _, err := s.Await(ctx, web, site.Ready); err == nil || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "reached") {
			t.Errorf("%v", err)
		}
		l.sim.RemoveFault(id)
		l.await(s, web, site.Ready)
		cfg := l.config()
		cfg.Proxmox.Credentials = pve.Password("root@pam", "wrong")
		stranger, err := l.sites.Open(cfg, site.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer stranger.Close()
		l.put(stranger, machine(2), owner("shop", "other"))
		out, err := stranger.Await(t.Context(), owner("shop", "other"), site.Ready)
		if err == nil || out.Wait == nil || out.Wait.Reason != model.WaitLogin {
			t.Errorf("%v, %+v", err, out)
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

func TestAWatcherSeesEachObjectAndItsEnd(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		s := l.open(site.Options{})
		web := owner("shop", "web")
		states := make(chan []engine.State)
		go func() {
			var seen []engine.State
			for o := range s.Watch(t.Context()) {
				if o.Owner == web && (len(seen) == 0 || seen[len(seen)-1] != o.State) {
					seen = append(seen, o.State)
				}
			}
			states <- seen
		}()
		l.put(s, machine(2), web)
		l.await(s, web, site.Ready)
		if err := s.Remove(t.Context(), web); err != nil {
			t.Fatal(err)
		}
		l.await(s, web, site.Gone)
		s.Close()
		seen := <-states
		if len(seen) < 3 || seen[0] != engine.StateChanging || seen[len(seen)-1] != engine.StateGone {
			t.Errorf("%v", seen)
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

func TestCredentialsChangeInPlaceForOneCallerOnly(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		s := l.open(site.Options{})
		defer s.Close()
		web := owner("shop", "web")
		l.put(s, machine(2), web)
		l.await(s, web, site.Ready)
		if ok, err := s.Relogin(pve.Password("root@pam", "wrong")); !ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
		time.Sleep(3 * time.Hour) // tickets last for two
		if w, _ := s.Trouble(); w == nil || w.Reason != model.WaitLogin {
			t.Errorf("the password is wrong, and %+v", w)
		}
		if ok, err := s.Relogin(pve.Password("root@pam", "secret")); !ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
		time.Sleep(time.Minute)
		if w, _ := s.Trouble(); w != nil {
			t.Errorf("%+v", w)
		}
		other := l.open(site.Options{})
		defer other.Close()
		if ok, err := s.Relogin(pve.Password("root@pam", "new")); ok || err != nil {
			t.Errorf("another caller has these credentials, too: %v, %v", ok, err)
		}
	})
}
