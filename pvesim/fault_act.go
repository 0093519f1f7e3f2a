package pvesim

import (
	"path"
	"strconv"
	"strings"
	"time"
)

// pathSubject finds node and VM in a path.
func pathSubject(p string) (node string, vmid int) {
	seg := segments(p)
	if len(seg) >= 2 && seg[0] == "nodes" {
		node = seg[1]
	}
	if len(seg) >= 4 && (seg[2] == "qemu" || seg[2] == "lxc") {
		vmid, _ = strconv.Atoi(seg[3])
	}
	return node, vmid
}

// hits reports whether a rule is about a request.
func hits(r *Fault, req *request, node string, vmid int) bool {
	return r.Task == "" && (r.Method == "" || r.Method == req.method) && matchPath(r.Path, req.rel) &&
		(r.Node == "" || r.Node == node) && (r.VM == 0 || r.VM == vmid)
}

// match decides which faults hit a request.
func (f *faultSet) match(s *Sim, req *request) *activeFault {
	act := &activeFault{}
	if len(f.rules) == 0 {
		return act
	}
	node, vmid := pathSubject(req.rel)
	for _, r := range f.rules {
		if hits(&r.Fault, req, node, vmid) && f.strikes(s.seed, r, req.method+" "+req.rel) {
			act.rules = append(act.rules, r.Fault)
		}
	}
	act.node, act.vmid = node, vmid
	return act
}

// activeFault is what hits one request.
type activeFault struct {
	rules []Fault
	node  string
	vmid  int
}

// before is what happens ahead of handling the request; an answer ends it.
func (f *activeFault) before(a *actor, req *request) *answer {
	for _, r := range f.rules {
		a.sleep(r.Delay.D())
		if node := r.Away; node != "" {
			if node == "." {
				node = f.node
			}
			a.takeAway(node, r.For.D())
		}
		if r.Hold != "" {
			a.holdLock(r.Hold, f.node, f.vmid, r.For.D())
		}
		if r.Slow > 0 {
			slow := slowness{factor: r.Slow}
			if r.For > 0 {
				slow.until = a.now().Add(r.For.D())
			}
			a.faults.slow[r.Storage] = slow
		}
		if r.Drop == "before" {
			return &answer{dropped: true}
		}
		if r.Status != 0 {
			return format(req.format, nil, faultAnswer(&r))
		}
	}
	return nil
}

// faultAnswer words the error: as the API does, or bare for what comes from
// proxies and the connection between nodes.
func faultAnswer(r *Fault) *apiError {
	if r.Status >= 590 || r.Status == 502 || r.Status == 503 || r.Status == 504 {
		return emptyError(r.Status, "%s", r.Reason)
	}
	return coded(r.Status, "%s", r.Reason)
}

// after is what becomes of the answer.
func (f *activeFault) after(_ *actor, ans *answer) *answer {
	for _, r := range f.rules {
		if r.Drop == "after" {
			return &answer{dropped: true}
		}
	}
	return ans
}

// takeAway makes a node unreachable for a while.
func (s *Sim) takeAway(node string, d time.Duration) {
	n := s.state.Nodes[node]
	if n == nil || n.State != Online {
		return
	}
	n.State = Unreachable
	if d > 0 {
		s.later(d, func(*actor) { n.State = Online })
	}
}

// holdLock lets somebody else hold a lock for a while.
func (a *actor) holdLock(what, node string, vmid int, d time.Duration) {
	name, room := configLock(vmid), 1
	if storage, ok := strings.CutPrefix(what, "storage:"); ok {
		st := a.state.Storages[storage]
		if st == nil {
			return
		}
		name, room = st.lockName(node), max(1, a.world.Locks.Storage)
	}
	for range room { // as many as it takes to leave no place
		if release, ok := a.acquire(name, room, configLockWait); ok {
			a.later(d, func(*actor) { release() })
		}
	}
}

// slowed is how long something takes on storages that may be slow now.
func (s *Sim) slowed(d time.Duration, storages ...string) time.Duration {
	factor := 1.0
	for _, storage := range storages {
		if slow, ok := s.faults.slow[storage]; ok && (slow.until.IsZero() || s.now().Before(slow.until)) {
			factor = max(factor, slow.factor)
		}
	}
	return time.Duration(float64(d) * factor)
}

// taskFault is what hits a task.
type taskFault struct {
	delay time.Duration
	skip  bool // it does nothing
	err   string
}

// matchTask decides what hits a task that is about to run.
func (f *faultSet) matchTask(s *Sim, t *TaskInfo) taskFault {
	for _, r := range f.rules {
		if r.Task == "" || r.Node != "" && r.Node != t.Node || r.VM != 0 && strconv.Itoa(r.VM) != t.ID {
			continue
		}
		if ok, _ := path.Match(r.Task, t.Type); ok && f.strikes(s.seed, r, t.Type+" "+t.ID) {
			onlyLate := r.Delay > 0 && r.Error == "" && r.Mode == ""
			return taskFault{delay: r.Delay.D(), skip: r.Mode != "after" && !onlyLate, err: r.Error}
		}
	}
	return taskFault{}
}
