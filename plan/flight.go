package plan

import (
	"fmt"

	"github.com/proxplane/proxplane/model"
)

// Requests whose answers nobody waits for any more, and which Proxmox may still carry out:
// what they do stays ours until that is certain.

// mayStillCome reports whether a request in flight may still change the guest. Plans that are only shown don't
// wait for it.
func (c *change) mayStillCome(what model.Aspect) bool {
	return c.g.InFlight.Has(what) && !c.p.want.Foresee
}

// awaitRequest makes an object wait until no request is in flight any more.
func (c *change) awaitRequest(what string) { c.o.awaitRequest(what) }

// linger keeps an object that is gone while a request may still make something for it.
func (p *planner) linger(o *Object) {
	if what := p.have.Coming[o.Owner]; what != "" && o.Gone && !p.want.Foresee {
		o.Gone = false
		o.awaitRequest(what)
	}
}

func (o *Object) awaitRequest(what string) {
	o.wait(model.WaitRequest, fmt.Sprintf("a request to %s may still be under way, since its answer was lost or its process ended; that is certain within two minutes", what))
}

// leavesPools returns the marks of pools that the guest is to leave: it is in them by an action of ours, or may get
// into them by a request that is still in flight.
func (c *change) leavesPools() (marks []string) {
	for _, mark := range c.have.Marker.PoolMarks() {
		is := mark == model.PoolMark(c.g.Pool)
		if mark != model.PoolMark(c.v.Pool) && (is || c.v.Pool == "" && c.mayStillCome(model.AspectPool)) {
			marks = append(marks, mark)
		}
	}
	return marks
}
