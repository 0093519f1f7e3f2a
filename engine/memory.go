package engine

import (
	"net/netip"
	"slices"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/plan"
)

// memory is what the engine knows beside the observed state: which guests are being made, and what
// has failed lately. A process that loses it loses only time.
type memory struct {
	placed  map[int]model.Placement      // their memory counts as taken
	spots   map[model.Owner]int          // the same by owner
	begun   map[model.Owner]model.Begun  // guests that Proxmox was making when we stopped to look
	kept    map[model.Owner][]netip.Addr // addresses of guests that are being replaced
	settled map[model.Owner]time.Time
	lost    map[model.Owner]request

	alone *standing          // of what is wanted in no session, or by the first caller of one
	all   map[*standing]bool // of every caller
}

func newMemory() memory {
	m := memory{
		placed: map[int]model.Placement{}, spots: map[model.Owner]int{}, begun: map[model.Owner]model.Begun{}, kept: map[model.Owner][]netip.Addr{}, settled: map[model.Owner]time.Time{}, lost: map[model.Owner]request{},
		alone: newStanding(), all: map[*standing]bool{},
	}
	m.all[m.alone] = true
	return m
}

// figuresLag is how long the list takes to count a new guest's memory.
const figuresLag = 12 * time.Second

// expire drops placements of guests that the list counts by now.
func (m *memory) expire(now time.Time) {
	for owner, since := range m.settled {
		if now.After(since.Add(figuresLag)) {
			m.displace(owner)
			delete(m.settled, owner)
		}
	}
}

// displace removes the placement of an owner's guest, and returns it.
func (m *memory) displace(owner model.Owner) (was model.Placement, vmid int) {
	vmid = m.spots[owner]
	was = m.placed[vmid]
	delete(m.placed, vmid)
	delete(m.spots, owner)
	return was, vmid
}

// place records that a guest is being made.
func (m *memory) place(vmid int, p model.Placement) {
	m.placed[vmid] = p
	m.spots[p.Owner] = vmid
}

// begin records that Proxmox has begun to make a guest.
func (m *memory) begin(vmid int) {
	if p, ok := m.placed[vmid]; ok {
		p.Begun = true
		m.placed[vmid] = p
	}
}

// leave records that a task which makes a guest continues in Proxmox, and isn't followed any more.
func (m *memory) leave(owner model.Owner, a model.Action, task string) {
	if model.FactsOf(a).Makes {
		m.begun[owner] = model.Begun{VMID: a.Guest(), Task: task}
	}
}

// replace keeps the placement of an object up to date with its newest plan; was
// is the one before.
func (m *memory) replace(p plan.Object, was model.Placement, at int) {
	if makes(p) || awaitsImage(p) {
		m.place(p.VMID, p.Placement())
		return
	}
	if at != 0 && at == p.VMID && !p.Gone {
		m.place(at, was)
	}
}

// keep records the addresses of a guest that is destroyed to be recreated.
func (m *memory) keep(p plan.Object) {
	if plan.Replaces(p) && len(p.Addresses) > 0 {
		m.kept[p.Owner] = p.Addresses
	}
}

// makes reports whether a plan makes a guest.
func makes(p plan.Object) bool {
	return slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return model.FactsOf(s.Action).Makes })
}

// awaitsImage reports whether a guest waits for its image on the node that it was placed on. Its
// memory counts as taken there.
func awaitsImage(p plan.Object) bool {
	return p.Awaits != model.Key{}
}

// bind records on which node a guest waits for which template. The choice holds until the guest is
// made, so that the image isn't made on one node after another.
func (m *standing) bind(key model.Key, p plan.Object) {
	switch {
	case awaitsImage(p):
		m.bound[key] = model.Bound{Node: p.Node, Template: p.Awaits}
	case p.Look.Empty() && !makes(p):
		delete(m.bound, key)
	}
}

// request is one whose answer was lost.
type request struct {
	what string
	at   time.Time
}

// lose records a request whose answer was lost and that creates something for an object.
func (m *memory) lose(owner model.Owner, s plan.Step, now time.Time) {
	if model.FactsOf(s.Action).Adds {
		m.lost[owner] = request{s.What, now}
	}
}

// coming returns the requests that Proxmox may still carry out, or may have carried out since the
// lists were asked for.
func (m *memory) coming(listed time.Time) map[model.Owner]string {
	var all map[model.Owner]string
	for owner, r := range m.lost {
		if listed.After(r.at.Add(observe.GivenUp)) {
			delete(m.lost, owner)
			continue
		}
		if all == nil {
			all = map[model.Owner]string{}
		}
		all[owner] = r.what
	}
	return all
}
