package pvesim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// fileLock is a lock file or cluster lock with room for one holder, or for
// as many as the world says. Waiters are served in their order.
type fileLock struct {
	held    int
	waiters []chan struct{}
	sharing sharing
}

// How long Proxmox waits for its locks.
const (
	configLockWait  = 10 * time.Second
	storageLockWait = 10 * time.Second
)

// acquire takes a lock, waiting up to wait; room is how many may hold it at
// once (0: any number).
func (a *actor) acquire(name string, room int, wait time.Duration) (release func(), ok bool) {
	l := a.locks[name]
	if room <= 0 {
		// Without a bound nobody waits, unless somebody was told to hold it.
		if l != nil {
			if !a.queue(name, l, wait) {
				return nil, false
			}
			l.pass()
			a.forgetLock(name, l)
		}
		return func() {}, true
	}
	if l == nil {
		l = &fileLock{}
		a.locks[name] = l
	}
	if l.held < room && len(l.waiters) == 0 {
		l.held++
	} else if !a.queue(name, l, wait) {
		return nil, false
	}
	return sync.OnceFunc(func() {
		l.pass()
		a.forgetLock(name, l)
	}), true
}

// forgetLock drops a lock that nobody has or wants.
func (s *Sim) forgetLock(name string, l *fileLock) {
	if l.held == 0 && s.locks[name] == l {
		delete(s.locks, name)
	}
}

// queue waits for a place in a full lock.
func (a *actor) queue(name string, l *fileLock, wait time.Duration) (got bool) {
	turn := make(chan struct{})
	l.waiters = append(l.waiters, turn)
	defer func() {
		if got {
			return
		}
		if i := slices.Index(l.waiters, turn); i >= 0 {
			l.waiters = slices.Delete(l.waiters, i, i+1)
			return
		}
		l.pass() // our turn came while we gave up
		a.forgetLock(name, l)
	}()
	return a.await(name, turn, wait)
}

// await waits for a turn at a lock, and says so: of a lock file once, of a
// cluster lock each second.
func (a *actor) await(name string, turn <-chan struct{}, wait time.Duration) bool {
	say := a.stderr
	if say == nil {
		say = discardLine
	}
	if !strings.HasPrefix(name, clusterLock) {
		say("trying to acquire lock...")
		got := a.waitFor(turn, wait)
		if got {
			say(" OK")
		}
		return got
	}
	for ; wait > 0; wait -= time.Second {
		say("trying to acquire cfs lock '%s' ...", name)
		if a.waitFor(turn, min(wait, time.Second)) {
			return true
		}
	}
	return false
}

// pass gives a place to the next waiter, or frees it.
func (l *fileLock) pass() {
	if len(l.waiters) == 0 {
		l.held--
		return
	}
	next := l.waiters[0]
	l.waiters = l.waiters[1:]
	l.sharing.turn(next)
	close(next)
}

// lockConfig takes a guest's lock file. Every change of a guest's config
// needs it, and many tasks hold it while they run.
func (a *actor) lockConfig(vmid int) (unlock func(), err error) {
	return a.lockConfigFor(vmid, configLockWait)
}

func (a *actor) lockConfigFor(vmid int, wait time.Duration) (unlock func(), err error) {
	file := configLock(vmid)
	unlock, ok := a.acquire(file, 1, wait)
	if !ok {
		return nil, die("can't lock file '%s' - got timeout", file)
	}
	return unlock, nil
}

// DoLocked runs fn on a guest, alone, unless somebody has the guest's lock file: what fn changes
// in the config would be lost when they write theirs. It reports whether fn was run.
func (s *Sim) DoLocked(vmid int, fn func(*VM)) (done bool) {
	s.Do(func(st *State) {
		if vm := st.VMs[vmid]; vm != nil && s.locks[configLock(vmid)] == nil {
			fn(vm)
			done = true
		}
	})
	return done
}

// configLock is a guest's lock file.
func configLock(vmid int) string { return fmt.Sprintf("/var/lock/qemu-server/lock-%d.conf", vmid) }

// clusterLock begins the names of storages' locks that all nodes share.
const clusterLock = "storage-"

// lockName is the lock of a storage as a node sees it.
func (s *Storage) lockName(node string) string {
	if s.Shared() {
		return clusterLock + s.ID
	}
	return node + "/pve-storage-" + s.ID
}

// lockStorage takes the lock of a storage: a file on the node, or a cluster
// lock when the storage is shared.
func (a *actor) lockStorage(node, storage string) (unlock func(), err error) {
	st := a.state.Storages[storage]
	if st == nil {
		return nil, die("storage '%s' does not exist", storage)
	}
	unlock, ok := a.acquire(st.lockName(node), a.world.Locks.Storage, storageLockWait)
	switch {
	case ok:
		return unlock, nil
	case st.Shared():
		return nil, die("cfs-lock 'storage-%s' error: got lock request timeout", storage)
	}
	return nil, die("can't lock file '/var/lock/pve-manager/pve-storage-%s' - got timeout", storage)
}
