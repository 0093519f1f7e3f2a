package pve

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Watcher follows any number of tasks of a cluster: each node that has some is asked for one
// list in a period, or one list of the cluster shows the tasks of several nodes, and a node that has none isn't asked at all.
// A task is first looked at when tasks of its type usually end; after that, periods are short while it is young and get longer.
type Watcher struct {
	c    *Client
	opts WatchOptions
	ctx  context.Context

	mu      sync.Mutex
	nodes   map[string]*watchedNode
	left    map[string]time.Time // nodes that aren't watched any more, and when the last of their tasks ended
	sharing chan struct{}        // closed when the look at all nodes that is under way has ended; nil: there is none
	alone   time.Time            // until then each node is asked itself

	pace    pace
	telling sync.Mutex // held while OnDone is called
}

// WatchOptions set up a [Watcher]. The zero value is good.
type WatchOptions struct {
	// Quick and Slow are the shortest and the longest period. Default: 200 ms and 5 s.
	Quick, Slow time.Duration

	// OnDone, if set, is called for each task that ended, one call at a time. It shouldn't take
	// long: the watcher waits for it.
	OnDone func(TaskResult)
}

// Trouble is a node that can't be asked about its tasks at present.
type Trouble struct {
	Since time.Time
	Err   error
}

type watchedNode struct {
	tasks   map[UPID]*watchedTask
	wake    chan struct{} // a young task came, or the node was looked at with the others
	trouble *Trouble

	empty time.Time // when the last of its tasks ended
	last  time.Time // when it was last looked at
	since time.Time // when the list of the cluster was first read after the node was asked itself
	alone time.Time // until then the node is asked itself
	ask   bool      // the list shows a task running that should have ended, or not any more: the node is asked itself
}

type watchedTask struct {
	since   time.Time
	ran     time.Time // when it was last seen running
	shown   bool      // in the list of the cluster
	waiting []chan TaskResult
}

// Watch makes a Watcher that works until ctx ends.
func (c *Client) Watch(ctx context.Context, opts WatchOptions) *Watcher {
	defaultTo(&opts.Quick, pollQuick)
	defaultTo(&opts.Slow, pollSlow)
	return &Watcher{c: c, opts: opts, ctx: ctx, nodes: map[string]*watchedNode{}, left: map[string]time.Time{}}
}

// Follow starts following a task, and gives the channel on which its result arrives, once. The
// result's Err is nil, a *TaskError, or says why the end will never be known: the task is gone
// (ErrNotFound), or the watcher's context ended. Nobody has to read the channel.
func (w *Watcher) Follow(upid UPID) <-chan TaskResult {
	done := make(chan TaskResult, 1)
	if err := w.ctx.Err(); err != nil || upid.IsZero() {
		if err == nil {
			err = fmt.Errorf("follow: there is no task")
		}
		done <- TaskResult{UPID: upid, Err: err}
		return done
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	node, now := w.nodes[upid.Node], w.clock().Now()
	if node == nil {
		node = &watchedNode{tasks: map[UPID]*watchedTask{}, wake: make(chan struct{}, 1), last: now}
		w.nodes[upid.Node] = node
		go w.run(upid.Node, node)
	}
	task := node.tasks[upid]
	if task == nil {
		task = &watchedTask{since: now}
		node.tasks[upid] = task
		w.c.core.looks.earn(looksPerTask)
	}
	task.waiting = append(task.waiting, done)
	node.stir()
	return done
}

// stir has it decided anew when the node is looked at.
func (n *watchedNode) stir() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// Following returns the number of tasks that haven't ended yet.
func (w *Watcher) Following() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, node := range w.nodes {
		n += len(node.tasks)
	}
	return n
}

// Troubles returns the nodes whose tasks can't be read, each with the reason. The watch goes on trying.
func (w *Watcher) Troubles() map[string]Trouble {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]Trouble{}
	for name, node := range w.nodes {
		if node.trouble != nil {
			out[name] = *node.trouble
		}
	}
	return out
}

func (w *Watcher) clock() Clock { return w.c.core.cfg.Clock }

// run follows the tasks of one node for as long as there are any.
func (w *Watcher) run(name string, node *watchedNode) {
	for {
		// Rest first: who starts one task often starts more of them.
		last := w.rest(node)
		switch {
		case w.leave(name, node):
			return // before a look is paid for
		case w.ctx.Err() != nil:
			w.abandon(name, node)
			return
		}
		switch turn, shared := w.turn(node, last); turn {
		case lookAgain:
		case lookShared:
			select {
			case <-shared:
			case <-w.ctx.Done():
			}
		case lookAtAll:
			w.lookAtAll(shared)
		case lookAlone:
			w.lookAt(name, node)
		}
	}
}

// lookAt asks a node about its tasks.
func (w *Watcher) lookAt(name string, node *watchedNode) {
	w.afford()
	looks, err := w.c.Node(name).poll(w.ctx, w.tasksOf(node)) // more may have come meanwhile
	if w.ctx.Err() != nil {
		return
	}
	w.note(name, node, err)
	w.learn(node, looks)
	w.deliver(w.take(node, looks), looks)
	w.looked(node)
}

// looked notes that a node was looked at.
func (w *Watcher) looked(node *watchedNode) {
	w.mu.Lock()
	defer w.mu.Unlock()
	node.last = w.clock().Now()
}

// leave reports whether the node has no task any more. Then it isn't watched any more.
func (w *Watcher) leave(name string, node *watchedNode) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(node.tasks) > 0 {
		return false
	}
	delete(w.nodes, name)
	w.left[name] = node.empty
	return true
}

// tasksOf lists what to look at.
func (w *Watcher) tasksOf(node *watchedNode) []UPID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(node.tasks))
}

// note remembers that the node can't be asked, or can again.
func (w *Watcher) note(name string, node *watchedNode, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		node.trouble, node.since, node.ask = nil, time.Time{}, false
	case node.trouble == nil:
		node.trouble = &Trouble{w.clock().Now(), err}
		w.c.core.cfg.Logger.Warn("pve: tasks of a node can't be looked at, trying on", "node", name, "error", err)
	default:
		node.trouble.Err = err
	}
}

// deliver hands out the results of tasks that are over.
func (w *Watcher) deliver(over map[UPID]*watchedTask, looks map[UPID]look) {
	results := make(chan TaskResult)
	var reading sync.WaitGroup
	for upid := range over {
		l := looks[upid]
		if l.gone != nil {
			reading.Go(func() { results <- TaskResult{UPID: upid, Err: l.gone} })
			continue
		}
		reading.Go(func() { results <- w.c.finish(w.ctx, upid, l.exitStatus) })
	}
	go func() {
		reading.Wait()
		close(results)
	}()
	for result := range results {
		for _, done := range over[result.UPID].waiting {
			done <- result
		}
		if w.opts.OnDone != nil {
			w.telling.Lock()
			w.opts.OnDone(result)
			w.telling.Unlock()
		}
	}
}

// take takes the tasks of a node that have ended or are gone out of what is watched.
func (w *Watcher) take(node *watchedNode, looks map[UPID]look) map[UPID]*watchedTask {
	w.mu.Lock()
	defer w.mu.Unlock()
	over := map[UPID]*watchedTask{}
	for upid, l := range looks {
		if task := node.tasks[upid]; task != nil && (l.ended || l.gone != nil) {
			over[upid] = task
			delete(node.tasks, upid)
		}
	}
	if len(over) > 0 && len(node.tasks) == 0 {
		node.empty = w.clock().Now()
	}
	return over
}

// rest waits until it is time for the next look, and returns when the last one was.
func (w *Watcher) rest(node *watchedNode) (last time.Time) {
	for {
		now := w.clock().Now()
		due, last := w.due(node, now)
		if !due.After(now) {
			return last
		}
		select {
		case <-w.ctx.Done():
			return last
		case <-node.wake:
			// A young task: the period may be shorter now. But what was due at this instant is due, whichever of the two
			// is noticed first.
			if !w.clock().Now().Before(due) {
				return last
			}
		case <-w.clock().After(due.Sub(now)):
			return last
		}
	}
}

// due is when the node is looked at next, in the past when there are no tasks, and when it was looked at last. Tasks that are due
// a moment later are worth the moment: one look shows all.
func (w *Watcher) due(node *watchedNode, now time.Time) (due, last time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last = node.last
	all := make([]time.Time, 0, len(node.tasks))
	for upid, task := range node.tasks {
		quick := time.Duration(max(1, patience[upid.Type])) * w.opts.Quick
		all = append(all, w.pace.nextLook(upid, task.since, last, now, quick, max(quick, w.opts.Slow)))
	}
	if len(all) == 0 {
		return due, last
	}
	due = slices.MinFunc(all, time.Time.Compare)
	moment := due.Add(w.opts.Quick / 2)
	for _, next := range all {
		if next.After(due) && !next.After(moment) {
			due = next
		}
	}
	return due, last
}

// learn notes how long the tasks took that have ended.
func (w *Watcher) learn(node *watchedNode, looks map[UPID]look) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock().Now()
	for upid, l := range looks {
		task := node.tasks[upid]
		switch {
		case task == nil || l.gone != nil:
		case !l.ended:
			task.ran = now
		default:
			w.pace.ended(upid.Type, now, now.Sub(task.since), now.Sub(task.ran) <= 2*w.opts.Quick)
		}
	}
}

// afford waits until there may be another look.
func (w *Watcher) afford() {
	if wait := w.c.core.looks.spend(w.clock().Now()); wait > 0 {
		_ = sleep(w.ctx, w.clock(), wait) // who looks next notices the end of ctx
	}
}

// shortest is how long tasks take at least: even when there is next to nothing to do, these
// start programs and wait for them.
var shortest = map[string]time.Duration{
	"qmclone": 700 * time.Millisecond, "qmstart": 700 * time.Millisecond, "qmcreate": 600 * time.Millisecond,
	"qmtemplate": 500 * time.Millisecond, "download": 1500 * time.Millisecond,
}

// patience is how many times longer the shortest period is for tasks that take seconds: each node makes one template of an
// image, and looks at that shouldn't use up the allowance before machines are made from it.
var patience = map[string]int{"download": 4, "qmcreate": 3, "qmtemplate": 3}

// abandon tells all who wait that there is nobody left to look.
func (w *Watcher) abandon(name string, node *watchedNode) {
	w.mu.Lock()
	tasks := maps.Clone(node.tasks)
	clear(node.tasks)
	delete(w.nodes, name)
	w.mu.Unlock()
	for upid, task := range tasks {
		for _, done := range task.waiting {
			done <- TaskResult{UPID: upid, Err: fmt.Errorf("task %s is not followed any more: %w", upid, context.Cause(w.ctx))}
		}
	}
}
