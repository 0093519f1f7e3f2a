package pvesim

import "time"

// actor is a goroutine that works on the state: a request or a task. It
// holds the simulator's lock except inside waitFor and sleep, so whatever
// it read before those may have changed after.
type actor struct {
	*Sim
	stop chan struct{} // closed: a signal has come
	// stderr takes what Proxmox writes to standard error: the log of a task.
	// Nil: a daemon's, which is lost.
	stderr func(format string, args ...any)
}

// interrupted is the panic with which a signal unwinds an actor, as a Perl
// die in a signal handler does; locks are given back by deferred calls.
type interrupted struct{}

// waitFor waits until c is closed or gets a value, or d has passed; it tells
// whether c came first.
func (a *actor) waitFor(c <-chan struct{}, d time.Duration) bool {
	timer, stopTimer := a.clock.After(d)
	defer stopTimer()
	a.mu.Unlock()
	got, signal := false, false
	select {
	case <-c:
		got = true
	case <-timer:
		select {
		case <-c:
			got = true
		default:
		}
	case <-a.stop:
		signal = true
	case <-a.closed:
		signal = true
	}
	a.mu.Lock()
	if signal {
		panic(interrupted{})
	}
	return got
}

// sleep lets d pass.
func (a *actor) sleep(d time.Duration) {
	if d > 0 {
		a.waitFor(nil, d)
	}
}

// now is the simulator's time.
func (s *Sim) now() time.Time { return s.clock.Now() }
