package terraform

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/proxplane/proxplane/model"
)

// causes are the attributes that options of Proxmox' config, and what else differs, follow from. Of several, those count
// that aren't as in the state, or else those that the configuration sets.
var causes = map[string][]string{
	"cores": {"class.cpus", "class.max_cpus"}, "vcpus": {"class.max_cpus"}, "sockets": {"class.sockets"},
	"cpu": {"class.spec.cpu_type", "class.cpu.flags"}, "affinity": {"class.cpu.affinity"}, "cpulimit": {"class.cpu.limit"}, "cpuunits": {"class.cpu.units"},
	"memory": {"class.memory"}, "balloon": {"class.min_memory"}, "hugepages": {"class.hugepages"}, "keephugepages": {"class.keep_hugepages"},
	"hotplug": {"class.max_cpus", "class.hotplug_memory"}, "numa": {"class.numa", "class.hotplug_memory"},
	"bios": {"class.spec.bios"}, "machine": {"class.spec.machine", "class.spec.bios"}, "scsihw": {"class.spec.scsi_controller"}, "vga": {"class.spec.vga"},
	"serial": {"class.spec.serial"}, "tpmstate": {"class.spec.tpm"}, "efidisk": {"class.spec.secure_boot", "class.spec.bios"},
	"agent": {"agent"}, "name": {"guest_name", "name"}, "onboot": {"on_boot"}, "hostpci": {"pci_mappings"}, "virtiofs": {"filesystems"},
	"args": {"filesystems", "user_data"}, "hookscript": {"hookscripts", "filesystems", "user_data"}, "nameserver": {"networks"}, "searchdomain": {"networks"},
	"ide": {"user_data", "disks"}, "boot": {"disks", "image"}, "cicustom": {"user_data"},
	model.FieldHook: {"hookscripts", "filesystems", "user_data"}, model.FieldFirstBoot: firstBootAttributes, model.FieldCloudInit: firstBootAttributes, model.FieldDirectory: {"filesystems"},
	model.FieldNode: {"placement"}, model.FieldPower: {"power_state"}, model.FieldSource: {"image"}, model.FieldVMID: {"vmid", "vmids"},
	model.FieldPool: {"pool"}, model.FieldHA: {"ha"}, model.FieldFirewall: {"firewall"},
}

// firstBootAttributes are those that say what a machine gets at its first boot.
var firstBootAttributes = []string{"user_data", "variables", "member_variables", "meta_data"}

// device is a device by its number: net0.
var device = regexp.MustCompile(`^([a-z]+)([0-9]+)$`)

// causesOf are the attributes of the configuration that changes follow from. Only machines have such: what manifests say is one text.
func (w part) causesOf(list []model.Difference) (attributes []string) {
	if w.said == nil {
		return nil
	}
	for _, d := range list {
		for _, a := range w.causes(d) {
			if !slices.Contains(attributes, a) {
				attributes = append(attributes, a)
			}
		}
	}
	return attributes
}

// withoutWhole leaves lists out of which an item is named.
func withoutWhole(attributes []string) []string {
	return slices.DeleteFunc(slices.Clone(attributes), func(a string) bool {
		return slices.ContainsFunc(attributes, func(other string) bool { return strings.HasPrefix(other, a+"[") })
	})
}

func (w part) causes(d model.Difference) []string {
	slot, part := d.Slot()
	if slot == "" {
		slot = d.Field
	}
	kind := slot
	if of := device.FindStringSubmatch(slot); of != nil {
		kind = of[1]
	}
	switch kind {
	case "net":
		return []string{w.item("networks", w.nicAt(slot), part)}
	case "ipconfig":
		return []string{w.item("networks", w.nicAt(strings.Replace(slot, "ipconfig", "net", 1)), "")}
	case "scsi", "virtio", "sata":
		return []string{w.item("disks", w.diskAt(slot), part)}
	}
	for _, extra := range []string{"extra_config", "class.extra_config"} {
		if w.sets(extra + "." + slot) {
			return []string{extra + "." + slot}
		}
	}
	candidates := causes[kind]
	if candidates == nil && w.sets(snake(kind)) {
		return []string{snake(kind)} // it is called as in Proxmox
	}
	for _, counts := range []func(string) bool{w.changes, w.sets} {
		if list := slices.DeleteFunc(slices.Clone(candidates), func(a string) bool { return !counts(a) }); len(list) > 0 {
			return list
		}
	}
	return candidates
}

// sets reports whether the configuration sets an attribute.
func (w part) sets(attribute string) bool { return valueAt(w.said, attribute) != nil }

// changes reports whether the configuration says something else in an attribute than the state.
func (w part) changes(attribute string) bool {
	return w.was != nil && !reflect.DeepEqual(valueAt(w.said, attribute), valueAt(w.was, attribute))
}

// valueAt is what is said in an attribute; nil: nothing.
func valueAt(said map[string]any, attribute string) any {
	var at any = said
	for _, name := range strings.Split(attribute, ".") {
		object, _ := at.(map[string]any)
		at = object[name]
		for key, value := range object {
			if snake(key) == name {
				at = value
			}
		}
	}
	return at
}

// nicAt is the name of the network interface in a slot.
func (w part) nicAt(slot string) (name string) {
	for _, v := range w.wanted.Desired.VMs {
		for _, n := range v.NICs {
			if n.Slot == slot {
				return n.Name
			}
		}
	}
	return ""
}

// diskAt is the name of the disk in a slot. The first one is in the slot that the image boots from.
func (w part) diskAt(slot string) (name string) {
	for _, v := range w.wanted.Desired.VMs {
		for _, d := range v.Disks {
			if d.Slot == slot {
				return d.Name
			}
		}
	}
	return ""
}

// partNames are parts of devices that attributes call otherwise.
var partNames = map[string]string{"tag": "vlan", "iothread": "io_thread"}

// item is an item of a list by its name, with the attribute of it that a part of a device is; without a name it is the list.
func (w part) item(list, name, part string) string {
	items, _ := w.said[list].([]any)
	for i, item := range items {
		said, _ := item.(map[string]any)
		if said["name"] != name || name == "" {
			continue
		}
		at := fmt.Sprintf("%s[%d]", list, i)
		for key := range said {
			if own := snake(key); own == part || own == partNames[part] {
				return at + "." + own
			}
		}
		return at
	}
	return list
}

// at is where in the configuration some attributes are: that of all of them, or where they meet; false: nowhere.
func at(attributes []string) (p path.Path, known bool) {
	if len(attributes) == 0 {
		return p, false
	}
	first, _, _ := strings.Cut(attributes[0], ".")
	for _, a := range attributes[1:] {
		if other, _, _ := strings.Cut(a, "."); other != first {
			return p, false
		}
	}
	name, index, isItem := strings.Cut(strings.TrimSuffix(first, "]"), "[")
	p = path.Root(name)
	if i, err := strconv.Atoi(index); isItem && err == nil {
		p = p.AtListIndex(i)
	}
	return p, true
}
