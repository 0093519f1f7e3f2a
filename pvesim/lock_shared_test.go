package pvesim

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestReadersShareALockAndWritersWaitForAllOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Sim{clock: newShiftClock(realClock{}), locks: map[string]*fileLock{}, closed: make(chan struct{})}
		var order []string
		act := func(name string, start, hold, wait time.Duration, shared bool) {
			go func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				a := &actor{Sim: s}
				a.sleep(start)
				take := func() (func(), bool) { return a.acquire("f", 1, wait) }
				if shared {
					take = func() (func(), bool) { return a.acquireShared("f", wait) }
				}
				release, ok := take()
				if !ok {
					order = append(order, name+" gave up")
					return
				}
				order = append(order, name)
				a.sleep(hold)
				release()
			}()
		}
		act("reader 1", 0, 10*time.Second, time.Second, true)
		act("writer 1", time.Second, 5*time.Second, time.Minute, false)
		act("reader 2", 2*time.Second, 10*time.Second, time.Second, true)
		act("reader 3", 13*time.Second, time.Second, time.Minute, true)   // while writer 1 has it
		act("reader 4", 13*time.Second+1, time.Second, time.Minute, true) // with reader 3
		act("reader 5", 13*time.Second+2, time.Second, 2*time.Second, true)
		time.Sleep(time.Hour)
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		want := []string{"reader 1", "reader 2", "writer 1", "reader 5 gave up", "reader 3", "reader 4"}
		if len(order) != len(want) {
			t.Fatalf("order %q, want %q", order, want)
		}
		for i := range want[:4] {
			if order[i] != want[i] {
				t.Fatalf("order %q, want %q", order, want)
			}
		}
		if len(s.locks) != 0 {
			t.Errorf("%d locks are left", len(s.locks))
		}
	})
}

func TestAGuestThatSomebodyWritesIsLeftAlone(t *testing.T) {
	s, err := New(&World{Nodes: []WorldNode{{Name: "pve1"}}, Guests: []WorldGuest{{ID: 100, Node: "pve1"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	touch := func(id int) bool { return s.DoLocked(id, func(vm *VM) { vm.Conf["lock"] = "backup" }) }
	s.mu.Lock()
	unlock, err := (&actor{Sim: s}).lockConfig(100)
	s.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if touch(100) {
		t.Error("a guest was changed while somebody had its lock file")
	}
	s.mu.Lock()
	unlock()
	s.mu.Unlock()
	if !touch(100) || touch(999) {
		t.Error("a guest whose lock file is free wasn't changed, or one that isn't there was")
	}
}
