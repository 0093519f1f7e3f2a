package pve

import (
	"sync"

	"github.com/proxplane/proxplane/pve/admission"
)

// Load is how much is under way at a cluster, and how much may be. Clients of the same
// cluster share one, see [Client.Share]: each with one of its own, they would keep the
// cluster as busy as it can stand, each.
type Load struct {
	limiter *admission.Limiter

	mu     sync.Mutex
	agents map[string]*agentTurns // by node
}

// Usage returns what is under way, by node and storage.
func (l *Load) Usage() []admission.Usage { return l.limiter.Snapshot() }

// turns are the node's turns for agent calls.
func (l *Load) turns(node string) *agentTurns {
	l.mu.Lock()
	defer l.mu.Unlock()
	turns := l.agents[node]
	if turns == nil {
		turns = newAgentTurns()
		l.agents[node] = turns
	}
	return turns
}

// Load returns what bounds the client's requests.
func (c *Client) Load() *Load { return c.core.gate.load.Load() }

// Share bounds the client's requests together with those of others from now on. What is
// under way already stays with the former bounds.
func (c *Client) Share(l *Load) { c.core.gate.load.Store(l) }
