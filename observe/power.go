package observe

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Power states are read from the nodes that have the guests: the cluster's list is a
// status round late. A few guests are asked for one by one; when more of a node are
// asked for at once, one list of the node answers for all of them.

// aFew is how many guests of a node are asked for one by one at a time.
const aFew = 3

// nodePower reads the power states of a node's guests.
type nodePower struct {
	turn chan struct{} // one list of the node at a time

	mu     sync.Mutex
	single int       // guests that are being asked for by themselves
	next   *rollCall // the list that hasn't begun yet
}

// rollCall is one list of a node's guests, for all who wait for it.
type rollCall struct {
	done chan struct{}
	err  error
}

// Status reads the present power state of a guest, and its HA state.
func (o *Observer) Status(ctx context.Context, vmid int) error { return o.AskStatus(vmid)(ctx) }

// AskStatus decides how the status of a guest is read and returns a function that reads it,
// which must be called. The decision depends on the order of calls only, so that callers
// for many guests are deterministic.
func (o *Observer) AskStatus(vmid int) func(context.Context) error {
	node, managed, ok := o.whereabouts(vmid)
	if !ok {
		return func(context.Context) error { return nil }
	}
	n := o.nodePower(node)
	if managed {
		return func(ctx context.Context) error { return o.readStatus(ctx, vmid) } // lists don't say what HA makes of it
	}
	if n.begin() {
		return func(ctx context.Context) error {
			defer n.end()
			return o.readStatus(ctx, vmid)
		}
	}
	return func(ctx context.Context) error { return o.statusFromRoll(ctx, vmid, node, n) }
}

// statusFromRoll reads a guest's status from a list of its node.
func (o *Observer) statusFromRoll(ctx context.Context, vmid int, node string, n *nodePower) error {
	asked := time.Now()
	if err := o.callRoll(ctx, node, n); err != nil {
		return err
	}
	if o.statusRead(vmid, asked) {
		return nil
	}
	return o.readStatus(ctx, vmid) // it isn't there any more, or is elsewhere
}

// Powers reads the present power states of all guests of the cluster, with one request per
// node. Guests of nodes that don't answer keep the state of the cluster's list.
func (o *Observer) Powers(ctx context.Context) error {
	var all sync.WaitGroup
	o.mu.RLock()
	for name, n := range o.have.Nodes {
		if n.Online {
			all.Go(func() { _ = o.callRoll(ctx, name, o.nodePower(name)) })
		}
	}
	o.mu.RUnlock()
	all.Wait()
	return context.Cause(ctx)
}

// PowersSince makes sure that the power states of some guests were read since a time, by one list of each of
// their nodes. Guests of nodes that don't answer keep the state of the cluster's list.
func (o *Observer) PowersSince(ctx context.Context, since time.Time, vmids ...int) error {
	nodes := map[string]bool{}
	o.mu.RLock()
	for _, id := range vmids {
		if r := o.records[id]; r != nil && r.statusAt.Before(since) && !r.listed.Container && !r.listed.Template {
			n := o.have.Nodes[r.listed.Node]
			nodes[r.listed.Node] = n != nil && n.Online
		}
	}
	o.mu.RUnlock()
	var all sync.WaitGroup
	for name, online := range nodes {
		if online {
			all.Go(func() { _ = o.callRoll(ctx, name, o.nodePower(name)) })
		}
	}
	all.Wait()
	return context.Cause(ctx)
}

// whereabouts returns the node of a guest, and whether it is under HA.
func (o *Observer) whereabouts(vmid int) (node string, managed, ok bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	g := o.have.Guests[vmid]
	if g == nil {
		return "", false, false
	}
	return g.Node, g.HAState != "", true
}

func (o *Observer) nodePower(node string) *nodePower {
	n, _ := o.powers.LoadOrStore(node, &nodePower{turn: make(chan struct{}, 1)})
	return n.(*nodePower)
}

// begin reports whether one more guest can be asked for by itself.
func (n *nodePower) begin() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.single >= aFew {
		return false
	}
	n.single++
	return true
}

func (n *nodePower) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.single--
}

// callRoll lists a node's guests. Callers that come while a list is under way wait for the next one, which
// serves all of them.
func (o *Observer) callRoll(ctx context.Context, node string, n *nodePower) error {
	for {
		n.mu.Lock()
		call := n.next
		mine := call == nil
		if mine {
			call = &rollCall{done: make(chan struct{})}
			n.next = call
		}
		n.mu.Unlock()
		if mine {
			n.turn <- struct{}{}
			n.mu.Lock()
			n.next = nil
			n.mu.Unlock()
			call.err = o.listNode(ctx, node)
			<-n.turn
			close(call.done)
			return call.err
		}
		select {
		case <-call.done:
			if call.err == nil {
				return nil
			}
			// It may have failed for a reason of its caller's.
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// listNode takes over what a node says of all its guests. Their own monitors are asked too:
// otherwise those that are paused would seem to run.
func (o *Observer) listNode(ctx context.Context, node string) error {
	at := time.Now()
	list, err := o.client.Node(node).VMs(ctx, true)
	if err != nil {
		return fmt.Errorf("list the guests of %s: %w", node, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range list {
		if r := o.records[s.ID]; r != nil && r.listed.Node == node && at.After(r.statusAt) {
			r.takeStatus(s, at)
			o.put(s.ID)
		}
	}
	return nil
}

// statusRead reports whether a guest's power state was asked for since a time.
func (o *Observer) statusRead(vmid int, since time.Time) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	r := o.records[vmid]
	return r != nil && !r.statusAt.Before(since)
}
