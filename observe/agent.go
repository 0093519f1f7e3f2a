package observe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// agents asks guests for their addresses. While a guest's agent is down, a
// question blocks one of the few workers of its node for three seconds; so there
// is one at a time on each node, of the guest whose answer is due first.
type agents struct {
	o *Observer

	mu    sync.Mutex
	nodes map[string]*asker
	pace  pace
}

// asker asks the guests of one node.
type asker struct {
	asks map[int]*ask
	wake chan struct{}
}

// ask is a guest that is to be asked until it tells its addresses.
type ask struct {
	vmid    int
	since   time.Time // when it was started; zero: unknown
	due     time.Time
	waiting int // callers
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{}
	err     error
}

func newAgents(o *Observer) *agents { return &agents{o: o, nodes: map[string]*asker{}} }

// Addresses asks a guest's agent until it tells an address, and returns then. It
// returns early, without an error, when the guest turns out not to run, and with
// one when asking on is useless.
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

// AskOnce asks a guest's agent for its addresses, if it is likely to answer by
// now. One that is down blocks for some seconds.
func (o *Observer) AskOnce(ctx context.Context, vmid int) error {
	since := o.since(vmid)
	o.agents.mu.Lock()
	due := since.Add(o.agents.pace.expected())
	o.agents.mu.Unlock()
	if !since.IsZero() && time.Now().Before(due) {
		return nil
	}
	_, err := o.agents.question(&ask{vmid: vmid, since: since, ctx: ctx})
	return err
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
		a = &ask{vmid: t.VMID, since: since, due: time.Now(), done: make(chan struct{})}
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

// leave gives the ask up when nobody waits for it any more.
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

// run asks one guest after the other, as long as there are any.
func (s *agents) run(name string, n *asker) {
	for {
		a := s.next(name, n)
		if a == nil {
			return
		}
		if wait := time.Until(a.due); wait > 0 {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-n.wake: // another one may be due earlier, or this one gone
				timer.Stop()
			}
			continue
		}
		over, err := s.question(a)
		if over {
			s.finish(n, a, err)
		}
	}
}

// next is the guest whose answer is due first; the node isn't looked after any
// more when there is none.
func (s *agents) next(name string, n *asker) *ask {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first *ask
	for _, a := range n.asks {
		if first == nil || a.before(first) {
			first = a
		}
	}
	if first == nil {
		delete(s.nodes, name)
	}
	return first
}

func (a *ask) before(b *ask) bool {
	if c := a.due.Compare(b.due); c != 0 {
		return c < 0
	}
	return a.vmid < b.vmid
}

func (s *agents) finish(n *asker, a *ask, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.asks[a.vmid] == a {
		delete(n.asks, a.vmid)
	}
	a.err = err
	close(a.done)
}

// question asks once, and tells whether that was the last time.
func (s *agents) question(a *ask) (over bool, err error) {
	asked := time.Now()
	var list []pve.GuestInterface
	err = s.o.read(a.ctx, a.vmid, "the addresses", func(vm pve.VM) (err error) {
		list, err = vm.Agent().Interfaces(a.ctx)
		return err
	})
	now := time.Now()
	switch {
	case a.ctx.Err() != nil:
		return true, a.ctx.Err()
	case err == nil && s.told(a, list):
		if !a.since.IsZero() {
			s.learn(asked.Sub(a.since), now.Sub(a.since))
		}
		return true, nil
	case err == nil:
		// It is up and has no address yet: asking costs little now.
		s.later(a, now.Add(min(max(now.Sub(asked), time.Second), 5*time.Second)))
		return false, nil
	case errors.Is(err, pve.ErrNotRunning):
		s.o.Unsure(a.vmid)
		return true, nil
	case errors.Is(err, pve.ErrAgentNotConfigured), errors.Is(err, pve.ErrForbidden), errors.Is(err, pve.ErrUnauthorized), errors.Is(err, pve.ErrAgent):
		s.o.change(a.vmid, func(r *record) { r.agent = model.AgentDown })
		return true, fmt.Errorf("ask VM %d for its addresses: %w", a.vmid, err)
	}
	s.o.change(a.vmid, func(r *record) { r.agent = model.AgentDown })
	if a.since.IsZero() {
		a.since = asked
	}
	s.later(a, now.Add(again(now.Sub(a.since))))
	return false, nil
}

// told takes over the addresses, if there are any. A guest that is gone has no
// more to tell.
func (s *agents) told(a *ask, list []pve.GuestInterface) bool {
	told := true
	s.o.change(a.vmid, func(r *record) {
		var nics []model.NIC
		if r.config != nil {
			nics = r.config.NICs
		}
		r.agent, r.addresses = model.AgentUp, addressesOf(list, nics)
		r.believe(model.StatusRunning)
		told = len(r.addresses) > 0
	})
	return told
}

func (s *agents) later(a *ask, due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.due = due
}

func (s *agents) learn(asked, answered time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pace.learn(asked, answered)
}
