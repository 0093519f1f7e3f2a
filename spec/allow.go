package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/firstboot/hookblock"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/spec/suggest"
)

// Allow is what the machines and images of a cluster may use. A nil list allows everything
// except access to the hosts; * in an entry stands for any text.
type Allow struct {
	Sources     []string // templates, URLs and ISO images; nil: all, but no VM that isn't a template
	Pools       []string
	Storages    []string
	Networks    []string
	Paths       []string // directories of the hosts; nil: none
	Hookscripts []string // nil: none
	ExtraConfig []string // nil: all except those with access to the hosts
}

// forbid notes that the cluster doesn't allow what a field asks for, and what would
// allow it.
func (r *report) forbid(c *Cluster, at string, what any, list, entry string) {
	r.forbidden(at, "%s %s doesn't allow %s; whoever may change the %s can allow it with %s: [%q]", TheCluster, c.Name, what, TheCluster, inCluster("allow."+list), entry)
}

// allows reports whether a list has a text; one that isn't given has all.
func allows(list []string, text string) bool {
	return list == nil || slices.ContainsFunc(list, func(pattern string) bool { return matches(pattern, text) })
}

// matches reports whether a pattern, in which * is any text, is a text.
func matches(pattern, text string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "*")
	last := parts[len(parts)-1]
	for _, part := range parts[:len(parts)-1] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, last)
}

// checkAllowed checks that a machine uses nothing that its cluster doesn't allow. Its
// source and the secrets of its first-boot data are checked where they are found.
func (b *build) checkAllowed(m *Machine, nics []nic) {
	p := b.cluster
	if p.Allow == nil {
		return
	}
	switch {
	case p.Allow.Pools == nil:
	case m.Pool == "":
		b.forbidden("pool", "is missing: %s %s allows machines only in pools, %s", TheCluster, p.Name, strings.Join(p.Allow.Pools, ", "))
	case !allows(p.Allow.Pools, m.Pool):
		b.forbid(p, "pool", "pool "+m.Pool, "pools", m.Pool)
	}
	b.checkStorages(m)
	for _, n := range nics {
		b.checkNIC(n)
	}
	for i, f := range m.Filesystems {
		if !slices.Contains(p.Allow.Paths, f.Source) {
			b.forbid(p, fmt.Sprintf("filesystems[%d].source", i), "to share the host directory "+f.Source, "paths", f.Source)
		}
	}
	for i, script := range m.Hookscripts {
		if p.Allow.Hookscripts == nil || !allows(p.Allow.Hookscripts, script) {
			b.forbid(p, fmt.Sprintf("hookscripts[%d]", i), "hookscript "+script, "hookscripts", script)
		}
	}
	if block, _, err := hookblock.Parse(m.Description); err != nil || !block.IsZero() {
		b.forbidden("description", "has a block for proxplane's hook, which isn't allowed there: %s and %s are for that", inMachine("filesystems"), inMachine("hookscripts"))
	}
	b.checkExtra("extraConfig.", m.ExtraConfig)
	b.checkExtra("class", b.class.extra)
}

// checkStorages checks where a machine says that its disks are.
func (b *build) checkStorages(m *Machine) {
	check := func(at, storage string) {
		if !b.cluster.allowsStorage(storage) {
			b.forbid(b.cluster, at, b.inClass(at, "storage "+storage), "storages", storage)
		}
	}
	check("class", b.class.storage)
	for i, d := range m.Disks {
		check(fmt.Sprintf("disks[%d].storage", i), d.Storage)
	}
}

// inClass names something of a machine, with its class if that is where it is.
func (b *build) inClass(at, what string) Message {
	if at != "class" {
		return message("%s", what)
	}
	return message("%s %s with %s", TheClass, b.class.name, what)
}

// allowsStorage reports whether a storage may be named; the cluster's own default may.
func (c *Cluster) allowsStorage(name string) bool {
	return c.Allow == nil || name == "" || name == c.Defaults.Storage || allows(c.Allow.Storages, name)
}

// checkNIC checks which bridge and VLAN an interface is on.
func (b *build) checkNIC(n nic) {
	p := b.cluster
	if p.Allow.Networks == nil || n.Bridge == "" {
		return
	}
	for _, name := range p.Allow.Networks {
		if known, ok := p.network(name); name == "*" || ok && known.Bridge == n.Bridge && known.VLAN == n.VLAN {
			return
		}
	}
	what := "bridge " + n.Bridge
	if n.VLAN != 0 {
		what += fmt.Sprintf(" with VLAN %d", n.VLAN)
	}
	if known, ok := p.network(n.Name); ok && known.Bridge == n.Bridge && known.VLAN == n.VLAN {
		b.forbid(p, n.field, what, "networks", n.Name)
		return
	}
	b.forbidden(n.field, "%s %s doesn't allow %s; whoever may change the %s can give it a name in %s, and allow that with %s",
		TheCluster, p.Name, what, TheCluster, inCluster("networks"), inCluster("allow.networks"))
}

// checkExtra checks options that are named as Proxmox does.
func (b *build) checkExtra(field string, extra map[string]string) {
	p := b.cluster
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		at := field
		if field != "class" {
			at += key
		}
		ok := allows(p.Allow.ExtraConfig, key)
		if ofHost(key, extra[key]) {
			ok = slices.ContainsFunc(p.Allow.ExtraConfig, func(pattern string) bool { return pattern != "*" && matches(pattern, key) })
		}
		if !ok {
			b.forbid(p, at, b.inClass(at, "the option "+key), "extraConfig", key)
		}
	}
}

// ofHost reports whether an option gives a guest something of its host, by more than a
// mapping that Proxmox asks a right of its own for.
func ofHost(key, value string) bool {
	switch family := strings.TrimRight(key, "0123456789"); family {
	case "args", "hookscript", "virtiofs":
		return value != ""
	case "hostpci":
		return prop.Properties(key, value)["mapping"] == ""
	case "usb":
		host := prop.Properties(key, value)["host"]
		return host != "" && host != "spice"
	case "serial", "parallel":
		return strings.HasPrefix(value, "/")
	}
	return false
}

// forbiddenSource says what a cluster doesn't allow about an image; empty: nothing.
func (c *Cluster) forbiddenSource(i *Image) (field, what, list, entry string) {
	if c.Allow == nil {
		return "", "", "", ""
	}
	field, source, kind := "source", i.Source, "source "
	switch {
	case i.URL != "":
		field, source, kind = "url", i.URL, "the URL "
	case i.ISO != "":
		field, source, kind = "iso", c.isoVolume(i), "the ISO image "
	}
	storage := i.Storage
	if name, _, ok := strings.Cut(source, ":"); ok && i.ISO != "" {
		storage = name
	}
	switch {
	case !allows(c.Allow.Sources, source):
		return field, kind + suggest.Shortened(source), "sources", source
	case !c.allowsStorage(storage) && (i.ISO == "" || storage != c.isoStorage()):
		return "storage", "storage " + storage, "storages", storage
	}
	return "", "", "", ""
}

// onlyTemplates reports whether images may be templates only, and no other VMs: their
// disks may be anybody's.
func (c *Cluster) onlyTemplates() bool { return c.Allow != nil && c.Allow.Sources == nil }
