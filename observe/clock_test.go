package observe_test

import (
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// Lists are a status round late about guests that have just started. When that was is said by the clocks of nodes, which may be
// wrong by minutes.
func TestListsAreLateByOurClock(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"right": 0, "ahead": 5 * time.Minute, "behind": -5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			inLab(t, world(1), func(t *testing.T, l *lab) {
				o := observe.New(l.client)
				l.start(o, 100)
				time.Sleep(time.Minute)
				l.must(o.Refresh(t.Context(), 0))
				if g := o.Snapshot().Guests[100]; g.Status != model.StatusRunning {
					t.Fatalf("it is %s at first", g.Status)
				}
				upid, err := l.client.VM("pve1", 100).Stop(t.Context(), pve.StopOptions{})
				l.must(err)
				_, err = l.client.Task(upid).Wait(t.Context())
				l.must(err)
				for _, o := range []*observe.Observer{o, observe.New(l.client)} {
					l.must(o.Refresh(t.Context(), 0))
					if g := o.Snapshot().Guests[100]; g.Status == model.StatusRunning {
						t.Errorf("it has just been stopped, and counts as running (stale: %v)", g.StalePower)
					}
				}
				time.Sleep(time.Minute)
				l.must(o.Status(t.Context(), 100))
				l.must(o.Refresh(t.Context(), 0))
				if g := o.Snapshot().Guests[100]; g.Status != model.StatusStopped || g.StalePower {
					t.Errorf("a minute later it is %s (stale: %v)", g.Status, g.StalePower)
				}
			}, pvesim.WithClock(pvesim.AheadClock(ahead)))
		})
	}
}
