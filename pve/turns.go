package pve

import (
	"context"
	"sync"
	"time"
)

// agentTurns bounds the agent calls on a node. While a guest's agent is down, a call blocks one
// of the node's three workers for seconds, so there is one call at a time. As long as agents
// answer promptly there are two: at the worst both block, once, and a worker is left for others.
type agentTurns struct {
	free chan struct{}

	mu   sync.Mutex
	wide bool // there are two turns
}

// agentPrompt is how long an agent that is up takes at most to answer.
const agentPrompt = time.Second

func newAgentTurns() *agentTurns {
	t := &agentTurns{free: make(chan struct{}, 2)}
	t.free <- struct{}{}
	return t
}

// take waits for a turn.
func (t *agentTurns) take(ctx context.Context) error {
	select {
	case <-t.free:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// give ends a turn in which nothing was learnt.
func (t *agentTurns) give() { t.free <- struct{}{} }

// end ends a turn; prompt says that the agent answered at once.
func (t *agentTurns) end(prompt bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wide && !prompt {
		t.wide = false // and there is one turn less
		return
	}
	t.give()
	if prompt && !t.wide {
		t.wide = true
		t.give()
	}
}
