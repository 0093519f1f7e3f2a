package spec

import (
	"maps"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
)

// hardware sets the plain options; it reports whether the guest agent is to be
// waited for.
func (b *build) hardware(m *Machine) (waitAddress bool) {
	b.opts = maps.Clone(b.class.options)
	b.firmwareOptions()
	agent := b.agent(m.Agent)
	flags := []struct {
		key   string
		value *bool
	}{{"onboot", m.OnBoot}, {"protection", m.Protection}}
	for _, f := range flags {
		if f.value != nil {
			b.opts.set(f.key, map[bool]string{true: "1", false: "0"}[*f.value])
		}
	}
	if m.Startup != nil {
		b.startup(*m.Startup)
	}
	b.pci(m.PCIMappings)
	extra := b.extraConfig(m.ExtraConfig, b.opts, false)
	b.opts.fill(b.class.extra)
	for key, value := range extra {
		b.opts.set(key, value)
	}
	if b.source.Blank {
		b.opts.fill(newMachine)
	}
	wait := agent
	if m.Agent != nil && m.Agent.WaitForAddress != nil {
		wait = *m.Agent.WaitForAddress
		if wait && !agent {
			b.fail("agent.waitForAddress", "nobody tells an address without the agent")
		}
	}
	return wait && (m.Power == "" || m.Power == model.PowerOn)
}

// firmwareOptions: what the class doesn't say, the image may.
func (b *build) firmwareOptions() {
	bios := b.class.bios
	if b.image != nil {
		os := b.image.OS
		if bios == "" && os.BIOS != "" {
			bios = biosOption(os.BIOS)
			b.inherit("bios")
			if _, said := b.opts["machine"]; !said {
				b.inherit("machine")
			}
		}
		if os.Type != "" {
			b.opts.set("ostype", os.Type)
			b.inherit("ostype")
		}
	}
	if bios == "" {
		return
	}
	b.opts.set("bios", bios)
	if _, said := b.opts["machine"]; !said && bios == "ovmf" {
		b.opts.set("machine", "q35")
	}
}

// agent sets the option and reports whether there is an agent, or may be one: a
// template's own setting counts when the manifest says nothing.
func (b *build) agent(a *Agent) bool {
	inside := b.image != nil && b.image.OS.Agent
	switch {
	case a == nil && !inside:
		return !b.source.Blank
	case a == nil:
		b.opts.set("agent", "1")
		b.inherit("agent")
		return true
	case a.Enabled != nil && !*a.Enabled:
		b.opts.set("agent", "0")
		return false
	}
	b.opts.set("agent", prop.Agent{Enabled: true, FstrimClonedDisks: a.TrimClonedDisks}.String())
	return true
}

func (b *build) startup(u Startup) {
	var out prop.Startup
	for _, f := range []struct {
		name  string
		value *int
		to    *prop.Opt[int]
	}{{"order", u.Order, &out.Order}, {"upDelay", u.UpDelay, &out.Up}, {"downDelay", u.DownDelay, &out.Down}} {
		if f.value == nil {
			continue
		}
		if *f.value < 0 {
			b.fail("startup."+f.name, "want a number from 0 on, have %d", *f.value)
			continue
		}
		*f.to = prop.Some(*f.value)
	}
	b.opts.set("startup", out.String())
}

func (b *build) pci(mappings []PCIMapping) {
	const most = 16
	for i, m := range mappings {
		field := "pciMappings[" + strconv.Itoa(i) + "]"
		switch {
		case i >= most:
			b.fail(field, "a machine takes %d PCI devices at most", most)
			return
		case m.Name == "":
			b.fail(field+".name", "is missing")
			continue
		case m.PCIe && !strings.Contains(b.opts["machine"], "q35") && b.opts["machine"] != "":
			b.fail(field+".pcie", "needs the board q35; the %s has %s", TheClass, b.opts["machine"])
		}
		h := prop.HostPCI{Mapping: m.Name, PCIe: m.PCIe, XVGA: m.PrimaryGPU, MDev: m.MDev}
		b.option(b.opts, field+".name", "hostpci"+strconv.Itoa(i), h.String())
	}
}
