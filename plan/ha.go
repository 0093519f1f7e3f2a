package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// firstRules is the release that has HA rules, which stand for groups from then on.
const firstRules = 9

// ruled reports whether there are HA rules, and no groups.
func (p *planner) ruled() bool { return p.have.Release >= firstRules }

// sid returns the HA service ID of a guest.
func sid(vmid int) string { return fmt.Sprintf("vm:%d", vmid) }

// ha plans the changes of a guest's HA resource: of a new guest only when
// it is up to date, since the manager starts it at once.
func (c *change) ha(after ...int) int {
	managed := c.g.HAState != ""
	switch {
	case c.v.HA == nil && managed && c.managed("ha"):
		return c.o.step(Step{Action: model.SetHA{VMID: c.g.VMID}, What: "take it out of HA", Why: "ha isn't set", Diff: one(model.Difference{Verb: model.VerbRemove, Field: model.FieldHA}, Live), Effect: Live})
	case c.v.HA == nil:
		if c.leavesHA() {
			c.awaitRequest("put it under HA")
		}
		return 0
	case !managed:
		return c.o.step(Step{Action: model.SetHA{VMID: c.g.VMID, HA: c.v.HA, New: true, Off: c.v.Power != model.PowerOn}, What: "put it under HA", Why: model.WhyHA, Diff: one(model.Difference{Verb: model.VerbAdd, Field: model.FieldHA}, Live), Effect: Live}, after...)
	}
	if diff := c.haUnlike(); len(diff) > 0 {
		return c.o.step(Step{Action: model.SetHA{VMID: c.g.VMID, HA: c.v.HA}, What: "tell HA about it", Diff: diff, Effect: Live}, after...)
	}
	return 0
}

// leavesHA reports whether a guest is to leave HA: it is under HA by an action of ours, or may get there by a
// request that is still in flight.
func (c *change) leavesHA() bool {
	return c.v.HA == nil && c.managed("ha") && (c.g.HAState != "" || c.mayStillCome(model.AspectHA))
}

// lookHA requests the HA resources where they matter.
func (c *change) lookHA() {
	if says(c.v.HA) && c.g.HAState != "" && c.p.have.HA == nil {
		c.o.Look.HA = true
	}
}

// clearHA gets a guest that is to start or stop out of the state error, in which the HA
// manager does neither, if the manifest has put it under HA. A guest that runs is stopped by
// that.
func (c *change) clearHA(verb string, e Effect, after ...int) {
	if c.v.HA == nil {
		c.o.wait(model.WaitHA, fmt.Sprintf("the HA manager has given up on VM %d (state error) and doesn't %s it; ha-manager set vm:%[1]d --state disabled clears that", c.g.VMID, verb))
		return
	}
	c.o.step(Step{
		Action: model.SetHA{VMID: c.g.VMID, HA: c.v.HA, Disable: true},
		What:   "clear its HA error", Why: fmt.Sprintf("the HA manager has given up on it (state error) and doesn't %s it", verb), Effect: e,
	}, after...)
}

// unprotected makes an object wait for a person while its guest runs and the HA manager has given up on it: clearing
// the error would stop the guest.
func (c *change) unprotected() {
	if c.v.HA != nil && c.g.HAState == model.HAError {
		c.o.wait(model.WaitHA, fmt.Sprintf("VM %d runs, but the HA manager has given up on it (state error) and doesn't restart it; after ha-manager remove vm:%[1]d it is put under HA anew", c.g.VMID))
	}
}

// says reports whether a manifest says more than that a guest is under HA.
func says(ha *model.HA) bool { return ha != nil && *ha != (model.HA{}) }

// haUnlike returns how the HA resource of a guest differs from what is wanted. What the
// manifest doesn't say may be as it is.
func (c *change) haUnlike() (list []model.Difference) {
	resource, known := c.p.have.HA[sid(c.g.VMID)]
	if !says(c.v.HA) || !known {
		return nil
	}
	differ := func(name, have, want string) {
		if have != want {
			list = append(list, one(partOf(model.FieldHA, name, have, want), Live)...)
		}
	}
	const unsaid = "1" // is what Proxmox does then
	if n := c.v.HA.MaxRestart; n != 0 {
		differ("max_restart", cmp.Or(resource["max_restart"], unsaid), itoa(n))
	}
	if n := c.v.HA.MaxRelocate; n != 0 {
		differ("max_relocate", cmp.Or(resource["max_relocate"], unsaid), itoa(n))
	}
	switch group := c.v.HA.Group; {
	case group == "":
	case !c.p.ruled():
		differ("group", resource["group"], group)
	case !slices.Contains(c.p.have.Rules[group], sid(c.g.VMID)):
		list = append(list, model.Difference{Verb: model.VerbAdd, Field: model.FieldHA + ".rule", To: group, Effect: Live})
	}
	return list
}

// haUnfinished reports whether the HA resource will still have to change in something that the list of
// guests doesn't show: that shows only whether a guest is under HA.
func (c *change) haUnfinished() bool {
	if c.g.HAState == "" {
		return c.p.joins(c.v)
	}
	return len(c.haUnlike()) > 0
}

// joins reports whether a guest that is put under HA has to be added to a rule after
// that, by a call of its own.
func (p *planner) joins(v model.VM) bool { return v.HA != nil && v.HA.Group != "" && p.ruled() }
