package outside_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pvesim"
)

const promised = "Interrupted. Tasks that were started go on in Proxmox; running the same command again continues.\n"

func TestSignalsEndItWithAPromiseThatHolds(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.write("first.yaml")
			l.must(l.sim.Fault(l.ctx, pvesim.Fault{Task: "qmclone", Delay: pvesim.Duration(time.Hour), Nth: 1}))
			p := l.start(l.apply(shop))
			l.awaitTask("qmclone")
			l.must(p.Signal(sig))
			r := p.Wait()
			if r.Code != 130 || !strings.Contains(r.Stderr, promised) {
				t.Errorf("want exit status 130 and the promise, have %v", r)
			}
			l.must(l.sim.Advance(l.ctx, 2*time.Hour))
			l.succeeds(l.apply(shop))
			l.settled(shop, firstWishes()...)
		})
	}
}

// A second Ctrl-C is for those who can't wait.
func TestASecondInterruptEndsItAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write("first.yaml")
	// The answer to a write is waited for after the first one, to know what was done.
	l.must(l.sim.Fault(l.ctx, pvesim.Fault{Method: "POST", Path: "/nodes/*/qemu/*/clone", Delay: pvesim.Duration(time.Hour)}))
	p := l.start(l.apply(shop))
	l.awaitFault()
	l.must(p.Signal(syscall.SIGINT))
	l.must(p.Signal(syscall.SIGINT))
	select {
	case <-p.Ended():
	case <-l.ctx.Done():
		t.Fatal("it still runs")
	}
	l.must(l.sim.Heal(l.ctx))
	l.must(l.sim.Advance(l.ctx, 2*time.Hour))
	l.succeeds(l.apply(shop))
	l.settled(shop, firstWishes()...)
}
