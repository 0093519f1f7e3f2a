package pve

import "time"

// One list of the cluster shows the tasks of all nodes. Proxmox' nodes tell each other what runs on them and what has ended of late: when a
// task begins, and when the process that began it notices its end, which is at once unless that process is busy. So the list is good for
// most looks at several nodes, and each of them is asked itself from time to time.

const (
	// listTrust is how long the list is read without asking a node itself.
	listTrust = 2 * time.Second
	// listRoom is how many tasks of a node the list is sure to show: a node tells the others of 25, those that run first.
	listRoom = 20
	// listYoung is the age up to which a task may be missing from the list.
	listYoung = time.Second
	// listPause is how long a node is asked itself whose tasks the list doesn't show: credentials may not see them, or others have many
	// tasks there.
	listPause = time.Minute
)

// approach is what to do about a node whose next look is due.
type approach int

const (
	lookAlone  approach = iota // ask the node
	lookAtAll                  // ask for the list of the cluster
	lookShared                 // wait for the list that somebody asks for
	lookAgain                  // nothing: it was looked at meanwhile
)

// turn decides how a node is looked at whose look is due since it was looked at last at a time. It returns what to close after a look
// at all, or what to wait for.
//
// It doesn't depend on what happens at the same instant on other nodes.
func (w *Watcher) turn(node *watchedNode, last time.Time) (approach, chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock().Now()
	switch {
	case !node.last.Equal(last):
		return lookAgain, nil
	case !w.shares(node, now) || !w.others(node, now):
		return lookAlone, nil
	case w.sharing != nil:
		return lookShared, w.sharing
	default:
		w.sharing = make(chan struct{})
		return lookAtAll, w.sharing
	}
}

// shares reports whether the list of the cluster is good enough for a node now. The caller holds the lock.
func (w *Watcher) shares(node *watchedNode, now time.Time) bool {
	return !node.ask && len(node.tasks) <= listRoom && (node.since.IsZero() || now.Sub(node.since) < listTrust) &&
		!now.Before(node.alone) && !now.Before(w.alone)
}

// others reports whether the list shows another node's tasks, too, or would have until now. The caller holds the lock.
func (w *Watcher) others(node *watchedNode, now time.Time) bool {
	for _, other := range w.nodes {
		if other != node && len(other.tasks) <= listRoom && other.busy(now) {
			return true
		}
	}
	for name, at := range w.left {
		switch {
		case at.Before(now):
			delete(w.left, name)
		case w.nodes[name] != node:
			return true
		}
	}
	return false
}

// busy reports whether the node had tasks right before now.
func (n *watchedNode) busy(now time.Time) bool {
	for _, task := range n.tasks {
		if task.since.Before(now) {
			return true
		}
	}
	return n.empty.Equal(now)
}

// lookAtAll looks at the tasks of all nodes, and closes shared.
func (w *Watcher) lookAtAll(shared chan struct{}) {
	w.afford()
	sent := w.clock().Now()
	list, err := w.c.Cluster().Tasks(w.ctx)
	seen := w.sort(list, sent, err)
	for node, looks := range seen {
		w.learn(node, looks)
		go w.deliver(w.take(node, looks), looks) // which may take a log: nobody waits for those of others
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for node := range seen {
		node.stir()
	}
	w.sharing = nil
	close(shared)
}

// sort says what a list shows of the tasks of each node that were followed before it was asked for.
func (w *Watcher) sort(list []TaskInfo, sent time.Time, err error) map[*watchedNode]map[UPID]look {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock().Now()
	if err != nil {
		w.alone = now.Add(listPause)
		return nil
	}
	shown := make(map[UPID]TaskInfo, len(list))
	for _, info := range list {
		shown[info.UPID] = info
	}
	seen := map[*watchedNode]map[UPID]look{}
	for _, node := range w.nodes {
		looks := map[UPID]look{}
		for upid, task := range node.tasks {
			info, ok := shown[upid]
			age, usual := sent.Sub(task.since), w.pace.usual(upid.Type, now)
			switch late := usual > 0 && age >= usual; {
			case age <= 0: // it began meanwhile
			case ok && !info.Running() && info.Status != "":
				looks[upid] = look{ended: true, exitStatus: info.Status}
			case ok && info.Running():
				looks[upid] = look{}
				task.shown = true
				node.ask = node.ask || late
			case task.shown || late:
				node.ask = true // so much runs there that the list has no room for what has ended
			case age > listYoung:
				node.alone = now.Add(listPause)
			}
		}
		if w.shares(node, now) {
			node.last = now
		}
		if node.since.IsZero() {
			node.since = now
		}
		seen[node] = looks
	}
	return seen
}
