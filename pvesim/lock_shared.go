package pvesim

import (
	"slices"
	"sync"
	"time"
)

// sharing lets several readers have one place in a lock. Readers that come
// while others read needn't wait, even if a writer does.
type sharing struct {
	readers int           // that have the place
	group   chan struct{} // waiter that stands for all waiting readers
	waiting int           // how many those are
}

// turn notes that a waiter gets its place.
func (s *sharing) turn(waiter chan struct{}) {
	if waiter == s.group && s.group != nil {
		s.readers, s.waiting, s.group = s.waiting, 0, nil
	}
}

// acquireShared takes a lock of one place as a reader.
func (a *actor) acquireShared(name string, wait time.Duration) (release func(), ok bool) {
	l := a.locks[name]
	if l == nil {
		l = &fileLock{}
		a.locks[name] = l
	}
	switch {
	case l.held == 0:
		l.held, l.sharing.readers = 1, 1
	case l.sharing.readers > 0:
		l.sharing.readers++
	case !a.queueShared(name, l, wait):
		return nil, false
	}
	return sync.OnceFunc(func() {
		l.leave()
		a.forgetLock(name, l)
	}), true
}

// queueShared waits for a writer to finish.
func (a *actor) queueShared(name string, l *fileLock, wait time.Duration) (got bool) {
	sh := &l.sharing
	if sh.group == nil {
		sh.group = make(chan struct{})
		l.waiters = append(l.waiters, sh.group)
	}
	turn := sh.group
	sh.waiting++
	defer func() {
		switch {
		case got:
		case sh.group != turn: // our turn came while we gave up
			l.leave()
			a.forgetLock(name, l)
		default:
			if sh.waiting--; sh.waiting == 0 {
				l.waiters = slices.DeleteFunc(l.waiters, func(w chan struct{}) bool { return w == turn })
				sh.group = nil
			}
		}
	}()
	return a.await(name, turn, wait)
}

// leave is a reader's end; the last one gives the place away.
func (l *fileLock) leave() {
	if l.sharing.readers--; l.sharing.readers == 0 {
		l.pass()
	}
}

// lockConfigShared takes a guest's lock file as a reader.
func (a *actor) lockConfigShared(vmid int, wait time.Duration) (unlock func(), err error) {
	file := configLock(vmid)
	unlock, ok := a.acquireShared(file, wait)
	if !ok {
		return nil, die("can't lock file '%s' - got timeout", file)
	}
	return unlock, nil
}
