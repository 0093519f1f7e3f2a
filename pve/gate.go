package pve

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/proxplane/proxplane/pve/admission"
)

// gate passes every request through the limiter. A write that started a task keeps its slot
// until the task's end is seen: the storage is busy for that long. Whoever looks at the task
// through this client, be it with Wait, a Watcher or a list, makes it seen. Where nobody looks,
// those who wait for a slot do.
type gate struct {
	load  atomic.Pointer[Load]
	clock Clock

	mu     sync.Mutex
	held   map[UPID]*hold
	scouts map[string]*scouting // by storage

	looking sync.Mutex
}

// hold is a slot that a running task keeps.
type hold struct {
	slot    *admission.Slot
	storage string // that a clone needs
	neutral bool   // how long it takes says nothing about load
	since   time.Time
	seen    time.Time // when somebody last knew about the task
}

const (
	// localStorage before a storage's name stands for the node that has it.
	localStorage = "\x00"
	// A task that nobody could ask about for this long gives its slot back.
	holdLimit = 10 * time.Minute
)

func newGate(limiter *admission.Limiter, clock Clock) *gate {
	g := &gate{clock: clock, held: map[UPID]*hold{}, scouts: map[string]*scouting{}}
	g.load.Store(&Load{limiter: limiter, agents: map[string]*agentTurns{}})
	return g
}

// slot is the permission to make one request.
type slot struct {
	gate    *gate
	held    *admission.Slot
	storage string
	agent   *agentTurns
	asked   time.Time // if there is an agent
}

// enter waits for a slot.
func (g *gate) enter(ctx context.Context, c *Client, r *request) (*slot, error) {
	s := &slot{gate: g}
	if r.answering {
		turns := g.load.Load().turns(r.node())
		if err := turns.take(ctx); err != nil {
			return nil, err
		}
		s.agent = turns
	}
	key := admission.Key{Node: r.node(), Op: r.method + " " + r.route}
	var err error
	if r.isWrite() && !r.relieving {
		key.Storage, key.Later = r.busyStorage(), r.method == http.MethodPost && endsIn(r.route, begin)
		key.First = r.method == http.MethodDelete && endsIn(r.route, guests)
		s.storage = key.Storage
		s.held, err = g.acquireWrite(ctx, c, key)
	} else {
		// Lists of tasks tell when slots become free, and others wait for that.
		key.Later = !endsIn(r.route, []string{"/tasks"})
		s.held, err = g.load.Load().limiter.Acquire(ctx, key, admission.Read)
	}
	if err != nil {
		if s.agent != nil {
			s.agent.give()
		}
		return nil, err
	}
	s.asked = g.clock.Now()
	return s, nil
}

// busyStorage names the storage for the limiter.
func (r *request) busyStorage() string {
	name := r.storage
	if r.options.storage != "" {
		name = r.options.storage
	} else if name != "" {
		name = localStorage + name
	}
	if len(name) > 0 && name[:1] == localStorage {
		return r.node() + "/" + name[1:]
	}
	return name
}

// leave gives the slot back, or leaves it to the task that the request started.
func (s *slot) leave(r *request, err error) {
	if s.agent != nil {
		s.agent.end(err == nil && s.gate.clock.Now().Sub(s.asked) < agentPrompt)
	}
	upid, ok := r.out.(*UPID)
	if err != nil || !ok || upid.IsZero() || !r.isWrite() || endsIn(r.route, waiting) {
		s.held.Release(outcomeOf(err))
		return
	}
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	now := s.gate.clock.Now()
	h := &hold{slot: s.held, neutral: endsIn(r.route, neutral), since: now, seen: now}
	if endsIn(r.route, clones) {
		h.storage = s.storage
	}
	s.gate.held[*upid] = h
}

// Calls, by how their routes end.
var (
	// begin are calls that others follow, which make something of what was made.
	begin = []string{"/clone", "/qemu", "/upload", "/download-url"}
	// guests are calls about a guest as a whole.
	guests = []string{"/qemu/{vmid}"}
	// clones are calls whose tasks tell when they wait for a storage.
	clones = []string{"/clone"}
	// waiting are calls whose tasks do nothing but wait for a guest.
	waiting = []string{"/status/shutdown", "/status/reboot"}
	// neutral are calls whose tasks take as long as another server or an amount of data wants:
	// that they take longer doesn't mean that Proxmox has too much to do.
	neutral = []string{"/suspend", "/migrate", "/upload", "/download-url"}
)

func endsIn(route string, ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(route, end) })
}

// saw is told about each task that somebody looked at.
func (g *gate) saw(upid UPID, running bool, exitStatus string) {
	g.mu.Lock()
	h := g.held[upid]
	if h == nil || running {
		if h != nil {
			h.seen = g.clock.Now()
		}
		g.mu.Unlock()
		return
	}
	delete(g.held, upid)
	g.mu.Unlock()
	h.slot.Release(h.outcome(upid, exitStatus, g.clock.Now()))
}

// lockWait is how long Proxmox waits for the lock of a storage.
const lockWait = 10 * time.Second

// outcome tells the limiter how the task went. A VM is destroyed also when the lock of the storage
// can't be had: its disks stay, and the exit status counts warnings and doesn't say of what. A destruction
// with warnings that took as long as Proxmox waits for a lock has waited for it.
func (h *hold) outcome(upid UPID, exitStatus string, now time.Time) admission.Outcome {
	warnings, ok := taskSucceeded(exitStatus)
	switch {
	case ok && warnings > 0 && upid.Type == "qmdestroy":
		late := now.Sub(h.since) >= lockWait
		return admission.Outcome{LockTimeout: late, Failed: !late}
	case ok:
		return admission.Outcome{Failed: h.neutral}
	}
	outcome := outcomeOf(exitError(upid, exitStatus, nil))
	outcome.Failed = outcome.Failed || h.neutral && !outcome.LockTimeout
	return outcome
}

// abandon gives the slots of tasks back whose end nobody is going to see.
func (g *gate) abandon() {
	g.mu.Lock()
	held := g.held
	g.held = map[UPID]*hold{}
	g.mu.Unlock()
	for _, h := range held {
		h.slot.Release(admission.Outcome{Failed: true})
	}
}

// acquireWrite waits for a slot, and looks after the tasks that hold slots meanwhile.
func (g *gate) acquireWrite(ctx context.Context, c *Client, key admission.Key) (*admission.Slot, error) {
	type admitted struct {
		slot *admission.Slot
		err  error
	}
	done := make(chan admitted, 1)
	go func() {
		slot, err := g.load.Load().limiter.Acquire(ctx, key, admission.Write)
		done <- admitted{slot, err}
	}()
	start := g.clock.Now()
	var scout *scouting
	for delay := scoutAge; ; delay = pollDelay(g.clock.Now().Sub(start), time.Second, pollSlow) {
		select {
		case a := <-done:
			return a.slot, a.err
		case <-g.clock.After(delay):
			scout = g.scout(ctx, c, key, scout)
			if delay > scoutAge {
				g.look(ctx, c)
			}
		}
	}
}

// look asks about held tasks that nobody has looked at for a while. One caller at a time is
// enough.
func (g *gate) look(ctx context.Context, c *Client) {
	if !g.looking.TryLock() {
		return
	}
	defer g.looking.Unlock()
	now := g.clock.Now()
	due := map[string][]UPID{}
	g.mu.Lock()
	for upid, h := range g.held {
		// Who watches a task sees it about as often as this; they aren't doubled.
		if now.Sub(h.seen) > pollDelay(now.Sub(h.since), time.Second, pollSlow)*5/4 {
			due[upid.Node] = append(due[upid.Node], upid)
		}
	}
	g.mu.Unlock()
	for node, tasks := range due {
		running, err := c.Node(node).runningOf(ctx, tasks)
		g.mu.Lock()
		for _, upid := range tasks {
			h := g.held[upid]
			switch {
			case h == nil:
			case running[upid]:
			case err == nil, now.Sub(h.seen) > holdLimit:
				// Neither running nor ended: Proxmox doesn't know it any more.
				delete(g.held, upid)
				defer h.slot.Release(admission.Outcome{Failed: true})
			}
		}
		g.mu.Unlock()
	}
}

var vmLockFile = regexp.MustCompile(`/lock-\d+\.conf$`)

// outcomeOf tells the limiter how it went. The lock of one VM's config says nothing about load.
func outcomeOf(err error) admission.Outcome {
	if err == nil {
		return admission.Outcome{}
	}
	var e *Error
	if errors.Is(err, ErrLockTimeout) && errors.As(err, &e) && !vmLockFile.MatchString(e.LockFile) {
		return admission.Outcome{LockTimeout: true}
	}
	return admission.Outcome{Failed: true}
}
