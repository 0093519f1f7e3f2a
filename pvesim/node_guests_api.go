package pvesim

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pve/schema"
)

// nodeGuestsRoutes start, stop and suspend the guests of a node together.
func nodeGuestsRoutes() map[string]handler {
	return map[string]handler{
		"POST /nodes/{node}/startall":   startAll,
		"POST /nodes/{node}/stopall":    stopAll,
		"POST /nodes/{node}/suspendall": suspendAll,
	}
}

// guestRound is a task that does the same to many guests.
type guestRound struct {
	node    string
	only    map[int]bool // nil: all but those of the high-availability manager
	workers int
}

func (c *call) guestRound() *guestRound {
	r := &guestRound{node: c.node(), workers: min(max(1, c.state.Nodes[c.node()].CPUs-1), 8)}
	if n := atoi(c.state.Options["max_workers"]); n > 0 {
		r.workers = n
	}
	if n := c.params.Int("max-workers"); n > 0 {
		r.workers = n
	}
	if c.params.Has("vms") {
		r.only = map[int]bool{}
		for _, id := range c.params.List("vms") {
			r.only[atoi(id)] = true
		}
	}
	return r
}

// needGuests checks privileges on everything, or on the guests that are named.
func (c *call) needGuests(privs ...string) error {
	if c.has(c.who, "/", privs...) {
		return nil
	}
	vms := c.params.List("vms")
	if len(vms) == 0 {
		return denied("/, " + strings.Join(privs, " && "))
	}
	for _, id := range vms {
		if err := c.need(c.who, "/vms/"+id, privs[0]); err != nil {
			return err
		}
	}
	return nil
}

// startup is the place of a guest in the order of starting.
type startup struct {
	order    int
	up, down *int
}

func parseStartup(text string) startup {
	s := startup{order: math.MaxInt}
	for part := range strings.SplitSeq(text, ",") {
		key, value, named := strings.Cut(part, "=")
		if !named {
			key, value = "order", key
		}
		n, err := strconv.Atoi(value)
		if err != nil {
			continue
		}
		switch key {
		case "order":
			s.order = n
		case "up":
			s.up = &n
		case "down":
			s.down = &n
		}
	}
	return s
}

// guests are the VMIDs that a round is about, by their order.
func (r *guestRound) guests(s *Sim, onboot bool) map[int][]int {
	byOrder := map[int][]int{}
	for id, vm := range s.state.VMs {
		switch {
		case vm.Node != r.node, vm.Template(), r.only != nil && !r.only[id], r.only == nil && s.haManaged(id):
		case onboot && !truthy(vm.Conf["onboot"]):
		default:
			order := parseStartup(vm.Conf["startup"]).order
			byOrder[order] = append(byOrder[order], id)
		}
	}
	for _, ids := range byOrder {
		slices.Sort(ids)
	}
	return byOrder
}

// ask makes a call of the API for one guest, as the task's user.
func (r *guestRound) ask(t *task, h handler, vmid int, params schema.Params) (*task, error) {
	all := schema.Params{"node": r.node, "vmid": strconv.Itoa(vmid)}
	maps.Copy(all, params)
	upid, err := h(&call{actor: t.actor, who: t.who, entry: r.node, params: all})
	if err != nil {
		return nil, err
	}
	return t.running[upid.(string)], nil
}

// wait waits until fewer than so many of the workers run.
func (r *guestRound) wait(t *task, workers map[int]*task, fewer int, ended func(vmid int, w *task)) {
	for len(workers) >= fewer {
		for id, w := range workers {
			select {
			case <-w.ended:
				delete(workers, id)
				ended(id, w)
			default:
			}
		}
		t.sleep(time.Second)
	}
}

func startAll(c *call) (any, error) {
	if err := c.needGuests("VM.PowerMgmt"); err != nil {
		return nil, err
	}
	r, force := c.guestRound(), c.params.Bool("force")
	return c.fork(r.node, "startall", "", c.who, func(t *task) error {
		for id, vm := range t.state.VMs {
			if vm.Node == r.node && vm.Conf["lock"] == "backup" && !vm.Template() {
				delete(vm.Conf, "lock")
				vm.touch()
				t.logf("removed left over backup lock from '%d'!", id)
			}
		}
		byOrder := r.guests(t.Sim, !force)
		for _, order := range slices.Sorted(maps.Keys(byOrder)) {
			r.start(t, byOrder[order])
		}
		return nil
	}), nil
}

func (r *guestRound) start(t *task, ids []int) {
	workers := map[int]*task{}
	failed := func(vmid int, w *task) {
		if w.info.Exit != "OK" && !taskWarned(w.info.Exit) {
			t.logf("Starting VM %d failed: %s", vmid, w.info.Exit)
		}
	}
	for _, id := range ids {
		vm := t.state.VMs[id]
		if vm == nil || vm.Run != nil {
			continue
		}
		t.logf("Starting VM %d", id)
		delay := 3
		if up := parseStartup(vm.Conf["startup"]).up; up != nil {
			if delay = *up; delay > 0 {
				t.logf("Waiting for %d seconds (startup delay)", delay)
			}
		}
		w, err := r.ask(t, postStart, id, nil)
		if err != nil {
			t.logf("%v", err)
			continue
		}
		workers[id] = w
		t.sleep(time.Duration(delay) * time.Second)
		r.wait(t, workers, r.workers, failed)
	}
	r.wait(t, workers, 1, failed)
}

// each does the same to all guests, from the last to the first.
func (r *guestRound) each(t *task, do func(vmid int) (*task, error)) error {
	byOrder := r.guests(t.Sim, false)
	orders := slices.Sorted(maps.Keys(byOrder))
	for _, order := range slices.Backward(orders) {
		workers := map[int]*task{}
		for _, id := range slices.Backward(byOrder[order]) {
			w, err := do(id)
			if err != nil {
				t.logf("%v", err)
			}
			if w != nil {
				workers[id] = w
				r.wait(t, workers, r.workers, func(int, *task) {})
			}
		}
		r.wait(t, workers, 1, func(int, *task) {})
	}
	return nil
}

func stopAll(c *call) (any, error) {
	if err := c.needGuests("VM.PowerMgmt"); err != nil {
		return nil, err
	}
	r, patience, force := c.guestRound(), 180, !c.params.Has("force-stop") || c.params.Bool("force-stop")
	if n := c.timeout(); n != nil {
		patience = *n
	}
	return c.fork(r.node, "stopall", "", c.who, func(t *task) error {
		return r.each(t, func(vmid int) (*task, error) {
			vm := t.state.VMs[vmid]
			if vm == nil || vm.Run == nil {
				return nil, nil
			}
			seconds := patience
			if down := parseStartup(vm.Conf["startup"]).down; down != nil {
				seconds = *down
			}
			t.logf("Stopping VM %d (timeout = %d seconds)", vmid, seconds)
			return r.ask(t, postShutdown, vmid, schema.Params{"timeout": strconv.Itoa(seconds), "forceStop": itoa(flagInt(force))})
		})
	}), nil
}

func suspendAll(c *call) (any, error) {
	if err := c.needGuests("VM.PowerMgmt", "VM.Config.Disk"); err != nil {
		return nil, err
	}
	r := c.guestRound()
	return c.fork(r.node, "suspendall", "", c.who, func(t *task) error {
		return r.each(t, func(vmid int) (*task, error) {
			if vm := t.state.VMs[vmid]; vm == nil || vm.Run == nil {
				t.logf("VM %d not running, skipping suspension", vmid)
				return nil, nil
			}
			t.logf("Suspending VM %d", vmid)
			return r.ask(t, postSuspend, vmid, schema.Params{"todisk": "1"})
		})
	}), nil
}
