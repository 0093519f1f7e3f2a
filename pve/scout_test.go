package pve_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

func TestClonesFindOutHowManyAStorageTakes(t *testing.T) {
	for _, c := range []struct {
		reason  string
		places  int
		storage string
		link    time.Duration // with the lock held
		bound   time.Duration
		shared  bool
	}{
		{reason: "nobody waits, so all are let in within moments", storage: "local", link: 2 * time.Second, bound: 2 * time.Second},
		{reason: "more would time out", storage: "local", places: 4, link: 2 * time.Second, bound: 50 * time.Second},
		{reason: "one at a time, and quick", storage: "local", places: 1, link: 200 * time.Millisecond, bound: 20 * time.Second},
		{reason: "a lock of the whole cluster", storage: "nfs", shared: true, places: 2, link: time.Second, bound: 50 * time.Second},
	} {
		t.Run(c.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := pvesim.DefaultWorld()
				w.Timing, w.Load = pvesim.Timing{Link: pvesim.Duration(c.link)}, pvesim.Load{}
				w.Locks.Storage = c.places
				w.Guests = []pvesim.WorldGuest{{ID: 9000, Node: "pve1", Template: true, Config: map[string]string{"scsi0": c.storage + ":1,format=qcow2"}}}
				sim, err := pvesim.New(w)
				if err != nil {
					t.Fatal(err)
				}
				defer sim.Close()
				transport, stop := sim.Transport()
				defer stop()
				client, err := pve.New(pve.Config{
					Endpoints: []string{"http://pve1"}, TLS: pve.TLS{Insecure: true}, RoundTripper: transport, Credentials: pve.Password("root@pam", "proxplane"),
				})
				if err != nil {
					t.Fatal(err)
				}
				const n = 100
				client = client.With(pve.OnStorage(c.storage, c.shared))
				tasks := client.Watch(t.Context(), pve.WatchOptions{})
				start := time.Now()
				var all sync.WaitGroup
				for i := range n {
					all.Go(func() {
						upid, err := client.VM("pve1", 9000).Clone(t.Context(), pve.CloneOptions{NewID: 10000 + i})
						if err == nil {
							err = (<-tasks.Follow(upid)).Err
						}
						if err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				if took := time.Since(start); took > c.bound*11/10+500*time.Millisecond {
					t.Errorf("%d clones took %v, where %v is possible", n, took, c.bound)
				}
			})
		})
	}
}

// blindClones wants 100 clones of a storage that can take few of them, on a node that doesn't
// say how far they are. looks counts how often it was asked for that.
func blindClones(ctx context.Context, t *testing.T, retry pve.Retry, during func(all *sync.WaitGroup, looks func() int)) {
	w := pvesim.DefaultWorld()
	w.Timing, w.Load = pvesim.Timing{Link: pvesim.Duration(time.Hour)}, pvesim.Load{}
	w.Guests = []pvesim.WorldGuest{{ID: 9000, Node: "pve1", Template: true, Config: map[string]string{"scsi0": "local:1,format=qcow2"}}}
	sim, err := pvesim.New(w)
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	if _, err := sim.AddFault(pvesim.Fault{Path: "/nodes/*/tasks/*/log", Status: 595}); err != nil {
		t.Fatal(err)
	}
	transport, stop := sim.Transport()
	defer stop()
	client, err := pve.New(pve.Config{
		Endpoints: []string{"http://pve1"}, TLS: pve.TLS{Insecure: true}, RoundTripper: transport, Credentials: pve.Password("root@pam", "proxplane"), Retry: retry,
	})
	if err != nil {
		t.Fatal(err)
	}
	client = client.With(pve.OnStorage("local", false))
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() { _, _ = client.VM("pve1", 9000).Clone(ctx, pve.CloneOptions{NewID: 10000 + i}) })
	}
	during(&all, func() (n int) {
		for _, r := range sim.Requests(0) {
			if strings.Contains(r.URL, "/log") {
				n++
			}
		}
		return n
	})
}

func TestNobodyLooksAtClonesWhenAllWhoWaitedHaveGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, giveUp := context.WithCancel(t.Context())
		defer giveUp()
		blindClones(ctx, t, pve.Retry{Attempts: 1000, Base: time.Second}, func(all *sync.WaitGroup, looks func() int) {
			time.Sleep(10 * time.Second)
			giveUp()
			all.Wait()
			synctest.Wait()
			before := looks()
			time.Sleep(time.Minute)
			if after := looks(); before == 0 || after > before {
				t.Errorf("clones were looked at %d times while others waited, and %d times afterwards", before, after-before)
			}
		})
	})
}

func TestClonesOnANodeThatDoesNotAnswerAreSeldomLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, giveUp := context.WithCancel(t.Context())
		defer giveUp()
		blindClones(ctx, t, pve.Retry{}, func(all *sync.WaitGroup, looks func() int) {
			time.Sleep(time.Minute)
			if n := looks(); n == 0 || n > 200 {
				t.Errorf("clones were looked at %d times within a minute, and no look was answered", n)
			}
			giveUp()
			all.Wait()
		})
	})
}
