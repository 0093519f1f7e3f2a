package pvesim

import "maps"

// agentAnswers pings the guest agent; one that is down makes the caller wait
// as long as Proxmox does.
func (a *actor) agentAnswers(r *Run) bool {
	if r.agentUp(a.now()) {
		return true
	}
	a.sleep(a.world.Load.AgentWait.D())
	return r.agentUp(a.now())
}

func (g *Guest) clone() *Guest {
	if g == nil {
		return nil
	}
	out := *g
	out.Files = maps.Clone(g.Files)
	out.Execs = maps.Clone(g.Execs)
	return &out
}
