package engine

import (
	"cmp"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// memory is what the engine knows beside what Proxmox shows: which guests are
// being made, and what has failed lately. Losing it loses nothing but time.
type memory struct {
	placed  map[int]model.Placement // their memory counts as taken
	spots   map[model.Owner]int     // the same by owner
	settled map[model.Owner]time.Time
	moves   map[string]model.MoveDisk // by task: those that nobody has seen the end of
	rolling map[model.Key]bool        // guests that are restarted or replaced; true: it has begun
	failed  map[model.Key]model.Failure
	full    map[model.Key]time.Time // when objects last found no room
	tries   map[try]int
	ignored map[model.Key]time.Time // when guests last didn't shut down though asked to
	cares   map[string]care         // by task
	elder   bool                    // older tasks than the lists show were asked for
}

type try struct {
	key  model.Key
	what string
}

func newMemory() memory {
	return memory{
		placed: map[int]model.Placement{}, spots: map[model.Owner]int{}, settled: map[model.Owner]time.Time{}, rolling: map[model.Key]bool{},
		failed: map[model.Key]model.Failure{}, full: map[model.Key]time.Time{}, tries: map[try]int{}, ignored: map[model.Key]time.Time{}, cares: map[string]care{},
	}
}

// figuresLag is how long the list takes to count a new guest's memory.
const figuresLag = 12 * time.Second

// expire drops placements of guests that the list counts by now.
func (m *memory) expire(now time.Time) {
	for owner, since := range m.settled {
		if now.After(since.Add(figuresLag)) {
			m.displace(owner)
			delete(m.settled, owner)
		}
	}
}

// displace forgets that a guest is being made.
func (m *memory) displace(owner model.Owner) (was model.Placement, vmid int) {
	vmid = m.spots[owner]
	was = m.placed[vmid]
	delete(m.placed, vmid)
	delete(m.spots, owner)
	return was, vmid
}

// place notes that a guest is being made.
func (m *memory) place(vmid int, p model.Placement) {
	m.placed[vmid] = p
	m.spots[p.Owner] = vmid
}

// begin notes that Proxmox has begun to make a guest.
func (m *memory) begin(vmid int) {
	if p, ok := m.placed[vmid]; ok {
		p.Begun = true
		m.placed[vmid] = p
	}
}

// replace keeps the placement of an object up to date with its newest plan; was
// is the one before.
func (m *memory) replace(p plan.Object, was model.Placement, at int) {
	for _, s := range p.Steps {
		if model.FactsOf(s.Action).Makes {
			m.place(p.VMID, model.Placement{Owner: p.Owner, Node: p.Node, Memory: p.Memory})
			return
		}
	}
	if at != 0 && at == p.VMID && !p.Gone {
		m.place(at, was)
	}
}

// limits say how often something that failed is tried in all, and how long the
// pauses get.
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

// noRoom counts the tries that failed for want of room, whichever node they were on:
// the next try is often on another one.
const noRoom = "find room"

// fail notes that something failed, and when it may be tried again.
func (m *memory) fail(key model.Key, what string, f act.Failure, lost bool, now time.Time) model.Failure {
	t := try{key, what}
	delete(m.full, key)
	if f.Class == act.Full {
		t.what = noRoom
		m.full[key] = now
	}
	m.tries[t]++
	n, limit := m.tries[t], limits[f.Class]
	pause := backoff(n, cmp.Or(limit.first, firstPause), limit.pause)
	if f.Class == act.Full {
		pause = max(pause, time.Duration(m.roomless(now))*fullPause)
	}
	fail := model.Failure{What: what, Text: f.Text, Hint: f.Hint, Lacks: f.Lacks, At: now, Next: now.Add(pause), Hard: n >= limit.tries, Lost: lost}
	if f.Class == act.Mistaken && n <= quickTries {
		fail.Next = now
	}
	m.failed[key] = fail
	return fail
}

// roomless counts the objects that found no room lately. Together they try no more often
// than one would: Proxmox starts a task for each try, and each is followed.
func (m *memory) roomless(now time.Time) (n int) {
	for key, at := range m.full {
		if now.Sub(at) > roomlessLast {
			delete(m.full, key)
			continue
		}
		n++
	}
	return n
}

// backoff is the pause after the nth failure.
func backoff(n int, first, most time.Duration) time.Duration {
	pause := first
	for range n - 1 {
		if pause *= 2; pause >= most {
			return most
		}
	}
	return min(pause, most)
}

// succeed forgets that something failed.
func (m *memory) succeed(key model.Key, what string) {
	delete(m.tries, try{key, what})
	delete(m.tries, try{key, noRoom})
	delete(m.failed, key)
	delete(m.full, key)
}

// forgive lets all that failed be tried anew: somebody has asked for it.
func (m *memory) forgive(key model.Key) {
	delete(m.ignored, key)
	delete(m.failed, key)
	delete(m.full, key)
	for t := range m.tries {
		if t.key == key {
			delete(m.tries, t)
		}
	}
}

// ignoredFor is how long a guest that has ignored a shutdown isn't asked again.
const ignoredFor = 24 * time.Hour

// deaf are the objects whose guests have ignored a shutdown lately.
func (m *memory) deaf(now time.Time) map[model.Key]bool {
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

// ignored notes that a guest has ignored its shutdown.
func (e *Engine) ignored(key model.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.memory.ignored[key] = time.Now()
}

// heard notes that a guest was stopped or started after all.
func (e *Engine) heard(key model.Key, action model.Action) {
	if facts := model.FactsOf(action); facts.Boots || facts.Power == model.StatusStopped {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.memory.ignored, key)
	}
}
