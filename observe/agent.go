package observe

import (
	"context"
	"sync"
	"time"

	"github.com/proxplane/proxplane/model"
)

// agents asks guests for their addresses. While a guest's agent is down, a
// question blocks one of the few workers of its node for three seconds; so there
// is one at a time on each node, or two as long as all answer at once: those of
// the guests whose answers are due first.
type agents struct {
	o *Observer

	mu    sync.Mutex
	nodes map[string]*asker
	pace  pace
}

// asker asks the guests of one node.
type asker struct {
	asks   map[int]*ask
	asking int  // questions under way
	prompt bool // the last one was answered at once
	wake   chan struct{}
}

// prompt is how long an agent that is up takes at most to answer.
const prompt = time.Second

// ask is a guest that is asked until it reports its addresses.
type ask struct {
	vmid    int
	since   time.Time // when it was started; where that is unknown, when it was asked first
	begun   bool      // it is known when it was started
	due     time.Time
	down    time.Time // when it last didn't answer
	waiting int       // callers
	asked   bool      // right now
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{}
	err     error
}

func newAgents(o *Observer) *agents { return &agents{o: o, nodes: map[string]*asker{}} }

// Addresses polls a guest's agent until it reports an address. It returns early without an
// error if the guest isn't running, and with one if further polling is useless.
func (o *Observer) Addresses(ctx context.Context, vmid int) error {
	t, ok := o.target(vmid)
	if !ok {
		return nil
	}
	a := o.agents.join(t, o.since(vmid))
	defer o.agents.leave(t.Node, a)
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// AskOnce asks a guest's agent for its addresses, if it is likely to answer. A request to
// an agent that is down blocks for some seconds.
func (o *Observer) AskOnce(ctx context.Context, vmid int) error {
	since := o.since(vmid)
	o.agents.mu.Lock()
	due := since.Add(o.agents.pace.expected())
	o.agents.mu.Unlock()
	if !since.IsZero() && time.Now().Before(due) {
		return nil
	}
	_, err := o.agents.question(&ask{vmid: vmid, since: since, begun: !since.IsZero(), ctx: ctx})
	return err
}

// Sound asks a guest's agent once, to know whether it is up. The agent of a guest that was
// started just now isn't asked: it isn't up yet.
func (o *Observer) Sound(ctx context.Context, vmid int) error {
	if err := o.AskOnce(ctx, vmid); err != nil && ctx.Err() != nil {
		return err // else it isn't up, for whatever reason
	}
	o.change(vmid, func(r *record) {
		if r.agent == model.AgentUnasked {
			r.agent = model.AgentDown
		}
	})
	return nil
}

func (o *Observer) since(vmid int) time.Time {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if r := o.records[vmid]; r != nil {
		return r.since()
	}
	return time.Time{}
}

func (s *agents) join(t model.Target, since time.Time) *ask {
	s.mu.Lock()
	defer s.mu.Unlock()
	node := s.nodes[t.Node]
	if node == nil {
		node = &asker{asks: map[int]*ask{}, wake: make(chan struct{}, 1)}
		s.nodes[t.Node] = node
		go s.run(t.Node, node)
	}
	a := node.asks[t.VMID]
	if a == nil {
		a = &ask{vmid: t.VMID, since: since, begun: !since.IsZero(), due: time.Now(), done: make(chan struct{})}
		a.ctx, a.cancel = context.WithCancel(context.Background())
		if due := since.Add(s.pace.expected()); !since.IsZero() && due.After(a.due) {
			a.due = due
		}
		node.asks[t.VMID] = a
	}
	a.waiting++
	node.nudge()
	return a
}

// leave drops an ask when nothing waits for it any more.
func (s *agents) leave(node string, a *ask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.waiting--; a.waiting > 0 {
		return
	}
	a.cancel()
	if n := s.nodes[node]; n != nil && n.asks[a.vmid] == a {
		delete(n.asks, a.vmid)
		n.nudge()
	}
}

func (n *asker) nudge() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// run asks the guests as they are due, as long as there are any.
func (s *agents) run(name string, n *asker) {
	for {
		a, over := s.next(name, n)
		if over {
			return
		}
		var due <-chan time.Time
		if a != nil {
			wait := time.Until(a.due)
			if wait <= 0 {
				s.begin(n, a)
				continue
			}
			due = time.After(wait)
		}
		select {
		case <-due:
		case <-n.wake: // another one may be due earlier, or this one gone
		}
	}
}

// begin asks a guest beside the others.
func (s *agents) begin(n *asker, a *ask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.asked = true
	n.asking++
	go func() {
		begun := time.Now()
		over, err := s.question(a)
		s.mu.Lock()
		defer s.mu.Unlock()
		n.prompt = over && err == nil && time.Since(begun) < prompt
		a.asked = false
		n.asking--
		if over {
			s.finish(n, a, err)
		}
		n.nudge()
	}()
}

// next returns the guest whose answer is due first, if one more can be asked. over: there
// is none left, and the node's loop ends.
func (s *agents) next(name string, n *asker) (first *ask, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(n.asks) == 0 && n.asking == 0 {
		delete(s.nodes, name)
		return nil, true
	}
	if n.asking > 1 || n.asking == 1 && !n.prompt {
		return nil, false
	}
	for _, a := range n.asks {
		if !a.asked && (first == nil || a.before(first)) {
			first = a
		}
	}
	return first, false
}

func (a *ask) before(b *ask) bool {
	if c := a.due.Compare(b.due); c != 0 {
		return c < 0
	}
	return a.vmid < b.vmid
}

func (s *agents) finish(n *asker, a *ask, err error) {
	if n.asks[a.vmid] == a {
		delete(n.asks, a.vmid)
	}
	a.err = err
	close(a.done)
}
