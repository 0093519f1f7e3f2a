package plan

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// replace destroys a guest that can't become what the manifest asks for now, if
// that is allowed and a new one can be made: the next plan makes it.
func (c *change) replace() bool {
	why, diff := c.unlike()
	if why == "" {
		if why, diff = c.otherImage(); why == "" {
			return false
		}
		if !c.p.allows(c.v).Replace {
			c.o.Notes = append(c.o.Notes, Note{Text: why + ", which is for new machines", Do: model.Advice{Do: model.RenewGuest}})
			return false
		}
	}
	if c.v.Surplus {
		c.o.note("%s, but it isn't made anew: there are fewer guests in its group by now", why)
		c.keepSeed()
		return false
	}
	if !guard(c.o, c.p.allows(c.v), Replace, fmt.Sprintf("replace VM %d", c.g.VMID), why, diff) {
		c.keepSeed()
		return false
	}
	_, _, wait, look := c.p.sources(c.v)
	if wait == nil && look.Empty() {
		var o Object
		c.p.unmet(&o, c.v)
		wait, look = o.Wait, o.Look
	}
	if other := c.p.have.Guests[c.v.VMID]; wait == nil && other != nil && other.VMID != c.g.VMID {
		wait = taken(c.v.Owner, other)
	}
	switch {
	case !look.Empty():
		c.o.Look = look
		return true
	case wait != nil:
		c.keepSeed()
		c.o.advise(wait.Reason, "it is to be made anew, since "+why+", but "+wait.Text, wait.Do)
		return false
	}
	if c.p.copied(c.o, c.v, c.g) {
		return true
	}
	c.destroy(why)
	for i := range c.o.Steps {
		c.o.Steps[i].Effect, c.o.Steps[i].Diff = Replace, one(diff, Replace)
	}
	for _, a := range addressesOf(c.v.Leases) {
		if slices.ContainsFunc(c.v.Leases, func(l model.Lease) bool { return l.Pool.Contains(a) }) {
			c.o.Addresses = append(c.o.Addresses, a)
		}
	}
	if len(c.o.Addresses) > 0 {
		c.o.note("made anew, it keeps %s", addressList(c.o.Addresses))
	}
	return true
}

// Replaces reports whether a plan destroys a guest that is recreated.
func Replaces(o Object) bool {
	return slices.ContainsFunc(o.Steps, func(s Step) bool { return s.Effect == Replace && model.FactsOf(s.Action).Destroys })
}
