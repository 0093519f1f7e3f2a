package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// What a manifest names and Proxmox doesn't have is said before anything is made: storages, pools,
// bridges, mappings (see device.go), HA groups. Lists leave out what these credentials may not see, so that
// something counts as missing only where they could see it.

// absent reports whether something that no list shows doesn't exist: these credentials have one of
// the privileges that would show it. What they have on the path may have to be read first.
func (p *planner) absent(look *Look, path string, privs ...string) bool {
	rights, read := p.have.Rights[path]
	if !read {
		look.Rights = append(look.Rights, path)
		return false
	}
	return slices.ContainsFunc(privs, func(priv string) bool { return rights[priv] })
}

// storageUse is what a storage is needed for.
type storageUse struct{ name, content string }

// storagesFor returns the storages that a guest needs for what is to be made.
func storagesFor(v model.VM) []storageUse {
	var list []storageUse
	add := func(name, content string) {
		if use := (storageUse{name, content}); name != "" && !slices.Contains(list, use) {
			list = append(list, use)
		}
	}
	add(v.Source.Storage, "images")
	for _, d := range v.Disks {
		list = appendNew(list, diskUse(d))
	}
	if v.Seed != nil && len(v.Seed.Snippets) == 0 {
		add(v.Seed.Storage, "iso")
	}
	return list
}

// diskUse returns the storage that a wanted disk needs.
func diskUse(d model.Disk) storageUse {
	switch {
	case d.CDROM && d.Volume != "" && d.Volume != "none":
		return storageUse{model.StorageOf(d.Volume), "iso"}
	case d.Volume == "" && !d.Root():
		return storageUse{d.Storage, "images"}
	}
	return storageUse{}
}

func appendNew(list []storageUse, use storageUse) []storageUse {
	if use.name == "" || slices.Contains(list, use) {
		return list
	}
	return append(list, use)
}

// lacksStorage waits if there is no such storage, or it isn't for what it is needed for.
func (p *planner) lacksStorage(o *Object, uses []storageUse) bool {
	for _, use := range uses {
		s := p.have.Storages[use.name]
		switch {
		case s == nil && p.absent(&o.Look, "/storage/"+use.name, "Datastore.Audit", "Datastore.AllocateSpace"):
			o.wait(model.WaitMissing, fmt.Sprintf("there is no storage %s; there are %s", use.name, strings.Join(model.NamesOf(p.have.Storages), ", ")))
		case s != nil && len(s.Content) > 0 && !s.Content[use.content]:
			all := append(model.NamesOf(s.Content), use.content)
			o.wait(model.WaitUnfit, fmt.Sprintf("storage %s isn't for %s: pvesm set %[1]s --content %[3]s lets it be", use.name, use.content, strings.Join(all, ",")))
		}
	}
	return o.Wait != nil || len(o.Look.Rights) > 0
}

// lacksPool waits if there is no such pool.
func (p *planner) lacksPool(o *Object, pool string) bool {
	if pool == "" || p.have.Pools == nil || p.have.Pools[pool] {
		return false
	}
	if p.absent(&o.Look, "/pool/"+pool, "Pool.Audit") {
		o.wait(model.WaitMissing, fmt.Sprintf("there is no pool %s: pveum pool add %[1]s makes it", pool))
	}
	return o.Wait != nil || len(o.Look.Rights) > 0
}

// lacksGroup waits if there is no HA group of the name that a guest is to be in: from release 9 on,
// a rule.
func (p *planner) lacksGroup(o *Object, v model.VM) bool {
	if v.HA == nil || v.HA.Group == "" {
		return false
	}
	if p.have.HA == nil {
		o.Look.HA = true
		return true
	}
	if p.have.HAGroups == nil || p.have.HAGroups[v.HA.Group] {
		return false
	}
	what := "HA group"
	if p.ruled() {
		what = "HA rule"
	}
	o.wait(model.WaitMissing, fmt.Sprintf("there is no %s %s: make it under Datacenter, HA", what, v.HA.Group))
	return true
}

// lacksBridge returns the bridge that a node doesn't have; empty: none is missing, or that
// isn't known.
func (p *planner) lacksBridge(look *Look, bridges []string, node string) string {
	for _, bridge := range bridges {
		names, read := p.have.Bridges[node]
		switch {
		case !read:
			look.Bridges = append(look.Bridges, node)
			return ""
		case names != nil && !names[bridge] && p.absent(look, "/sdn/zones/localnetwork/"+bridge, "SDN.Use", "SDN.Audit"):
			return bridge
		}
	}
	return ""
}

// bridgesOf returns the bridges that NICs are plugged in to.
func bridgesOf(nics []model.NIC) []string {
	var list []string
	for _, n := range nics {
		if n.Bridge != "" && !slices.Contains(list, n.Bridge) {
			list = append(list, n.Bridge)
		}
	}
	return list
}

// unmet waits if something is missing that a new guest needs wherever it goes.
func (p *planner) unmet(o *Object, v model.VM) bool {
	return p.lacksStorage(o, storagesFor(v)) || p.lacksPool(o, v.Pool) || p.lacksGroup(o, v) || p.lacksMapping(o, v.Options) || p.lacksRules(o, v.Firewall, nil)
}

// unmet waits if something is missing that a change of a guest needs.
func (c *change) unmet() bool {
	if c.lookFirewall(); !c.o.Look.Empty() {
		return true
	}
	var uses []storageUse
	for _, d := range c.v.Disks {
		if _, there := c.have.DiskAt(c.slotOf(d)); !there {
			uses = appendNew(uses, diskUse(d))
		}
	}
	var nics []model.NIC
	for _, n := range c.v.NICs {
		if have, there := c.have.NICAt(n.Slot); !there || have.Bridge != n.Bridge {
			nics = append(nics, n)
		}
	}
	o, p := c.o, c.p
	if bridge := p.lacksBridge(&o.Look, bridgesOf(nics), c.g.Node); bridge != "" {
		o.wait(model.WaitMissing, fmt.Sprintf("there is no bridge %s on %s, which has VM %d", bridge, c.g.Node, c.g.VMID))
	}
	options := map[string]string{}
	for k, want := range c.v.Options {
		if c.have.Options[k] != want {
			options[k] = want
		}
	}
	pool := c.v.Pool
	if pool == c.g.Pool {
		pool = ""
	}
	return !o.Look.Empty() || p.lacksStorage(o, uses) || p.lacksPool(o, pool) || p.lacksMapping(o, options) || p.lacksRules(o, c.v.Firewall, c.g.Firewall)
}

// tooSmall says that a root disk is to be smaller than that of its source, which can't be: disks
// don't shrink. Empty: it isn't.
func tooSmall(v model.VM, s *source) string {
	for _, d := range v.Disks {
		if have := s.rootSize(d); d.Root() && d.Size > 0 && d.Size < have {
			return fmt.Sprintf("its root disk is to have %s, and that of %s (%d) has %s, which can't shrink; ask for %[4]s or more",
				model.Bytes(d.Size), s.guest.Name, s.guest.VMID, model.Bytes(have))
		}
	}
	return ""
}
