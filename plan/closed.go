package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Nodes are closed to guests by what people say about them: labels that a guest's policy asks for,
// maintenance, groups and rules of HA.

// inMaintenance reports whether a node is emptied: by the HA manager, or because people say so.
func inMaintenance(v model.VM, n *model.Node) bool {
	return n.Maintenance || v.Place.FactsOf(n.Name).Maintenance
}

// closed returns the reason for which a guest may not be on a node, whatever room there is; empty: it may.
func (p *planner) closed(v model.VM, n *model.Node) unfit {
	if inMaintenance(v, n) {
		return now("in maintenance")
	}
	for _, s := range v.Place.Where {
		facts := v.Place.FactsOf(n.Name)
		if s.Matches(facts.Labels) {
			continue
		}
		if has := facts.Labels[s.Key]; has != "" {
			return never("%s %s, want %s", s.Key, has, s)
		}
		return never("no label %s, want %s", s.Key, s)
	}
	return unfit{}
}

// reservedText says that memory is reserved on a node, behind a figure.
func reservedText(v model.VM, node string) string {
	if r := v.Place.FactsOf(node).Reserved; r > 0 {
		return fmt.Sprintf(" (%s reserved)", model.Bytes(r))
	}
	return ""
}

// besideReserved is reservedText for use inside of brackets.
func besideReserved(v model.VM, node string) string {
	return strings.TrimSuffix(strings.Replace(reservedText(v, node), " (", ", ", 1), ")")
}

// unknownNodes adds a note about settings for nodes that don't exist.
func (p *planner) unknownNodes(v model.VM) {
	for _, name := range model.NamesOf(v.Place.Facts) {
		if p.have.Nodes[name] == nil && name != model.AllNodes {
			p.note(Note{Text: fmt.Sprintf("node %s, which labels, reserved memory or maintenance are given for, isn't in the cluster, which has %s", name, strings.Join(model.NamesOf(p.have.Nodes), ", "))})
		}
	}
}

// limitOf returns what the group or rule that a guest is to be in says about nodes.
func (p *planner) limitOf(v model.VM) (name string, limit model.HALimit, ok bool) {
	if v.HA == nil || v.HA.Group == "" {
		return "", limit, false
	}
	limit, ok = p.have.HALimits[v.HA.Group]
	return p.limitName(v.HA.Group), limit, ok && len(limit.Nodes) > 0
}

// limitName returns the name of a group or rule, for people.
func (p *planner) limitName(name string) string {
	if p.ruled() {
		return "HA rule " + name
	}
	return "HA group " + name
}

// apartByHA says which group or rule keeps a guest that is under HA away from a node; empty: none. The
// manager would refuse to take it there, or take it away again.
func (p *planner) apartByHA(c *change, node string) string {
	if c.g.HAState == "" {
		return ""
	}
	if group := p.have.HA[sid(c.g.VMID)]["group"]; group != "" {
		if limit := p.have.HALimits[group]; limit.Strict && !in(limit.Nodes, node) {
			return "not one of the nodes of " + p.limitName(group)
		}
	}
	for _, name := range model.NamesOf(p.have.Rules) {
		guests, limit := p.have.Rules[name], p.have.HALimits[name]
		if !slices.Contains(guests, sid(c.g.VMID)) {
			continue
		}
		if limit.Strict && len(limit.Nodes) > 0 && !in(limit.Nodes, node) {
			return "not one of the nodes of " + p.limitName(name)
		}
		for _, other := range guests {
			if g := p.guestOf(other); limit.Apart && g != nil && g.VMID != c.g.VMID && g.Node == node {
				return fmt.Sprintf("%s keeps it apart from %s", p.limitName(name), g.Name)
			}
		}
	}
	return ""
}

// guestOf returns the guest with that HA service ID; nil: none.
func (p *planner) guestOf(sid string) *model.Guest {
	id, err := strconv.Atoi(strings.TrimPrefix(sid, "vm:"))
	if err != nil {
		return nil
	}
	return p.have.Guests[id]
}

func in(nodes map[string]int, node string) bool { _, ok := nodes[node]; return ok }

// outsideHA returns the reason for which the HA manager would move a guest away from a node at once; empty: it wouldn't.
func (p *planner) outsideHA(v model.VM, node string) unfit {
	if name, limit, ok := p.limitOf(v); ok && limit.Strict {
		if !in(limit.Nodes, node) {
			return never("not one of the nodes of %s", name)
		}
	}
	return unfit{}
}
