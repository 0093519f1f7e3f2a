package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// A session that begins with many machines reads them bit by bit, and says of none how it is
// before it has read it.
func TestASessionThatBeginsReadsItsMachinesBitByBit(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		const n = 200
		list := machines(n)
		for i := range list {
			list[i].Options["memory"] = "640"
		}
		l.mustConverge(desired(list...))
		l.kill("web-199") // the lists show that
		list[198].Options = map[string]string{"cores": "2", "memory": "640", "tablet": "0"}
		list[198].Update = model.Allow{Restart: true}
		time.Sleep(time.Minute)

		s := l.newSession()
		s.after = func(o engine.Outcome) {
			if o.Owner.Kind == "VirtualMachine" && o.State == engine.StateWaiting && o.Owner.Name < "web-198" && o.Text == "not done yet" {
				t.Errorf("%s is told as %s: %s", o.Owner.Name, o.State, o.Text)
			}
		}
		l.serveWith(s, l.connect(pve.Token("root@pam!lab", secret)), 0)
		before := l.sim.RequestCount()
		s.Want(desired(list...), nil)
		most, last := 0, before
		for second := range 60 {
			time.Sleep(time.Second)
			now := l.sim.RequestCount()
			if second > 5 {
				most = max(most, now-last)
			}
			if second == 5 && now-before > 4*n {
				t.Errorf("%d requests within the first seconds", now-before)
			}
			last = now
			if second == 20 {
				for _, name := range []string{"web-198", "web-199"} {
					if o := s.of(name); o.State != engine.StateReady {
						t.Errorf("%s is %s after 20 s: %s", name, o.State, o.Text)
					}
				}
				if ready := s.ready(n); ready == n {
					t.Error("all were read at once")
				}
			}
		}
		if most > 40 {
			t.Errorf("%d requests within a second", most)
		}
		if ready := s.ready(n); ready != n {
			t.Errorf("%d of %d are ready after a minute", ready, n)
		}
		s.end()
	})
}

// ready counts the machines that are told as ready.
func (s *session) ready(n int) (ready int) {
	for i := range n {
		if s.of(fmt.Sprintf("web-%d", i)).State == engine.StateReady {
			ready++
		}
	}
	return ready
}

// Proxmox goes away before all machines were read: that is told of the others.
func TestMachinesThatWerentReadYetSayThatProxmoxIsAway(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		const n = 120
		list := machines(n)
		for i := range list {
			list[i].Options["memory"] = "640"
		}
		l.mustConverge(desired(list...))
		time.Sleep(time.Minute)
		s := l.serve(l.connect(pve.Token("root@pam!lab", secret)))
		defer s.end()
		s.Want(desired(list...), nil)
		time.Sleep(5 * time.Second)
		if ready := s.ready(n); ready == 0 || ready == n {
			t.Fatalf("%d are ready after 5 s", ready)
		}
		fault, err := l.sim.AddFault(pvesim.Fault{Path: "**", Drop: "before"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		for i := range n {
			// Those that were read are as they were seen last.
			if o := s.of(fmt.Sprintf("web-%d", i)); o.State != engine.StateReady && (o.Wait == nil || o.Wait.Reason != model.WaitAway) {
				t.Fatalf("web-%d is %s: %s", i, o.State, o.Text)
			}
		}
		l.sim.RemoveFault(fault)
		time.Sleep(3 * time.Minute)
		if ready := s.ready(n); ready != n {
			t.Errorf("%d of %d are ready again", ready, n)
		}
	})
}

// Proxmox is away when a session begins: once it is back, machines that weren't read yet don't go
// on saying that it is away.
func TestMachinesThatWerentReadYetSayThatProxmoxIsBack(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		const n = 150
		list := machines(n)
		for i := range list {
			list[i].Options["memory"] = "640"
		}
		l.mustConverge(desired(list...))
		time.Sleep(time.Minute)
		fault, err := l.sim.AddFault(pvesim.Fault{Path: "**", Drop: "before"})
		if err != nil {
			t.Fatal(err)
		}
		s := l.serve(l.connect(pve.Token("root@pam!lab", secret)))
		defer s.end()
		s.Want(desired(list...), nil)
		time.Sleep(2 * time.Minute)
		if away := s.waiting(n, model.WaitAway); away != n {
			t.Fatalf("%d of %d say that Proxmox is away", away, n)
		}
		l.sim.RemoveFault(fault)
		for range 60 {
			if time.Sleep(time.Second); s.ready(n) > 0 {
				break
			}
		}
		if away, unread := s.waiting(n, model.WaitAway), s.waiting(n, model.WaitReread); away != 0 || unread == 0 {
			t.Errorf("Proxmox is back, and of %d machines %d wait to be read, and %d say that it is away", n, unread, away)
		}
		time.Sleep(3 * time.Minute)
		if ready := s.ready(n); ready != n {
			t.Errorf("%d of %d are ready again", ready, n)
		}
	})
}

// waiting counts the machines that are told to wait for a reason.
func (s *session) waiting(n int, reason model.Reason) (waiting int) {
	for i := range n {
		if o := s.of(fmt.Sprintf("web-%d", i)); o.Wait != nil && o.Wait.Reason == reason {
			waiting++
		}
	}
	return waiting
}
