package plan

import (
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// power plans starting, stopping, and the restart that pending changes need.
func (c *change) power(after ...int) {
	if c.g.Status == model.StatusUnknown {
		c.o.Look.Status = append(c.o.Look.Status, c.g.VMID)
		return
	}
	on := c.v.Power == model.PowerOn
	switch {
	case on && c.g.Status == model.StatusPaused:
		c.o.step(Step{Action: model.Resume{Target: c.target()}, What: fmt.Sprintf("resume VM %d", c.g.VMID), Why: model.WhyResume, Diff: c.powers(model.StatusRunning, Live), Effect: Live}, after...)
	case on && !c.running():
		switch c.g.HAState {
		case "", "stopped", "disabled", "ignored":
		case model.HAError:
			c.clearHA("start", Live, after...)
			return
		case model.HAClearing:
			c.o.wait(model.WaitPending, "the HA manager is to clear its error")
			return
		default:
			c.o.wait(model.WaitPending, "the HA manager is to start it")
			return
		}
		if c.addressTaken() {
			return
		}
		c.o.step(Step{Action: model.Start{Target: c.target()}, What: fmt.Sprintf("start VM %d", c.g.VMID), Why: model.WhyOn, Diff: c.powers(model.StatusRunning, Live), Effect: Live}, after...)
	case (on || c.v.Power == "" && c.running()) && len(c.pending()) > 0:
		c.restart(after...)
	case on:
		c.unprotected()
		c.address()
	case c.running() && c.v.Power != "" && c.g.HAState == model.HAError:
		c.clearHA("stop", PowerOff, after...)
	case c.running() && c.v.Power != "" && c.g.HAState == model.HAClearing:
		c.o.wait(model.WaitPending, "the HA manager is to clear its error, which stops it")
	case c.running():
		c.stop()
	}
}

// addressTaken waits with the start of a guest while another one runs with the same
// MAC address: a copy, or a restored backup. Those of the same name are looked at.
func (c *change) addressTaken() bool {
	for _, g := range c.p.have.Named(c.g.Name) {
		if g.Config == nil && g.Status == model.StatusRunning && !g.Container {
			c.o.Look.Configs = append(c.o.Look.Configs, g.VMID)
		}
	}
	if !c.o.Look.Empty() {
		return true
	}
	var first *model.Guest
	address := ""
	for _, g := range c.p.have.Guests {
		if g.VMID == c.g.VMID || g.Config == nil || g.Status != model.StatusRunning || first != nil && first.VMID < g.VMID {
			continue
		}
		if mac, same := sharedMAC(c.have.NICs, g.Config.NICs); same {
			first, address = g, mac
		}
	}
	if first != nil {
		c.o.wait(model.WaitForeign, fmt.Sprintf("VM %d on %s (%s) runs with the MAC address %s, which VM %d has, too, so it isn't started; stop that one, or give it another MAC address",
			first.VMID, first.Node, first.Name, address, c.g.VMID))
		return true
	}
	return false
}

// powers returns the difference of a guest that starts or stops.
func (c *change) powers(to model.Status, e Effect) []model.Difference {
	return one(differs(model.FieldPower, string(c.g.Status), string(to)), e)
}

// restart applies what is pending, if that is allowed.
func (c *change) restart(after ...int) {
	if text := c.tooManyCPUs(); text != "" {
		c.o.wait(model.WaitUnfit, text) // it would stop and not come back
		return
	}
	keys := c.pending()
	why := strings.Join(keys, ", ") + " " + isAre(len(keys)) + " applied at a restart only"
	if !guard(c.o, c.p.allows(c.v), Restart, fmt.Sprintf("restart VM %d", c.g.VMID), why, c.applied(keys)...) {
		c.o.Refused[len(c.o.Refused)-1].Pending = c.atRestart(keys)
		return
	}
	what := fmt.Sprintf("restart VM %d", c.g.VMID)
	switch force := c.p.allows(c.v).Stop; {
	case !force && c.ignored(what):
	case force && c.v.Power == model.PowerOn && c.g.HAState == "":
		off := c.o.step(c.shutdown(why, c.applied(keys)), after...)
		c.o.step(Step{Action: model.Start{Target: c.target()}, What: fmt.Sprintf("start VM %d again", c.g.VMID), Why: why, Diff: c.applied(keys), Effect: Restart}, off)
	default:
		c.o.step(Step{Action: model.Reboot{Target: c.target(), Timeout: c.v.ShutdownTimeout}, What: what, Why: why, Diff: c.applied(keys), Effect: Restart}, after...)
	}
}

// shutdown asks the guest to shut down, and stops it after a while if that is allowed.
func (c *change) shutdown(why string, diff []model.Difference) Step {
	s := Step{Action: model.Shutdown{Target: c.target(), Timeout: c.v.ShutdownTimeout}, What: fmt.Sprintf("shut VM %d down", c.g.VMID), Why: why, Diff: diff, Effect: Restart}
	if c.p.allows(c.v).Stop {
		s.Action = model.Shutdown{Target: c.target(), Timeout: c.v.ShutdownTimeout, Force: true}
		s.What += ", and stop it if it doesn't in time"
	}
	return s
}

// ignored refuses to shut down a guest again that has ignored a shutdown lately.
func (c *change) ignored(what string) bool {
	if !c.p.have.Ignored[c.v.Owner.Key] {
		return false
	}
	c.o.Refused = append(c.o.Refused, Refusal{
		What: what, Why: "its guest ignored the shutdown; shut it down from inside, or have it stopped", Effect: Restart,
		Allow: model.AllowStop,
	})
	return true
}

// stop powers a guest off in the way that was asked for.
func (c *change) stop() {
	switch c.v.Power {
	case model.PowerOff:
		c.o.step(Step{Action: model.Stop{Target: c.target()}, What: fmt.Sprintf("stop VM %d", c.g.VMID), Why: model.WhyOff, Diff: c.powers(model.StatusStopped, PowerOff), Effect: PowerOff})
	case model.PowerOffGraceful:
		s := c.shutdown(model.WhyShutdown, c.powers(model.StatusStopped, PowerOff))
		s.Effect = PowerOff
		if c.p.allows(c.v).Stop || !c.ignored(s.What) {
			c.o.step(s)
		}
	}
}

// address makes an object wait until the guest agent reports an address. Without such a wait, a started guest has to
// be seen running.
func (c *change) address() {
	switch {
	case len(c.g.Addresses) > 0 || len(c.o.Steps) > 0:
		return
	case !c.v.WaitAddress || c.p.want.Unheard || !model.AgentOn(c.have.Options):
		if c.g.Unseen {
			c.o.Look.Status = append(c.o.Look.Status, c.g.VMID)
		}
		return
	case c.g.Agent == model.AgentUnasked:
		c.o.Look.Agents = append(c.o.Look.Agents, c.g.VMID)
		return
	}
	c.o.wait(model.WaitAgent, fmt.Sprintf("VM %d runs, and its guest agent hasn't reported an address yet", c.g.VMID))
}

// pool plans the pool that the guest belongs to. It leaves one that a manifest
// named before, but not one that others have put it into.
func (c *change) pool() int {
	switch {
	case c.v.Pool == c.g.Pool && c.v.Pool != "":
		return 0
	case c.v.Pool == "" && c.g.Pool != "" && c.managed(model.PoolMark(c.g.Pool)):
		return c.o.step(Step{
			Action: model.SetPool{VMID: c.g.VMID, From: c.g.Pool},
			What:   "take it out of pool " + c.g.Pool, Why: model.WhyPooled, Diff: one(unset(model.FieldPool, c.g.Pool), Live), Effect: Live,
		})
	case c.v.Pool == "":
		if len(c.leavesPools()) > 0 {
			c.awaitRequest("put it into a pool")
		}
		return 0
	}
	return c.o.step(Step{
		Action: model.SetPool{VMID: c.g.VMID, Pool: c.v.Pool, From: c.g.Pool},
		What:   "put it into pool " + c.v.Pool, Diff: one(differs(model.FieldPool, c.g.Pool, c.v.Pool), Live), Effect: Live,
	})
}
