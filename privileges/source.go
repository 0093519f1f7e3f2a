package privileges

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// source is what a guest is made from.
type source struct {
	path     string
	config   *model.Config // nil: not known
	template bool
	blank    bool   // nothing
	storage  string // for the disks of a blank guest that name none
}

// full reports whether a guest is a full copy: it was asked for, or Proxmox can't
// make a linked one.
func (s source) full(v model.VM) bool {
	moved := v.Source.Storage != "" && s.config != nil && v.Source.Storage != rootStorage(s.config)
	return v.Source.Full || !s.template || moved
}

// sources are all that a guest may be made from: there may be a template of the
// name on each node. There is always at least one.
func (l *life) sources(v model.VM) []source {
	if v.Source.Blank {
		return l.blanks(v)
	}
	if i := slices.IndexFunc(l.want.VMs, func(o model.VM) bool { return o.Owner.Key == v.Source.VM }); i >= 0 && v.Source.VM != v.Owner.Key {
		from := l.want.VMs[i]
		var out []source
		for _, s := range l.sources(from) {
			out = append(out, source{path: guestPath(from), config: l.after(from, s)})
		}
		return out
	}
	i := slices.IndexFunc(l.want.Images, func(i model.Image) bool { return i.Owner.Key == v.Source.Image })
	if i < 0 {
		return []source{{path: "/vms"}}
	}
	return l.imageSources(l.want.Images[i])
}

// blanks are guests without a source, one for each storage that may be chosen for
// their disks.
func (l *life) blanks(v model.VM) []source {
	storages := []string{""}
	if slices.ContainsFunc(v.Disks, func(d model.Disk) bool { return d.Storage == "" && d.Volume == "" }) {
		storages = l.diskStorages(v.Owner.Key, v.Place.Nodes)
	}
	var out []source
	for _, s := range storages {
		out = append(out, source{blank: true, storage: s, config: &model.Config{}})
	}
	return out
}

func (l *life) imageSources(i model.Image) []source {
	var guests []*model.Guest
	switch {
	case i.URL != "":
		var out []source
		for _, storage := range l.imageStorages(i) {
			disk := model.Disk{Slot: "scsi0", Storage: storage}
			out = append(out, source{path: "/vms", template: true, config: &model.Config{Options: i.Options, Disks: []model.Disk{disk}}})
		}
		return out
	case i.VMID != 0:
		if g := l.at.Have.Guests[i.VMID]; g != nil {
			guests = append(guests, g)
		}
	default:
		guests = slices.DeleteFunc(slices.Clone(l.at.Have.Named(i.Template)), func(g *model.Guest) bool { return !g.Template })
	}
	if len(guests) == 0 {
		l.unsure("%s isn't seen: it isn't there, or VM.Audit on it is missing", sourceName(i))
		return []source{{path: vmPath(i.VMID), template: true}}
	}
	var out []source
	for _, g := range guests {
		if g.Config == nil {
			l.unsure("the config of %s couldn't be read: its storages and bridges aren't known", sourceName(i))
		}
		out = append(out, source{path: vmPath(g.VMID), config: g.Config, template: g.Template})
	}
	if at := slices.IndexFunc(out, func(s source) bool { return l.copies(i, s) }); at >= 0 {
		out = append(out, source{path: allGuests, config: out[at].config, template: true})
	}
	slices.SortFunc(out, func(a, b source) int { return strings.Compare(a.path, b.path) })
	return out
}

func sourceName(i model.Image) string {
	if i.Template != "" {
		return "template " + i.Template
	}
	return strings.Replace(vmPath(i.VMID), "/vms/", "VM ", 1)
}

// after is the config of a guest that has become what is wanted.
func (l *life) after(v model.VM, s source) *model.Config {
	had := s.config
	if had == nil {
		had = &model.Config{}
	}
	c := &model.Config{Options: maps.Clone(had.Options), Disks: slices.Clone(had.Disks), NICs: had.NICs}
	if c.Options == nil {
		c.Options = map[string]string{}
	}
	for k, value := range v.Options {
		if c.Options[k] = value; value == "" {
			delete(c.Options, k)
		}
	}
	if len(v.NICs) > 0 {
		c.NICs = v.NICs
	}
	moved := s.full(v) && v.Source.Storage != ""
	for i := range c.Disks {
		if d := &c.Disks[i]; moved && kindOf(*d) == disk {
			d.Storage, d.Volume = v.Source.Storage, ""
		}
	}
	wanted := v.Disks
	if !v.Source.Blank {
		wanted = further(wanted)
	}
	for _, d := range newDisks(wanted, cmp.Or(s.storage, rootStorage(c))) {
		if _, there := c.DiskAt(d.Slot); !there {
			c.Disks = append(c.Disks, d.Disk)
		}
	}
	return c
}

// hasAgent reports whether a guest is configured to have an agent: by its manifest,
// else by what it is made from.
func hasAgent(v model.VM, had *model.Config) bool {
	switch _, said := v.Options["agent"]; {
	case said:
		return model.AgentOn(v.Options)
	case had == nil:
		return true // it may be
	}
	return model.AgentOn(had.Options)
}

// bootSlot is the slot of the disk that a guest boots from; empty: not known.
func bootSlot(c *model.Config) string { return bootDisk(c).Slot }

// rootStorage is where the disk is that a guest boots from; empty: not known.
func rootStorage(c *model.Config) string { return storageOf(bootDisk(c)) }

// bootDisk is none where the config isn't known, or has none.
func bootDisk(c *model.Config) model.Disk {
	if c == nil {
		return model.Disk{}
	}
	d, _ := c.BootDisk()
	return d
}
