package pve

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/pve/admission"
)

// narrow lets n writes and n reads through at a time.
func narrow(n int) *admission.Limiter {
	bounds := admission.Bounds{Start: n, Max: n}
	return admission.New(admission.Config{Write: bounds, Storage: bounds, Read: bounds})
}

func inUse(l *admission.Limiter, class admission.Class, node, storage string) int {
	for _, u := range l.Snapshot() {
		if u.Class == class && u.Storage == storage && (storage != "" || u.Node == node) {
			return u.InUse
		}
	}
	return 0
}

func TestAWriteKeepsItsSlotUntilItsTaskIsSeenToEnd(t *testing.T) {
	for name, see := range map[string]func(context.Context, *Client, UPID) error{
		"waiting": func(ctx context.Context, c *Client, upid UPID) error { _, err := c.Task(upid).Wait(ctx); return err },
		"watching": func(ctx context.Context, c *Client, upid UPID) error {
			return (<-c.Watch(ctx, WatchOptions{}).Follow(upid)).Err
		},
		"a list": func(ctx context.Context, c *Client, _ UPID) error {
			time.Sleep(time.Hour)
			_, _, err := c.Node(taskNode).Tasks(ctx, TaskFilter{Source: "all", Limit: 50})
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newTaskServer()
			cfg := virtual(s)
			cfg.Limiter = narrow(4)
			c := client(t, cfg)
			upid, err := c.VM(taskNode, 100).Clone(t.Context(), CloneOptions{NewID: 101, Storage: "lvm"})
			if err != nil {
				t.Fatal(err)
			}
			if n, m := inUse(cfg.Limiter, admission.Write, taskNode, ""), inUse(cfg.Limiter, admission.Write, "", "pve1/lvm"); n != 1 || m != 1 {
				t.Errorf("%s: %d and %d slots held while the task runs", name, n, m)
			}
			if err := see(t.Context(), c, upid); err != nil {
				t.Fatal(err)
			}
			if n := inUse(cfg.Limiter, admission.Write, taskNode, ""); n != 0 {
				t.Errorf("%s: %d slots held after the task's end", name, n)
			}
		})
	}
}

func TestThoseWhoWaitForASlotLookAfterTasksThatNobodyWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		cfg := virtual(s)
		cfg.Limiter = narrow(2)
		c := client(t, cfg)
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 6 { // of a minute each
			wg.Go(func() {
				if _, err := c.VM(taskNode, 100).Clone(t.Context(), CloneOptions{NewID: 101 + i}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took < 2*time.Minute || took > 2*time.Minute+20*time.Second {
			t.Errorf("six clones, two at a time, were all begun after %v", took)
		}
		if n := len(s.requests()); n > 6+2*60 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestATaskCanBeStoppedThoughAllSlotsAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		cfg := virtual(s)
		cfg.Limiter = narrow(1)
		c := client(t, cfg)
		upid, err := c.VM(taskNode, 100).Clone(t.Context(), CloneOptions{NewID: 101})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := c.Task(upid).Stop(t.Context()); err != nil || time.Since(start) > time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestATaskThatOnlyWaitsForAGuestKeepsNoSlot(t *testing.T) {
	s := newTaskServer()
	cfg := virtual(s)
	cfg.Limiter = narrow(1)
	c := client(t, cfg)
	if _, err := c.VM(taskNode, 100).Shutdown(t.Context(), ShutdownOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := inUse(cfg.Limiter, admission.Write, taskNode, ""); n != 0 {
		t.Errorf("%d slots are held", n)
	}
}

func TestASlotIsGivenBackWhenNoTaskStarted(t *testing.T) {
	answers := map[string]func(w http.ResponseWriter, r seen){
		"refused":      func(w http.ResponseWriter, _ seen) { answerMessage(w, 500, "VM is locked (backup)") },
		"lost":         drop,
		"done at once": func(w http.ResponseWriter, _ seen) { answerData(w, nil) },
	}
	for name, answer := range answers {
		synctest.Test(t, func(t *testing.T) {
			cfg := virtual(&recorder{answer: answer})
			cfg.Limiter = narrow(1)
			c := client(t, cfg)
			for range 3 {
				_, _ = c.VM(taskNode, 100).StartConfig(t.Context(), SlowConfigChange{})
				_, _ = c.Version(t.Context())
			}
			if n := inUse(cfg.Limiter, admission.Write, taskNode, "") + inUse(cfg.Limiter, admission.Read, "", ""); n != 0 {
				t.Errorf("%s: %d slots are still held", name, n)
			}
		})
	}
}

func TestATaskThatCannotBeAskedAboutGivesItsSlotBackInTheEnd(t *testing.T) {
	for name, lose := range map[string]func(*taskServer){
		"the node is away": func(s *taskServer) { s.set(taskNode, 595) },
		"the task is gone": func(s *taskServer) { s.tasks[0].gone = true },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newTaskServer()
			cfg := virtual(s)
			cfg.Limiter = narrow(1)
			c := client(t, cfg)
			if _, err := c.VM(taskNode, 100).Clone(t.Context(), CloneOptions{NewID: 101}); err != nil {
				t.Fatal(err)
			}
			lose(s)
			start := time.Now()
			if _, err := c.VM(taskNode, 100).Clone(t.Context(), CloneOptions{NewID: 102}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if took := time.Since(start); took > holdLimit+time.Minute {
				t.Errorf("%s: the next one waited for %v", name, took)
			}
		})
	}
}

func TestWaitingForASlotEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		cfg := virtual(s)
		cfg.Limiter = narrow(1)
		c := client(t, cfg)
		if _, err := c.VM(taskNode, 100).Clone(t.Context(), CloneOptions{NewID: 101}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := c.VM(taskNode, 100).Clone(ctx, CloneOptions{NewID: 102})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("got %v", err)
		}
		if n := s.count("POST /nodes/pve1/qemu/100/clone"); n != 1 {
			t.Errorf("%d clones were sent", n)
		}
	})
}

func TestOnlyOneAgentCallIsUnderWayOnANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := map[string]int{}, map[string]int{}
		h := &recorder{answer: func(w http.ResponseWriter, r seen) {
			node := r.path[len("/nodes/"):][:4]
			mu.Lock()
			now[node]++
			most[node] = max(most[node], now[node])
			mu.Unlock()
			time.Sleep(3 * time.Second)
			mu.Lock()
			now[node]--
			mu.Unlock()
			answerMessage(w, 500, "QEMU guest agent is not running")
		}}
		c := client(t, virtual(h))
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				node := []string{"pve1", "pve2"}[i%2]
				if err := c.VM(node, 100+i).Agent().Ping(t.Context()); !errors.Is(err, ErrAgentNotRunning) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if most["pve1"] != 1 || most["pve2"] != 1 || time.Since(start) > 16*time.Second {
			t.Errorf("at most %v at a time, %v in all", most, time.Since(start))
		}
	})
}

func TestWhichStorageAWriteKeepsBusy(t *testing.T) {
	for _, c := range []struct {
		reason string
		call   func(*Client)
		want   string
	}{
		{"a clone's target", func(c *Client) { _, _ = c.VM("pve1", 1).Clone(t.Context(), CloneOptions{Storage: "a"}) }, "pve1/a"},
		{"said by the caller, shared", func(c *Client) {
			_, _ = c.With(OnStorage("nfs", true)).VM("pve1", 1).Clone(t.Context(), CloneOptions{Storage: "a"})
		}, "nfs"},
		{"said by the caller, local", func(c *Client) {
			_, _ = c.With(OnStorage("lvm", false)).VM("pve1", 1).Resize(t.Context(), ResizeOptions{})
		}, "pve1/lvm"},
		{"a new disk", func(c *Client) {
			_, _ = c.Node("pve1").Create(t.Context(), CreateOptions{Settings: Settings{"ide2": "local:iso/a.iso", "scsi0": "lvm:32,ssd=1"}})
		}, "pve1/lvm"},
		{"an imported disk", func(c *Client) {
			_ = c.VM("pve1", 1).SetConfig(t.Context(), ConfigChange{Set: Settings{"virtio1": "zfs:0,import-from=local:import/a.qcow2"}})
		}, "pve1/zfs"},
		{"an upload", func(c *Client) { _, _ = c.Storage("pve1", "local").Download(t.Context(), DownloadOptions{}) }, "pve1/local"},
		{"an existing disk needs no storage", func(c *Client) {
			_ = c.VM("pve1", 1).SetConfig(t.Context(), ConfigChange{Set: Settings{"scsi0": "lvm:vm-1-disk-0,ssd=1", "memory": "512"}})
		}, ""},
	} {
		cfg := virtual(answering(nil))
		cfg.Limiter = narrow(1)
		c.call(client(t, cfg))
		got := ""
		for _, u := range cfg.Limiter.Snapshot() {
			if u.Storage != "" {
				got = u.Storage
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestWhatTheLimiterLearns(t *testing.T) {
	for _, c := range []struct {
		err  error
		want admission.Outcome
	}{
		{nil, admission.Outcome{}},
		{exitError(UPID{}, "can't lock file '/var/lock/pve-manager/pve-storage-lvm' - got timeout", nil), admission.Outcome{LockTimeout: true}},
		{answerError("PUT", "/x", 500, "cfs-lock 'storage-nfs' error: got lock request timeout", nil), admission.Outcome{LockTimeout: true}},
		{exitError(UPID{}, "can't lock file '/var/lock/qemu-server/lock-301.conf' - got timeout", nil), admission.Outcome{Failed: true}},
		{exitError(UPID{}, "VM is locked (clone)", nil), admission.Outcome{Failed: true}},
		{errors.New("x"), admission.Outcome{Failed: true}},
	} {
		if got := outcomeOf(c.err); got != c.want {
			t.Errorf("%v: got %+v", c.err, got)
		}
	}
}

func TestADestructionThatCouldNotRemoveDisksIsNoSuccess(t *testing.T) {
	for _, c := range []struct {
		reason, kind, exit string
		took               time.Duration
		want               admission.Outcome
	}{
		{"all is well", "qmdestroy", "OK", time.Second, admission.Outcome{}},
		{"it has waited for the lock, and the disk is left", "qmdestroy", "WARNINGS: 1", 11 * time.Second, admission.Outcome{LockTimeout: true}},
		{"it can't have waited for the lock", "qmdestroy", "WARNINGS: 1", 2 * time.Second, admission.Outcome{Failed: true}},
		{"warnings of others mean something else", "qmclone", "WARNINGS: 1", 11 * time.Second, admission.Outcome{}},
		{"it says which lock", "qmclone", "can't lock file '/var/lock/pve-manager/pve-storage-lvm' - got timeout", time.Second, admission.Outcome{LockTimeout: true}},
		{"something else failed", "qmdestroy", "received interrupt", 11 * time.Second, admission.Outcome{Failed: true}},
	} {
		start := time.Now()
		h := &hold{since: start}
		if got := h.outcome(UPID{Type: c.kind}, c.exit, start.Add(c.took)); got != c.want {
			t.Errorf("%s: got %+v", c.reason, got)
		}
	}
}
