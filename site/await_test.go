package site_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
)

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
