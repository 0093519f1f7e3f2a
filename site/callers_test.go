package site_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/site"
)

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

// A Provider has the identity of its Proxmox written down; a second Provider, or another door, doesn't know it yet. Both
// mean the same Proxmox.
func TestCallersThatRequireAnIdentityShareWithThoseThatDoNot(t *testing.T) {
	const another = "AB:CD"
	for _, c := range []struct {
		name          string
		first, second string // what they require; "is": what there is
		read          bool   // it is known what there is when the second one comes
		share         bool
	}{
		{"the later one doesn't know it", "is", "", true, true},
		{"the later one doesn't know it, and nothing was read yet", "is", "", false, true},
		{"the first one didn't know it", "", "is", true, true},
		{"the first one didn't know it, and nothing was read yet", "", "is", false, true},
		{"the later one requires another", "", another, true, false},
		{"they require different ones", "is", another, false, false},
		{"the first one was refused", another, "", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inLab(t, func(t *testing.T, l *lab) {
				l.cfg.Identify = true
				open := func(identity string, read bool) *site.Site {
					t.Helper()
					l.cfg.Identity = identity
					s := l.open(site.Options{})
					if read {
						_ = s.View(t.Context(), func(*model.Observed) {})
					}
					return s
				}
				before := open("", true)
				is := before.Identity()
				before.Close()
				identity := strings.NewReplacer("is", is)
				first := open(identity.Replace(c.first), c.read)
				second := open(identity.Replace(c.second), false)
				defer second.Close()
				if shared := first.Observer() == second.Observer(); shared != c.share {
					t.Errorf("shared: %v", shared)
				}
				refused := func(s *site.Site) bool { return s.View(t.Context(), func(*model.Observed) {}) != nil }
				if refused(first) != (c.first == another) || refused(second) != (c.second == another) {
					t.Errorf("refused: %v, %v", refused(first), refused(second))
				}
				first.Close()
				if refused(second) != (c.second == another) {
					t.Error("the first one has gone, and what the second one requires doesn't hold")
				}
			})
		})
	}
}

// What one requires is required no longer when it has gone.
func TestWhatACallerRequiredEndsWithIt(t *testing.T) {
	inLab(t, func(t *testing.T, l *lab) {
		l.cfg.Identify, l.cfg.Identity = true, "AB:CD"
		wrong := l.open(site.Options{})
		l.cfg.Identity = ""
		any := l.open(site.Options{})
		defer any.Close()
		look := func() error { return any.View(t.Context(), func(*model.Observed) {}) }
		if err := look(); err == nil || any.Identity() != "" {
			t.Errorf("%v, %q", err, any.Identity())
		}
		wrong.Close()
		if err := look(); err != nil || any.Identity() == "" {
			t.Errorf("%v, %q", err, any.Identity())
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
