package importer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/spec/export"
)

// writeMachine writes the manifests of a guest: its class, its image and the machine.
func writeMachine(g *model.Guest, e export.Machine) *documents {
	docs, m, to := newDocuments(), e.Spec, &mapping{}
	var image *mapping
	comment := fmt.Sprintf("Imported from VM %d on %s.", g.VMID, g.Node)
	if i := m.Source.Image; i != nil {
		image = docs.share("VMImage", i.Owner.Name, (&mapping{}).put("source", i.Source))
	} else {
		comment += "\nIt has no image: if it were gone, it would be made anew with empty disks."
	}
	class := docs.share("VMClass", m.Class.Name, writeClass(m.Class))
	to.put("name", m.Name).put("vmid", m.VMID).put("classRef", class).put("imageRef", image).put("powerState", string(m.Power))
	to.put("networks", writeList(m.Networks, writeNetwork)).put("disks", writeList(m.Disks, writeDisk))
	to.put("tags", m.Tags).put("description", m.Description).put("pool", m.Pool)
	to.put("onBoot", m.OnBoot).put("protection", m.Protection).put("startup", writeStartup(m.Startup)).put("ha", writeHA(m.HA)).put("firewall", writeFirewall(m.Firewall)).put("agent", writeAgent(m.Agent))
	if m.Retain {
		to.put("deletionPolicy", "Retain")
	}
	to.put("extraConfig", writeTexts(m.ExtraConfig))
	docs.add(comment+omittedText(e.Omitted)+lostText(e.Lost), "VirtualMachine", m.Owner.Name, to)
	return docs
}

// writeList writes a list, also one that is empty on purpose.
func writeList[T any](list []T, one func(T) *mapping) any {
	if list != nil && len(list) == 0 {
		return none{}
	}
	var out []*mapping
	for _, item := range list {
		out = append(out, one(item))
	}
	return out
}

func writeTexts(texts map[string]string) *mapping {
	m := &mapping{}
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		m.put(key, texts[key])
	}
	return m
}

func writeClass(c *spec.Class) *mapping {
	board := (&mapping{}).put("machine", c.Machine).put("bios", c.BIOS).put("secureBoot", c.SecureBoot).put("tpm", c.TPM)
	board.put("cpuType", c.CPUType).put("scsiController", c.SCSIController).put("vga", c.VGA).put("serial", c.Serial)
	m := (&mapping{}).put("cpus", c.CPUs).put("maxCPUs", c.MaxCPUs).put("sockets", c.Sockets).put("memory", quantity(c.Memory.Value()))
	if c.MinMemory != nil {
		m.put("minMemory", quantity(c.MinMemory.Value()))
	}
	m.put("cpu", (&mapping{}).put("limit", c.CPU.Limit).put("units", c.CPU.Units).put("affinity", c.CPU.Affinity))
	return m.put("hotplugMemory", c.HotplugMemory).put("spec", board)
}

func writeNetwork(n spec.Network) *mapping {
	m := (&mapping{}).put("name", n.Name).put("slot", n.Slot).put("bridge", n.Bridge).put("vlan", n.VLAN).put("mac", n.MAC).put("model", n.Model)
	m.put("mtu", n.MTU).put("firewall", n.Firewall).put("rate", n.Rate).put("queues", n.Queues).put("linkDown", n.LinkDown)
	if s := n.StaticIP; s != nil {
		static := (&mapping{}).put("fromPool", s.FromPool).put("address", s.Address).put("addresses", s.Addresses).put("gateway", s.Gateway).put("gateway6", s.Gateway6)
		m.put("staticIP", static.put("dns", s.DNS).put("search", s.Search))
	}
	return m.put("dhcp", n.DHCP).put("dhcp6", n.DHCP6).put("slaac", n.SLAAC)
}

// writeNetworks writes what the Provider says of its networks.
func writeNetworks(networks spec.Networks) *mapping {
	all := &mapping{}
	for _, name := range slices.Sorted(maps.Keys(networks)) {
		n := networks[name]
		one := (&mapping{}).put("bridge", n.Bridge).put("vlan", n.VLAN).put("mtu", n.MTU).put("firewall", n.Firewall)
		if p := n.Pool; p != nil {
			pool := (&mapping{}).put("ranges", p.Ranges).put("exclude", p.Exclude).put("prefix", p.Prefix).put("prefix6", p.Prefix6)
			one.put("pool", pool.put("gateway", p.Gateway).put("gateway6", p.Gateway6).put("dns", p.DNS).put("search", p.Search))
		}
		all.put(name, one)
	}
	return (&mapping{}).put("networks", all)
}

func writeDisk(d spec.Disk) *mapping {
	m := (&mapping{}).put("name", d.Name).put("slot", d.Slot)
	if d.Size != nil {
		m.put("size", quantity(d.Size.Value()))
	}
	m.put("storage", d.Storage).put("ssd", d.SSD).put("discard", d.Discard).put("ioThread", d.IOThread)
	return m.put("cache", d.Cache).put("backup", d.Backup)
}

func writeStartup(s *spec.Startup) *mapping {
	if s == nil {
		return nil
	}
	return (&mapping{}).put("order", s.Order).put("upDelay", s.UpDelay).put("downDelay", s.DownDelay)
}

func writeHA(h *model.HA) *mapping {
	if h == nil {
		return nil
	}
	m := (&mapping{}).put("group", h.Group).put("maxRestart", h.MaxRestart).put("maxRelocate", h.MaxRelocate)
	if *h == (model.HA{}) {
		m.put("maxRestart", new(0)) // so that something is said
	}
	return m
}

func writeAgent(a *spec.Agent) *mapping {
	if a == nil {
		return nil
	}
	return (&mapping{}).put("enabled", a.Enabled).put("waitForAddress", a.WaitForAddress)
}

// omittedText says in a manifest's comment what isn't in it, and so stays as it is.
func omittedText(all map[string]string) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nLeft out, and so left as they are:")
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "\n- %s: %s", key, all[key])
	}
	return b.String()
}

// lostText says in a manifest's comment what a machine made anew would be without.
func lostText(all map[string]string) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nNot in this manifest, so that a machine made anew from it is without:")
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "\n- %s: %s", key, strings.Join(strings.Fields(all[key]), " "))
	}
	return b.String()
}

// quantity writes bytes as Kubernetes does.
func quantity(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 40, "Ti"}, {1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}} {
		if n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d%s", n/unit.size, unit.name)
		}
	}
	return strconv.FormatInt(n, 10)
}
