package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Devices of nodes, which guests get by mappings. A mapping names devices on each node; a guest takes
// one of them that is free when it starts, and has it until it stops. Which one it took Proxmox doesn't
// say: only how many of them are in use can be counted, by the configs of those that run.

// mapped are the options that name devices of nodes by mappings.
var mapped = []struct{ option, kind, words string }{{"hostpci", "pci", "PCI devices"}, {"usb", "usb", "USB devices"}}

// mappingIn returns the mapping that an option names; empty: none.
func mappingIn(value string) string {
	for part := range strings.SplitSeq(value, ",") {
		if name, ok := strings.CutPrefix(part, "mapping="); ok {
			return name
		}
	}
	return ""
}

// lacksMapping makes an object wait if a mapping by which its guest gets a device doesn't exist.
func (p *planner) lacksMapping(o *Object, options map[string]string) bool {
	p.lookMappings(&o.Look, options)
	for _, k := range slices.Sorted(keysOf(options)) {
		for _, m := range mapped {
			name := mappingIn(options[k])
			if there := p.have.Mappings[m.kind]; isSlot(k, m.option) && name != "" && there != nil && !there[name] &&
				p.absent(&o.Look, "/mapping/"+m.kind+"/"+name, "Mapping.Audit", "Mapping.Use", "Mapping.Modify") {
				o.wait(model.WaitMissing, fmt.Sprintf("there is no mapping %s of %s: make it under Datacenter, Resource Mappings", name, m.words))
			}
		}
	}
	return o.Wait != nil || len(o.Look.Rights)+len(o.Look.Mappings) > 0
}

// lookMappings requests the mappings that a guest's options name; it reports whether they have to be read first.
func (p *planner) lookMappings(look *Look, options map[string]string) bool {
	for _, k := range slices.Sorted(keysOf(options)) {
		for _, m := range mapped {
			if _, read := p.have.Mappings[m.kind]; isSlot(k, m.option) && mappingIn(options[k]) != "" && !read {
				look.Mappings = append(look.Mappings, m.kind)
			}
		}
	}
	return len(look.Mappings) > 0
}

// lacksDevice says that a node has fewer devices of a mapping than a guest needs, in use or not;
// empty: it has enough, or their number isn't known.
func (p *planner) lacksDevice(options map[string]string, node string) string {
	need := map[string]int{}
	for _, k := range slices.Sorted(keysOf(options)) {
		for _, m := range mapped {
			name := mappingIn(options[k])
			device, known := p.have.Devices[m.kind+"/"+name]
			if !isSlot(k, m.option) || name == "" || !known {
				continue
			}
			there := len(device.On[node])
			switch need[name]++; {
			case there == 0:
				return fmt.Sprintf("no device of mapping %s", name)
			case there < need[name] && !parted(options[k]):
				return fmt.Sprintf("%s of mapping %s, %d needed", plural(there, "device"), name, need[name])
			}
		}
	}
	return ""
}

// parted reports whether a guest gets a part of a device (a mediated device), so that others may get parts of it, too.
func parted(value string) bool { return strings.Contains(value, "mdev=") }

// deviceless makes an object wait if its guest needs a device that its node doesn't have, or that others use: Proxmox wouldn't
// start the guest.
func (c *change) deviceless() bool {
	want := devicesOf(c.v)
	changes := slices.ContainsFunc(slices.Collect(keysOf(want)), func(k string) bool { return c.have.Options[k] != want[k] })
	if len(want) == 0 || c.running() && !changes {
		return false
	}
	if c.p.lookMappings(&c.o.Look, want) {
		return true
	}
	why := never("%s", c.p.lacksDevice(want, c.g.Node))
	if !why.no() {
		why = c.p.startTaken(c.v, c.g.Node, &c.o.Look)
	}
	if why.no() {
		c.o.wait(refusals{{unfit: why}}.kind(), fmt.Sprintf("VM %d can't start on %s: %s; free one, or migrate it to a node that has one", c.g.VMID, c.g.Node, why.reason))
	}
	return why.no() || !c.o.Look.Empty()
}
