package outside_test

import (
	"flag"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/test/kit/outside"
)

var (
	kills = flag.Int("kills", 6, "how often proxplane is killed in all")
	seed  = flag.Uint64("seed", 1, "chooses the moments")
)

// TestKilledAtAnyMomentItGoesOn kills proxplane when the simulator has answered so
// many requests, and starts it again; at the end all is as if nothing had happened.
func TestKilledAtAnyMomentItGoesOn(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(*seed, 0))
	for round, left := 0, *kills; left > 0; round++ {
		l := newLab(t, pickRelease(round))
		t.Logf("round %d of seed %d, on Proxmox VE %s, %d kills to go", round, *seed, pickRelease(round), left)
		for _, part := range []struct {
			file    string
			command outside.Command
			wishes  []model.Owner
			most    int // requests that it makes when nobody kills it, about
		}{
			{"first.yaml", l.apply(shop), firstWishes(), 110},
			{"second.yaml", l.apply(shop), secondWishes(), 70},
			{"second.yaml", l.remove(shop), nil, 60},
		} {
			l.write(part.file)
			n := min(left, 1+dice.IntN(5))
			for range n {
				if l.killed(part.command, 1+dice.IntN(part.most)) {
					left--
				}
			}
			l.succeeds(part.command)
			l.settled(shop, part.wishes...)
		}
		l.must(l.sim.Stop())
	}
}

// pickRelease has the releases take turns.
func pickRelease(round int) string {
	all := schema.Releases()
	return all[round%len(all)]
}

// killed starts a command and kills it when so many more requests were answered.
// False: it was quicker.
func (l *lab) killed(c outside.Command, after int) bool {
	l.t.Helper()
	before, err := l.sim.Count(l.ctx)
	l.must(err)
	p := l.start(c)
	reached := make(chan error, 1)
	go func() { reached <- l.sim.Await(l.ctx, before+after) }()
	select {
	case err := <-reached:
		l.must(err)
	case <-p.Ended():
	}
	r := p.Kill()
	switch {
	case r.Signal == syscall.SIGKILL:
		return true
	case r.Code != 0:
		l.t.Fatalf("it ended by itself: %v", r)
	}
	return false
}
