package cli

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
)

// writer turns a guest into manifests that want it as it is.
type writer struct {
	docs     *documents
	have     *model.Observed
	g        *model.Guest
	name     string // of the object; empty: what the guest is called
	linked   bool   // name the template that it is a linked clone of
	template int    // that template
	said     map[string]bool
	// hotplugs is what can be plugged, where that isn't what the class would have.
	hotplugs string
	omit     map[string]string // options and slots that are left out, and why
	where    map[string]string // options and slots by the field that says them
}

// machine writes the VirtualMachine of a guest, with its class and image.
func (w *writer) machine() (name string) {
	w.said = map[string]bool{}
	g, c := w.g, w.g.Config
	name = objectName(g.Name)
	switch {
	case w.name != "":
		name = w.name
	case c.Marker != nil:
		name = c.Marker.Owner.Name
	case name == "":
		name = fmt.Sprintf("vm-%d", g.VMID)
	}
	image := w.image()
	w.linked = image != nil
	class := w.class()
	spec := &mapping{}
	if c.Options["name"] != name {
		spec.put("name", c.Options["name"])
	}
	spec.put("vmid", g.VMID).put("classRef", class)
	comment := fmt.Sprintf("Imported from VM %d on %s.", g.VMID, g.Node)
	if image != nil {
		spec.put("imageRef", image)
	} else {
		comment += "\nIt has no image: if it were gone, it would be made anew with empty disks."
	}
	spec.put("powerState", map[bool]string{true: "On", false: "Off"}[g.Status == model.StatusRunning || g.Status == model.StatusPaused])
	spec.put("networks", w.listOf(w.networks())).put("disks", w.listOf(w.disks()))
	spec.put("tags", w.unless("tags", visibleTags(c.Tags))).put("description", c.Text).put("pool", w.unless("pool", g.Pool))
	w.flags(spec)
	spec.put("deletionPolicy", "Retain")
	spec.put("extraConfig", w.extra())
	w.docs.add(comment+w.leftOut(), "VirtualMachine", name, spec)
	return name
}

// listOf is a list that is said even if it is empty: what has no image would get
// something otherwise.
func (w *writer) listOf(list []*mapping) any {
	if len(list) == 0 && !w.linked {
		return none{}
	}
	return list
}

func visibleTags(tags []string) []string {
	return slices.DeleteFunc(slices.Clone(tags), model.IsMark)
}

// take reads an option, which needs no mention any more.
func (w *writer) take(key string) string {
	w.said[key] = true
	return w.g.Config.Options[key]
}

func (w *writer) number(key string, otherwise int) int {
	n, err := strconv.Atoi(w.take(key))
	if err != nil {
		return otherwise
	}
	return n
}

var baseVolume = regexp.MustCompile(`[:/]base-(\d+)-`)

// templateOf is the VMID of the template that a disk is a linked clone of; 0: none.
func templateOf(d model.Disk) int {
	m := baseVolume.FindStringSubmatch(d.Volume)
	if m == nil {
		return 0
	}
	id, _ := strconv.Atoi(m[1])
	return id
}

// image writes the VMImage of the template that the guest is a linked clone of.
func (w *writer) image() *mapping {
	if !w.linked {
		return nil
	}
	for _, d := range w.g.Config.Disks {
		id := templateOf(d)
		if id == 0 {
			continue
		}
		t := w.have.Guests[id]
		if t == nil || !t.Template {
			return nil
		}
		w.template = id
		source := t.Name
		if len(w.have.Named(t.Name)) != 1 || t.Name == "" {
			source = strconv.Itoa(id)
		}
		return w.docs.share("VMImage", objectName(cmp.Or(t.Name, fmt.Sprintf("template-%d", id))), (&mapping{}).put("source", source))
	}
	return nil
}

// disks are the disks with their sizes; CD-ROM drives aren't among them. Without the
// one that it boots from, a machine without an image has none that can be said.
func (w *writer) disks() []*mapping {
	root := w.bootSlot()
	if _, omitted := w.omit[root]; omitted && !w.linked {
		return nil
	}
	var list []*mapping
	var slots []string
	for _, d := range w.g.Config.Disks {
		if _, omitted := w.omit[d.Slot]; omitted || !usable(d) {
			continue
		}
		if m := w.disk(d, d.Slot == root); d.Slot == root {
			list, slots = slices.Insert(list, 0, m), slices.Insert(slots, 0, d.Slot)
		} else {
			list, slots = append(list, m), append(slots, d.Slot)
		}
	}
	for i, slot := range slots {
		w.says("VirtualMachine", fmt.Sprintf("spec.disks[%d]", i), slot)
	}
	return list
}

func (w *writer) disk(d model.Disk, root bool) *mapping {
	m := &mapping{}
	if root {
		m.put("name", "root")
	} else {
		m.put("name", d.Slot).put("slot", d.Slot)
	}
	if d.Size > 0 {
		m.put("size", quantity(d.Size))
	}
	if !root || !w.linked {
		m.put("storage", d.Storage)
	}
	yes := func(option, value string) any { return d.Options[option] == value }
	m.put("ssd", yes("ssd", "1")).put("discard", yes("discard", "on")).put("ioThread", yes("iothread", "1")).put("cache", d.Options["cache"])
	if d.Options["backup"] == "0" {
		m.put("backup", new(false))
	}
	return m
}

// usable tells whether a drive is a disk that machines keep their data on.
func usable(d model.Disk) bool {
	return !d.CDROM && !d.CloudInit && d.Slot != "efidisk0" && d.Slot != "tpmstate0"
}

// bootSlot is the slot that the guest boots from, as plans see it.
func (w *writer) bootSlot() string {
	if boot, err := prop.ParseBoot(w.g.Config.Options["boot"]); err == nil {
		for _, slot := range boot.Order {
			if d, ok := w.g.Config.DiskAt(slot); ok && usable(d) {
				return slot
			}
		}
	}
	for _, d := range w.g.Config.Disks {
		if usable(d) {
			return d.Slot
		}
	}
	return ""
}

// flags are the fields that stand for single options.
func (w *writer) flags(spec *mapping) {
	o := w.g.Config.Options
	for _, f := range [][2]string{{"onboot", "onBoot"}, {"protection", "protection"}} {
		if w.says("VirtualMachine", "spec."+f[1], f[0]); o[f[0]] == "1" {
			spec.put(f[1], true)
			w.take(f[0])
		}
	}
	if s, err := prop.ParseStartup(o["startup"]); err == nil && o["startup"] != "" && w.says("VirtualMachine", "spec.startup", "startup") {
		w.take("startup")
		m := &mapping{}
		for _, f := range []struct {
			name  string
			value prop.Opt[int]
		}{{"order", s.Order}, {"upDelay", s.Up}, {"downDelay", s.Down}} {
			if f.value.Set {
				m.put(f.name, &f.value.Value)
			}
		}
		spec.put("startup", m)
	}
	if w.g.HAState != "" && w.says("VirtualMachine", "spec.ha", "ha") {
		spec.put("ha", w.highAvailability())
	}
	if o["agent"] == prop.Canonical("agent", "1") && o["agent"] != "" && w.says("VirtualMachine", "spec.agent", "agent") {
		w.take("agent")
		agent := (&mapping{}).put("enabled", true)
		if len(w.g.Addresses) == 0 && w.g.Status == model.StatusRunning {
			agent.put("waitForAddress", new(false)) // it doesn't answer now
		}
		spec.put("agent", agent)
	}
}

func (w *writer) highAvailability() *mapping {
	ha := w.have.HA[fmt.Sprintf("vm:%d", w.g.VMID)]
	m := (&mapping{}).put("group", ha["group"])
	for _, f := range [][2]string{{"max_restart", "maxRestart"}, {"max_relocate", "maxRelocate"}} {
		n, _ := strconv.Atoi(ha[f[0]])
		m.put(f[1], n)
	}
	if len(m.node.Content) == 0 {
		m.put("maxRestart", new(0)) // so that something is said
	}
	return m
}

// unmanaged are options that manifests say nothing about: identities that
// Proxmox gives out, what can't be read back, and what other fields bring.
var unmanaged = []string{"name", "meta", "vmgenid", "smbios1", "cipassword", "cicustom", "nameserver", "searchdomain", "parent", "lock", "template", "boot", "bios"}

// forCloudInit are options that a cloud-init drive is made of.
var forCloudInit = []string{"ciuser", "sshkeys", "citype", "ciupgrade"}

// hasCloudInit tells whether Proxmox tells the guest what it wants of it.
func (w *writer) hasCloudInit() bool {
	return slices.ContainsFunc(w.g.Config.Disks, func(d model.Disk) bool { return d.CloudInit })
}

// extra are all further options.
func (w *writer) extra() *mapping {
	m := &mapping{}
	options := w.g.Config.Options
	drive := w.hasCloudInit()
	if !w.linked && options["ostype"] == "" {
		m.put("ostype", "other")
	}
	m.put("hotplug", w.hotplugs)
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if w.said[key] || !w.says("VirtualMachine", "spec.extraConfig."+key, key) || slices.Contains(unmanaged, key) || strings.HasPrefix(key, "ipconfig") || options[key] == "" {
			continue
		}
		if slices.Contains(forCloudInit, key) && !drive {
			continue // nobody reads them, and naming them would add a drive
		}
		m.put(key, options[key])
	}
	return m
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
