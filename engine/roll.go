package engine

import (
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Guests that are restarted or replaced are known from when that was planned until they are
// ready again: what Proxmox shows is late, and between the planning and the call nothing shows
// it. For everything else, and for other processes, Proxmox shows it.

// underWay returns the guests that are restarted or replaced.
func (m *standing) underWay() map[model.Key]bool {
	if len(m.rolling) == 0 {
		return nil
	}
	all := make(map[model.Key]bool, len(m.rolling))
	for key := range m.rolling {
		all[key] = true
	}
	return all
}

// grant records that an object's new plan restarts or replaces its guest, or that it doesn't any
// more, unless that has begun. It reports false if another party has begun something meanwhile:
// then the object has to be planned again.
func (m *standing) grant(p plan.Object, v model.VM, groups []string) bool {
	begun, known := m.rolling[p.Owner.Key]
	switch disrupts := p.Look.Empty() && p.Disrupts(v); {
	case v.Deleted:
		m.unroll(p.Owner.Key)
	case disrupts && !known:
		if !m.party.take(p.Owner.Key, groups) {
			return false
		}
		m.rolling[p.Owner.Key] = false
	case !disrupts && known && !begun && p.Look.Empty():
		m.unroll(p.Owner.Key)
	}
	return true
}

// unroll records that a guest isn't restarted or replaced any more.
func (m *standing) unroll(key model.Key) {
	delete(m.rolling, key)
	m.party.release(key)
}

// grant records which of the objects that were planned just now are restarted or replaced. It
// returns the objects whose plans may be carried out.
func (r *run) grant(due []*object) (granted []*object) {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	for _, o := range due {
		v, ok := o.part.want.VM(o.owner.Key)
		if ok && !o.part.standing.grant(o.plan, v, plan.RolledWith(o.part.want.All(), v)) {
			r.due[o] = true
			continue
		}
		granted = append(granted, o)
	}
	return granted
}

// rolls records that a step which restarts or replaces a guest begins.
func (r *run) rolls(o *object, s plan.Step) {
	v, ok := o.part.want.VM(o.owner.Key)
	if !ok || !(plan.Object{Steps: []plan.Step{s}}).Disrupts(v) {
		return
	}
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	o.part.standing.rolling[o.owner.Key] = true
}

// rolled records that a guest is ready, and plans the objects that wait for it.
func (r *run) rolled(o *object) {
	r.e.mu.Lock()
	o.part.standing.unroll(o.owner.Key)
	r.e.mu.Unlock()
	r.rollOn()
}

// rollOn plans the objects that wait for other guests of their rollout group.
func (r *run) rollOn() {
	for other := range r.waiting {
		if other.wait.reason == model.WaitRollout {
			r.due[other] = true
		}
	}
}
