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

func (r *Fault) matchRequest(req *request, node string, vmid int) bool {
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
		if r.matchRequest(req, node, vmid) && f.strikes(s.seed, r, req.method+" "+req.rel) {
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
			a.faults.slow[r.Storage] = slowness{factor: r.Slow, until: a.now().Add(r.For.D())}
		}
		if r.Drop == "before" {
			return &answer{dropped: true}
		}
		if r.Status != 0 {
			return format(req.format, nil, r.answer())
		}
	}
	return nil
}

// answer words the error: as the API does, or bare for what comes from
// proxies and the connection between nodes.
func (r *Fault) answer() *apiError {
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
	var release func()
	var err error
	if storage, ok := strings.CutPrefix(what, "storage:"); ok {
		release, err = a.lockStorage(node, storage)
	} else {
		release, err = a.lockConfig(vmid)
	}
	if err == nil {
		a.later(d, func(*actor) { release() })
	}
}

// slowed is how long something takes on a storage that may be slow now.
func (s *Sim) slowed(storage string, d time.Duration) time.Duration {
	if slow, ok := s.faults.slow[storage]; ok && s.now().Before(slow.until) {
		return time.Duration(float64(d) * slow.factor)
	}
	return d
}

// taskFault is what hits a task.
type taskFault struct {
	skip bool // it does nothing
	err  string
}

// matchTask decides what hits a task that is about to run.
func (f *faultSet) matchTask(s *Sim, t *TaskInfo) *taskFault {
	for _, r := range f.rules {
		if r.Task == "" || r.Node != "" && r.Node != t.Node || r.VM != 0 && strconv.Itoa(r.VM) != t.ID {
			continue
		}
		if ok, _ := path.Match(r.Task, t.Type); ok && f.strikes(s.seed, r, t.Type+" "+t.ID) {
			return &taskFault{skip: r.Mode != "after", err: r.Error}
		}
	}
	return nil
}
