package plan

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// nics adds, changes and removes network interfaces.
func (c *change) nics(act *model.Configure) {
	wanted := map[string]bool{}
	for _, n := range c.v.NICs {
		wanted[n.Slot] = true
		have, ok := c.have.NICAt(n.Slot)
		if n.MAC == "" {
			n.MAC = have.MAC
		}
		if n.Equal(have) {
			continue
		}
		if back := c.undoes(n.Slot, func(running *model.Config) bool {
			was, _ := running.NICAt(n.Slot)
			if n.MAC == "" {
				n.MAC = was.MAC
			}
			return n.Equal(was)
		}); back {
			c.say(Live, model.Difference{Verb: model.VerbUndo, Field: n.Slot})
		} else if ok {
			c.sayOf(n.Slot, c.replugs(have, n) || c.hotplugs(n.Slot), nicChange(have, n)...)
		} else {
			c.sayOf(n.Slot, c.hotplugs(n.Slot), model.Difference{Verb: model.VerbAdd, Field: n.Slot, To: plugged(n)})
		}
		act.NICs = append(act.NICs, n)
	}
	if c.alone && c.v.Inherits(model.InheritedNICs) {
		return
	}
	for _, have := range c.have.NICs {
		// An image's own interfaces go when the manifest names its own.
		fromImage := len(c.v.NICs) > 0 && fresh(c.have)
		if wanted[have.Slot] || !fromImage && !c.managed("nic:"+have.Slot) {
			continue
		}
		if c.undoes(have.Slot, func(running *model.Config) bool { _, was := running.NICAt(have.Slot); return !was }) {
			c.say(Live, model.Difference{Verb: model.VerbUndoAdd, Field: have.Slot})
		} else {
			c.sayOf(have.Slot, c.hotplugs(have.Slot), model.Difference{Verb: model.VerbRemove, Field: have.Slot})
		}
		act.Delete = append(act.Delete, have.Slot)
	}
}

// replugs reports whether the running guest takes the change of an interface, whatever may be
// plugged: what it runs with is compared, which is another one if a change is pending.
func (c *change) replugs(have, want model.NIC) bool {
	if !c.stuck(want.Slot) {
		return replugged(have, want)
	}
	if c.have.Running == nil {
		return false
	}
	was, there := c.have.Running.NICAt(want.Slot)
	if !there || !replugged(was, want) {
		return false
	}
	c.supersede(want.Slot)
	return true
}

// replugged reports whether an interface can become the other by being plugged in
// elsewhere: the guest sees the same device.
func replugged(have, want model.NIC) bool {
	return have.Model == want.Model && have.MAC == want.MAC && have.MTU == want.MTU && have.Options["queues"] == want.Options["queues"]
}

// managed reports whether the marker says that something was set by us.
func (c *change) managed(mark string) bool { return c.have.Marker.Manages(mark) }

// plugged returns where an interface is plugged in: "vmbr0,tag=5".
func plugged(n model.NIC) string {
	if n.VLAN != 0 {
		return fmt.Sprintf("%s,tag=%d", n.Bridge, n.VLAN)
	}
	return n.Bridge
}

// nicChange returns what is different about an interface.
func nicChange(have, want model.NIC) (list []model.Difference) {
	add := func(name, a, b string) {
		if a != b {
			list = append(list, partOf(want.Slot, name, a, b))
		}
	}
	add("bridge", have.Bridge, want.Bridge)
	add("tag", number(have.VLAN), number(want.VLAN))
	add("model", have.Model, want.Model)
	add("mac", have.MAC, want.MAC)
	add("mtu", number(have.MTU), number(want.MTU))
	add("firewall", onOff(have.Firewall), onOff(want.Firewall))
	for _, key := range slices.Sorted(keysOf(either(have.Options, want.Options))) {
		add(key, have.Options[key], want.Options[key])
	}
	return list
}
