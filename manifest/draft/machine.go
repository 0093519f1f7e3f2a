package draft

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

// Machine writes the manifests of a guest: its class, its image and the machine.
func Machine(g *model.Guest, e export.Machine) *Documents {
	docs, m, to := &Documents{}, e.Spec, &Mapping{}
	var image *Mapping
	comment := fmt.Sprintf("Imported from VM %d on %s.", g.VMID, g.Node)
	if i := m.Source.Image; i != nil {
		image = docs.share("VMImage", i.Owner.Name, (&Mapping{}).Put("source", i.Source))
	} else {
		comment += "\nIt has no image: if it were gone, it would be made anew with empty disks."
	}
	if e.Fetched {
		comment += "\nIts image was fetched from a URL, which nothing in Proxmox names: keep the manifest that you have\nof the VMImage instead of the one here."
	}
	class := docs.share("VMClass", m.Class.Name, writeClass(m.Class))
	to.Put("name", m.Name).Put("vmid", m.VMID).Put("classRef", class).Put("imageRef", image).Put("powerState", string(m.Power))
	to.Put("networks", writeList(m.Networks, writeNetwork)).Put("disks", writeList(m.Disks, writeDisk))
	to.Put("tags", m.Tags).Put("description", m.Description).Put("pool", m.Pool)
	to.Put("onBoot", m.OnBoot).Put("protection", m.Protection).Put("startup", writeStartup(m.Startup)).Put("ha", writeHA(m.HA)).Put("firewall", writeFirewall(m.Firewall)).Put("agent", writeAgent(m.Agent))
	if m.Retain {
		to.Put("deletionPolicy", "Retain")
	}
	to.Put("extraConfig", writeTexts(m.ExtraConfig))
	docs.Add(comment+omittedText(e.Omitted)+lostText(e.Lost), "VirtualMachine", m.Owner.Name, to)
	return docs
}

// writeList writes a list, also one that is empty on purpose.
func writeList[T any](list []T, one func(T) *Mapping) any {
	if list != nil && len(list) == 0 {
		return none{}
	}
	var out []*Mapping
	for _, item := range list {
		out = append(out, one(item))
	}
	return out
}

func writeTexts(texts map[string]string) *Mapping {
	m := &Mapping{}
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		m.Put(key, texts[key])
	}
	return m
}

func writeClass(c *spec.Class) *Mapping {
	board := (&Mapping{}).Put("machine", c.Machine).Put("bios", c.BIOS).Put("secureBoot", c.SecureBoot).Put("tpm", c.TPM)
	board.Put("cpuType", c.CPUType).Put("scsiController", c.SCSIController).Put("vga", c.VGA).Put("serial", c.Serial)
	m := (&Mapping{}).Put("cpus", c.CPUs).Put("maxCPUs", c.MaxCPUs).Put("sockets", c.Sockets).Put("memory", quantity(c.Memory.Value()))
	if c.MinMemory != nil {
		m.Put("minMemory", quantity(c.MinMemory.Value()))
	}
	m.Put("cpu", (&Mapping{}).Put("limit", c.CPU.Limit).Put("units", c.CPU.Units).Put("affinity", c.CPU.Affinity))
	return m.Put("hotplugMemory", c.HotplugMemory).Put("spec", board)
}

func writeNetwork(n spec.Network) *Mapping {
	m := (&Mapping{}).Put("name", n.Name).Put("slot", n.Slot).Put("bridge", n.Bridge).Put("vlan", n.VLAN).Put("mac", n.MAC).Put("model", n.Model)
	m.Put("mtu", n.MTU).Put("firewall", n.Firewall).Put("rate", n.Rate).Put("queues", n.Queues).Put("linkDown", n.LinkDown)
	if s := n.StaticIP; s != nil {
		static := (&Mapping{}).Put("fromPool", s.FromPool).Put("address", s.Address).Put("addresses", s.Addresses).Put("gateway", s.Gateway).Put("gateway6", s.Gateway6)
		m.Put("staticIP", static.Put("dns", s.DNS).Put("search", s.Search))
	}
	return m.Put("dhcp", n.DHCP).Put("dhcp6", n.DHCP6).Put("slaac", n.SLAAC)
}

// Networks writes the networks of a Provider.
func Networks(networks spec.Networks) *Mapping {
	all := &Mapping{}
	for _, name := range slices.Sorted(maps.Keys(networks)) {
		n := networks[name]
		one := (&Mapping{}).Put("bridge", n.Bridge).Put("vlan", n.VLAN).Put("mtu", n.MTU).Put("firewall", n.Firewall)
		if p := n.Pool; p != nil {
			pool := (&Mapping{}).Put("ranges", p.Ranges).Put("exclude", p.Exclude).Put("prefix", p.Prefix).Put("prefix6", p.Prefix6)
			one.Put("pool", pool.Put("gateway", p.Gateway).Put("gateway6", p.Gateway6).Put("dns", p.DNS).Put("search", p.Search))
		}
		all.Put(name, one)
	}
	return (&Mapping{}).Put("networks", all)
}

func writeDisk(d spec.Disk) *Mapping {
	m := (&Mapping{}).Put("name", d.Name).Put("slot", d.Slot)
	if d.Size != nil {
		m.Put("size", quantity(d.Size.Value()))
	}
	m.Put("storage", d.Storage).Put("ssd", d.SSD).Put("discard", d.Discard).Put("ioThread", d.IOThread)
	return m.Put("cache", d.Cache).Put("backup", d.Backup)
}

func writeStartup(s *spec.Startup) *Mapping {
	if s == nil {
		return nil
	}
	return (&Mapping{}).Put("order", s.Order).Put("upDelay", s.UpDelay).Put("downDelay", s.DownDelay)
}

func writeHA(h *model.HA) *Mapping {
	if h == nil {
		return nil
	}
	m := (&Mapping{}).Put("group", h.Group).Put("maxRestart", h.MaxRestart).Put("maxRelocate", h.MaxRelocate)
	if *h == (model.HA{}) {
		m.Put("maxRestart", new(0)) // so that something is said
	}
	return m
}

func writeAgent(a *spec.Agent) *Mapping {
	if a == nil {
		return nil
	}
	return (&Mapping{}).Put("enabled", a.Enabled).Put("waitForAddress", a.WaitForAddress)
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
