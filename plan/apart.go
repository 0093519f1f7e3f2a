package plan

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// apart plans the HA rule that keeps a guest away from others. Placement does so only when a guest is
// made, and the HA manager moves guests later.
func (c *change) apart() {
	if !c.p.ruled() || len(c.v.Place.AntiAffinity) == 0 {
		return
	}
	peers := c.peers()
	if len(peers) < 2 {
		return
	}
	if c.p.have.Rules == nil {
		c.o.Look.HA = true
		return
	}
	rule := ruleName(c.v)
	have, exists := c.p.have.Rules[rule]
	var missing []string
	for _, sid := range peers {
		if !slices.Contains(have, sid) {
			missing = append(missing, sid)
		}
	}
	// One of those that are missing does it for all.
	if len(missing) == 0 || missing[0] != sid(c.g.VMID) {
		return
	}
	all := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(have), peers...))))
	c.o.step(Step{
		Action: model.KeepApart{VMID: c.g.VMID, Rule: rule, Resources: all, New: !exists},
		What:   "keep it apart by HA rule " + rule, Why: "anti-affinity of guests under HA", Effect: Live,
	})
}

// peers returns the guests under HA that must not share a node with this one, including itself if it
// is under HA.
func (c *change) peers() []string {
	var sids []string
	for i := range c.p.want.VMs {
		v := &c.p.want.VMs[i]
		if v.HA == nil || v.Deleted || !conflicts(&c.v, v) {
			continue
		}
		if f := c.p.find(v.Owner, v.VMID, v.Range); f.guest != nil && f.guest.HAState != "" {
			sids = append(sids, sid(f.guest.VMID))
		}
	}
	slices.Sort(sids)
	return sids
}

// conflicts reports whether a guest's anti-affinity is about another one.
func conflicts(v, other *model.VM) bool {
	return slices.ContainsFunc(v.Place.AntiAffinity, func(s model.Selector) bool {
		return s.Matches(v.Labels) && s.Matches(other.Labels)
	})
}

// ruleName is the same for all guests of a set with the same anti-affinity.
func ruleName(v model.VM) string {
	type one struct { // the name of a rule stays when selectors get further fields
		Key, Operator string
		Values        []string
	}
	var all []one
	for _, s := range v.Place.AntiAffinity {
		all = append(all, one{s.Key, s.Operator, s.Values})
	}
	return "proxplane-" + model.Digest(fmt.Sprint(v.Owner.Door, v.Owner.Set, all))
}
