package observe_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// wrongClock is that of nodes that think it is another time.
type wrongClock time.Duration

func (c wrongClock) Now() time.Time { return time.Now().Add(time.Duration(c)) }

func (c wrongClock) After(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// Lists are a status round late about guests that have just started. When that was is said by the clocks of nodes, which may be
// wrong by minutes.
func TestListsAreLateByOurClock(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"right": 0, "ahead": 5 * time.Minute, "behind": -5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, err := pvesim.New(world(1), pvesim.WithClock(wrongClock(ahead)))
				if err != nil {
					t.Fatal(err)
				}
				l := &lab{t: t, sim: sim}
				defer l.sim.Close()
				l.client = l.connect(pve.Password("root@pam", "secret"))
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
			})
		})
	}
}
