package plan

import "github.com/proxplane/proxplane/model"

// agent compares the option agent with that of the template where the manifest doesn't set it: without an agent no address
// is waited for. Templates of ours don't change, so an agent that is off was switched off in the guest, and is switched on
// again. Templates that people made may have got their agent later: that is a note.
func (c *change) agent(act *model.Configure) {
	if _, said := c.v.Options["agent"]; said || model.AgentOn(c.have.Options) || c.v.Source.Blank || fresh(c.have) {
		return
	}
	from := c.p.have.Guests[c.have.Marker.From]
	switch {
	case from == nil || !from.Template || c.p.offline(from.VMID):
	case from.Config == nil:
		c.o.Look.Configs = append(c.o.Look.Configs, from.VMID)
	case !model.AgentOn(from.Config.Options):
	case from.Marker() == nil:
		c.o.note("the guest agent is off in the config of VM %d, and on in that of its template %d: no address is waited for; declare whether it is to be on", c.g.VMID, from.VMID)
	default:
		have, want := c.have.Options["agent"], from.Config.Options["agent"]
		c.sayOption(differs("agent", have, want), have, want)
		act.Set["agent"] = want
	}
}
