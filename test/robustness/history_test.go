package robustness

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pve/admission"
	"github.com/proxplane/proxplane/pvesim"
)

// history is all that is drawn from a seed.
type history struct {
	seed   uint64
	world  *world
	events []event
	weak   weakness
	faults []pvesim.Fault // that are injected by events

	hands     bool // it ends with handiwork
	neighbour bool // somebody hostile has a VM
	operator  bool // it is about the operator, and its world has no sets
	shared    bool // and there is a second namespace
	fetches   bool // and an image with a URL
	group     int  // how many events come before those about a group of machines; 0: there are none
}

// event is something that happens.
type event struct {
	after time.Duration // the event before it
	kind  kind
	what  string
	do    func(*run)
}

func drawHistory(seed uint64) *history { return drawWith(seed, *byHand) }

// drawWith draws a history; hands is the part of all that end with handiwork.
func drawWith(seed uint64, hands float64) *history {
	h := &history{seed: seed, world: drawWorld(seed)}
	h.world.drawCPUs(newDice(seed, "cpus"))
	d := newDice(seed, "history")
	a := &author{dice: d, h: h}
	a.write()
	a.plot()
	a.moves()
	a.handiwork(hands)
	a.groups()
	a.drains()
	return h
}

// limiter bounds what one process asks for at once.
func (h *history) limiter() *admission.Limiter {
	var c admission.Config
	if h.world.crowd {
		// Who comes first to a bound of reads is up to the scheduler.
		c.Read = admission.Bounds{Start: 1000, Max: 1000}
	}
	h.weak.admit(&c)
	return admission.New(c)
}

// only keeps some of the events.
func (h *history) only(keep []int) *history {
	out := *h
	out.events = nil
	for _, i := range keep {
		out.events = append(out.events, h.events[i])
	}
	return &out
}

// ungrouped is the history without what some end with about a group of machines.
func (h *history) ungrouped() *history {
	out := *h
	if h.group > 0 {
		out.events = h.events[:h.group]
	}
	return &out
}

func (h *history) String() string {
	var b strings.Builder
	w := h.world
	fmt.Fprintf(&b, "Proxmox %s, %d nodes, storages %v (shared %v), images %v, VMIDs %d–%d, lock room %d", w.Release, len(w.nodes), w.disks, w.shared, w.images, w.vmids.First, w.vmids.Last, w.Locks.Storage)
	if !slices.ContainsFunc(w.Nodes, func(n pvesim.WorldNode) bool { return n.CPUs == manyCPUs }) {
		var cpus []int
		for _, n := range w.Nodes {
			cpus = append(cpus, n.CPUs)
		}
		fmt.Fprintf(&b, ", CPUs %v", cpus)
	}
	if w.password {
		b.WriteString(", login by password")
	}
	if w.wire {
		b.WriteString(", over HTTP")
	}
	if w.clock != 0 {
		fmt.Fprintf(&b, ", clock ahead by %v", time.Duration(w.clock))
	}
	b.WriteString("\n")
	for i, e := range h.events {
		fmt.Fprintf(&b, "  %2d. after %v: %s\n", i, e.after, e.what)
	}
	return b.String()
}
