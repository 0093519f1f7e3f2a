package plan

import "github.com/proxplane/proxplane/model"

// agent sees to it that an agent which somebody has switched off isn't passed over in silence where nobody says whether
// there is to be one: the template does, and without an agent no address is waited for. Templates of ours don't change,
// so what differs from them was changed in the guest. Those that people made may have got theirs later.
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
