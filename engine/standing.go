package engine

import (
	"cmp"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
)

// standing is what the engine knows of one part's objects beside the observed state: what has
// failed lately, and which guests are being restarted.
type standing struct {
	party   *Party             // nil: the guests are counted alone
	rolling map[model.Key]bool // guests that are restarted or replaced; true: it has begun
	failed  map[model.Key]model.Failure
	bound   map[model.Key]model.Bound // what guests wait for that have no image yet
	full    map[model.Key]time.Time   // when objects last found no room
	tries   map[try]int
	ignored map[model.Key]time.Time // when guests last didn't shut down though asked to
}

type try struct {
	key  model.Key
	what string
}

func newStanding() *standing {
	return &standing{
		rolling: map[model.Key]bool{}, failed: map[model.Key]model.Failure{}, full: map[model.Key]time.Time{},
		tries: map[try]int{}, ignored: map[model.Key]time.Time{}, bound: map[model.Key]model.Bound{},
	}
}

// limits has, for each class of failures, the number of tries and the longest pause between them.
var limits = map[act.Class]struct {
	tries int
	pause time.Duration
	first time.Duration // zero: firstPause
}{
	act.Mistaken: {tries: 10, pause: 2 * time.Second},
	act.Lost:     {tries: 10, pause: 15 * time.Second},
	act.Busy:     {tries: 40, pause: 10 * time.Second},
	act.Away:     {tries: 40, pause: 15 * time.Second},
	act.Passing:  {tries: 5, pause: 15 * time.Second},
	act.Full:     {tries: 5, first: 5 * time.Second, pause: 30 * time.Second},
	act.Hard:     {tries: 1},
	act.Fatal:    {tries: 1},
}

const (
	firstPause = time.Second // after the first failure; it doubles with each
	quickTries = 3           // without a pause, when things were just otherwise than thought
	fullPause  = time.Second // between two tries of all objects that lack room, on average

	roomlessLast = 5 * time.Minute // an object that hasn't tried for so long is gone, or does something else
)

// noRoom is the key under which tries are counted that failed for lack of room: the next try is often on
// another node.
const noRoom = "find room"

// fail records that something of a part failed, and when it may be retried.
func (m *memory) fail(of *standing, key model.Key, what string, f act.Failure, lost bool, now time.Time) model.Failure {
	t := try{key, what}
	delete(of.full, key)
	if f.Class == act.Full {
		t.what = noRoom
		of.full[key] = now
	}
	of.tries[t]++
	n, limit := of.tries[t], limits[f.Class]
	pause := backoff(n, cmp.Or(limit.first, firstPause), limit.pause)
	if f.Class == act.Full {
		pause = max(pause, time.Duration(m.roomless(now))*fullPause)
	}
	fail := model.Failure{What: what, Text: f.Text, Hint: f.Hint, Lacks: f.Lacks, At: now, Next: now.Add(pause), Hard: n >= limit.tries, Full: f.Class == act.Full, Lost: lost}
	if f.Class == act.Mistaken && n <= quickTries {
		fail.Next = now
	}
	of.failed[key] = fail
	return fail
}

// roomless counts the objects that found no room lately. Together they try no more often
// than one would: Proxmox starts a task for each try, and each is followed.
func (m *memory) roomless(now time.Time) (n int) {
	for of := range m.all {
		n += of.roomless(now)
	}
	return n
}

func (m *standing) roomless(now time.Time) (n int) {
	for key, at := range m.full {
		if now.Sub(at) > roomlessLast {
			delete(m.full, key)
			continue
		}
		n++
	}
	return n
}

// backoff returns the pause after the nth failure.
func backoff(n int, first, most time.Duration) time.Duration {
	pause := first
	for range n - 1 {
		if pause *= 2; pause >= most {
			return most
		}
	}
	return min(pause, most)
}

// succeed forgets the failures of a step.
func (m *standing) succeed(key model.Key, what string) {
	delete(m.tries, try{key, what})
	delete(m.tries, try{key, noRoom})
	delete(m.failed, key)
	delete(m.full, key)
}

// retryAll forgets all failures of an object, so that everything is retried at once.
func (m *standing) retryAll(key model.Key) {
	delete(m.ignored, key)
	delete(m.failed, key)
	delete(m.full, key)
	for t := range m.tries {
		if t.key == key {
			delete(m.tries, t)
		}
	}
}

// reconsider forgets that templates couldn't be made on nodes a while ago: machines went to other nodes
// since, so that nothing was tried there, and there may be room by now.
func (m *standing) reconsider(now time.Time) {
	for key, f := range m.failed {
		if _, _, copied := key.CopyOf(); copied && now.Sub(f.At) > hardPause {
			m.retryAll(key)
		}
	}
}

// ignoredFor is how long a guest that has ignored a shutdown isn't asked again.
const ignoredFor = 24 * time.Hour

// deaf returns the objects whose guests have ignored a shutdown lately.
func (m *standing) deaf(now time.Time) map[model.Key]bool {
	if len(m.ignored) == 0 {
		return nil
	}
	out := map[model.Key]bool{}
	for key, since := range m.ignored {
		if now.Sub(since) > ignoredFor {
			delete(m.ignored, key)
			continue
		}
		out[key] = true
	}
	return out
}

// ignored records that a guest has ignored its shutdown.
func (e *Engine) ignored(of *standing, key model.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	of.ignored[key] = time.Now()
}

// heard forgets that a guest has ignored a shutdown, when an action stops or starts it.
func (e *Engine) heard(of *standing, key model.Key, action model.Action) {
	if facts := model.FactsOf(action); facts.Boots || facts.Power == model.StatusStopped {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(of.ignored, key)
	}
}
