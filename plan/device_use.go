package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// demand is that a guest needs one of some devices of a node.
type demand struct {
	who     string
	mapping string // empty: it names the device itself
	any     []string
}

// demands returns the PCI devices of a node that a guest with these options takes when it starts. Those of
// mappings that nobody knows about aren't counted.
func (p *planner) demands(who, node string, options map[string]string) []demand {
	var list []demand
	for _, k := range slices.Sorted(keysOf(options)) {
		value := options[k]
		if !isSlot(k, "hostpci") || parted(value) {
			continue
		}
		d := demand{who: who, mapping: mappingIn(value)}
		if d.mapping != "" {
			d.any = slices.Clone(p.have.Devices["pci/"+d.mapping].On[node])
		} else {
			host, _, _ := strings.Cut(value, ",")
			d.any = []string{strings.TrimPrefix(host, "host=")}
		}
		if len(d.any) > 0 {
			list = append(list, d)
		}
	}
	return list
}

// devicesTaken says that the guests that run on a node, or will, leave too few devices for a further guest with
// these options.
func (p *planner) devicesTaken(v model.VM, node string, options map[string]string, look *Look) unfit {
	return p.devicesLeft(v, node, options, look, p.nodeLoad().asked[node])
}

// startTaken does the same for an existing guest that is to start: then only guests that run already count.
func (p *planner) startTaken(v model.VM, node string, look *Look) unfit {
	return p.devicesLeft(v, node, devicesOf(v), look, nil)
}

func (p *planner) devicesLeft(v model.VM, node string, options map[string]string, look *Look, asked []asking) unfit {
	own := p.demands(v.Name, node, options)
	if len(own) == 0 {
		return unfit{}
	}
	others, unread := p.deviceUsers(v.Owner, node, asked)
	if !unread.Empty() {
		look.Add(unread)
		return unfit{}
	}
	for i := range own {
		if !met(slices.Concat(others, own[:i+1])) {
			return inUse(own[i], others)
		}
	}
	return unfit{}
}

// inUse says who has the devices that a guest needs one of.
func inUse(d demand, others []demand) unfit {
	var who []string
	whole := wholeDevices(append(slices.Clip(others), d))
	same := func(a, b string) bool { return unit(a, whole) == unit(b, whole) }
	for _, o := range others {
		for _, id := range d.any {
			if slices.ContainsFunc(o.any, func(other string) bool { return same(id, other) }) && !slices.Contains(who, o.who) {
				who = append(who, o.who)
			}
		}
	}
	what := "device " + d.any[0]
	if d.mapping != "" {
		what = fmt.Sprintf("%s of mapping %s", plural(len(d.any), "device"), d.mapping)
	}
	if len(who) == 0 {
		return now("%s, which it needs itself already", what)
	}
	return now("%s, in use by %s", what, strings.Join(who, ", "))
}

// deviceUsers returns the guests that have devices of a node, or will get them. unread has the configs and power
// states that have to be read first.
func (p *planner) deviceUsers(but model.Owner, node string, asked []asking) (list []demand, unread Look) {
	counted := map[model.Owner]bool{but: true}
	for _, a := range asked {
		if !counted[a.owner] {
			counted[a.owner] = true
			list = append(list, p.demands(a.owner.Name, node, a.devices)...)
		}
	}
	for _, id := range slices.Sorted(keysOf(p.have.Guests)) {
		g := p.have.Guests[id]
		if g.Node != node || g.Template || g.Container || g.Status == model.StatusStopped {
			continue
		}
		if g.Config == nil {
			unread.Configs = append(unread.Configs, id)
			continue
		}
		if m := g.Marker(); m != nil && counted[m.Owner] {
			continue
		}
		if has := p.demands(fmt.Sprintf("%s (%d)", g.Name, id), node, effective(g.Config)); len(has) > 0 {
			list, unread.Status = append(list, has...), append(unread.Status, p.stale([]int{id})...)
		}
	}
	return list, unread
}

// effective returns the options with which a guest runs; pending ones take effect at its next start.
func effective(c *model.Config) map[string]string {
	if len(c.Pending) == 0 || c.Running == nil {
		return c.Options
	}
	options := map[string]string{}
	for k, value := range c.Options {
		if _, pending := c.Pending[k]; !pending {
			options[k] = value
		}
	}
	return overlaid(options, c.Running.Options)
}

// asking is a guest of ours that is to run on a node, with its options for devices.
type asking struct {
	owner   model.Owner
	devices map[string]string
}

// ask notes that a guest gets devices of a node.
func (l *nodeLoad) ask(node string, owner model.Owner, devices map[string]string) {
	if len(devices) > 0 {
		l.asked[node] = append(l.asked[node], asking{owner, devices})
	}
}

// devicesOf returns the options by which a guest that is to run gets PCI devices; nil: none.
func devicesOf(v model.VM) map[string]string {
	var out map[string]string
	for k, value := range v.Options {
		if isSlot(k, "hostpci") && v.Power != model.PowerOff && v.Power != model.PowerOffGraceful && !v.Deleted {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = value
		}
	}
	return out
}

// met reports whether each demand can have a device of its own.
func met(list []demand) bool {
	whole := wholeDevices(list)
	holder := map[string]int{} // by device: who has it, counted from 1
	var assign func(i int, tried map[string]bool) bool
	assign = func(i int, tried map[string]bool) bool {
		for _, id := range list[i].any {
			id = unit(id, whole)
			if tried[id] {
				continue
			}
			tried[id] = true
			if other := holder[id]; other == 0 || assign(other-1, tried) {
				holder[id] = i + 1
				return true
			}
		}
		return false
	}
	for i := range list {
		if !assign(i, map[string]bool{}) {
			return false
		}
	}
	return true
}

// wholeDevices returns the devices that somebody needs with all their functions.
func wholeDevices(list []demand) map[string]bool {
	whole := map[string]bool{}
	for _, d := range list {
		for _, id := range d.any {
			if id = unit(id, nil); !strings.Contains(id, ".") {
				whole[id] = true
			}
		}
	}
	return whole
}

// unit returns the unit in which a path is counted: its function, or its device where the device is passed through as a whole.
// Of several paths that go together it is the first.
func unit(path string, whole map[string]bool) string {
	path, _, _ = strings.Cut(path, ";")
	if strings.Count(path, ":") == 1 {
		path = "0000:" + path
	}
	if device, _, _ := strings.Cut(path, "."); whole[device] {
		return device
	}
	return path
}
