package outside_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/outside"
)

// TestProxmoxMayDieAndComeBack kills the simulated Proxmox again and again while
// proxplane works. proxplane waits for it to be back and goes on, or says which
// lock the crash has left, which only an administrator may remove.
func TestProxmoxMayDieAndComeBack(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(*seed, 1))
	for died, enough := 0, max(2, *kills/10); died < enough; {
		l := newLab(t)
		l.write("first.yaml")
		before, repaired := died, 0
		for done := false; !done; {
			p := l.start(l.apply(shop))
			for died < enough && l.simDies(p, 1+dice.IntN(60)) {
				died++
			}
			if done = l.endsOrSaysWhatIsLocked(p); !done {
				l.repair(l.quiet())
				repaired++
			}
		}
		t.Logf("seed %d: it died %d times and was repaired %d times", *seed, died-before, repaired)
		l.recovered()
		l.must(l.sim.Stop())
	}
}

// recovered checks what has to hold after Proxmox has crashed, once proxplane has
// looked again: the simulator may have lost what it said in its last moment. Volumes
// of machines that were being made then may be left: nothing names them any more.
func (l *lab) recovered() {
	l.t.Helper()
	l.succeeds(l.apply(shop))
	s := l.quiet()
	for _, wrong := range slices.Concat(l.before.Wishes(s, firstWishes()...), l.before.Touched(s), l.before.Written(l.requests())) {
		l.t.Error(wrong)
	}
	r := l.start(l.command("plan", "-f", l.folder, "--set", shop, "--detailed-exitcode")).Wait()
	if r.Code != 0 {
		l.t.Errorf("there is still something to do: %v", r)
	}
}

// simDies kills the simulator when so many requests were answered, and starts it
// again with what it has kept. False: the program has ended, or waits for a lock and asks
// for little any more.
func (l *lab) simDies(p *outside.Process, after int) bool {
	l.t.Helper()
	before, err := l.sim.Count(l.ctx)
	l.must(err)
	reached := make(chan error, 1)
	go func() { reached <- l.sim.Await(l.ctx, before+after) }()
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	locked := make(chan struct{})
	go func() {
		if _, err := p.Await(ctx, "qm unlock"); err == nil {
			close(locked)
		}
	}()
	select {
	case <-locked:
		return false
	case err := <-reached:
		l.must(err)
	case <-p.Ended():
		return false
	}
	l.must(l.sim.Restart(l.ctx))
	return true
}

// endsOrSaysWhatIsLocked waits for the end, or for a lock that keeps it waiting.
func (l *lab) endsOrSaysWhatIsLocked(p *outside.Process) bool {
	l.t.Helper()
	if _, err := p.Await(l.ctx, "qm unlock"); err == nil {
		l.must(p.Signal(syscall.SIGINT))
		p.Wait()
		return false
	}
	if r := p.Wait(); r.Code != 0 {
		l.t.Fatal(r)
	}
	return true
}

// repair does what an administrator does after a crash, when no task runs any more:
// the machines that were being made then are of no use, the others only have to be
// unlocked. It says how many were locked.
func (l *lab) repair(s *pvesim.State) (locked int) {
	l.t.Helper()
	admin, err := pve.New(pve.Config{
		Endpoints: []string{l.sim.URL}, TLS: pve.TLS{Fingerprints: []string{l.sim.Fingerprint}}, Credentials: pve.Password("root@pam", "proxplane"),
	})
	l.must(err)
	for id, vm := range s.VMs {
		if l.before.Has(id) || vm.Conf["lock"] == "" {
			continue
		}
		locked++
		one, whole := admin.VM(vm.Node, id), true
		upid := pve.UPID{}
		if lock := vm.Conf["lock"]; lock == "clone" || lock == "create" || lock == "destroyed" {
			upid, err = one.Destroy(l.ctx, pve.DestroyOptions{Purge: true, UnreferencedDisks: &whole, SkipLock: true})
		} else {
			err = one.SetConfig(l.ctx, pve.ConfigChange{Delete: []string{"lock"}, SkipLock: true})
		}
		l.must(err)
		if upid.IsZero() {
			continue
		}
		_, err = admin.Task(upid).Wait(l.ctx)
		l.must(err)
	}
	return locked
}
