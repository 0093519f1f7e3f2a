package pve

import (
	"fmt"
	"sync"
	"time"
)

// absence knows the nodes that couldn't be reached a moment ago, so that not everybody who wants
// to know something of them asks in vain, several times each. Now and then one does.
type absence struct {
	clock Clock

	mu    sync.Mutex
	nodes map[string]*absentNode
}

type absentNode struct {
	failures int // in a row
	until    time.Time
}

const (
	awayAfter = 4               // failures in a row: a single read tries as often
	awayFirst = 2 * time.Second // doubled with each further failure
	awayMost  = 15 * time.Second
)

func newAbsence(clock Clock) *absence { return &absence{clock: clock, nodes: map[string]*absentNode{}} }

// refuse fails reads of a node that is away. Writes always get their chance.
func (a *absence) refuse(r *request) error {
	if r.isWrite() {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.nodes[r.node()]
	if n == nil || !a.clock.Now().Before(n.until) {
		return nil
	}
	return &Error{Kind: ErrNodeUnreachable, Method: r.method, Path: r.path, Text: fmt.Sprintf("node %s couldn't be reached a moment ago", r.node())}
}

// saw learns how a request to a node was answered.
func (a *absence) saw(r *request, status int) {
	node := r.node()
	if node == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if status != statusNoRoute {
		delete(a.nodes, node)
		return
	}
	n := a.nodes[node]
	if n == nil {
		n = &absentNode{}
		a.nodes[node] = n
	}
	if n.failures++; n.failures >= awayAfter {
		pause := awayMost
		if more := n.failures - awayAfter; more < 3 {
			pause = awayFirst << more
		}
		n.until = a.clock.Now().Add(pause)
	}
}

// statusNoRoute is what a node answers for another that it can't reach.
const statusNoRoute = 595
