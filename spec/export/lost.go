package export

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// A spec that changes nothing may still say less than there is: options that it leaves
// alone, drives that hold an ISO image. A machine that is made anew from it is without these.

// lost returns the settings that a recreated machine would lack, by option or slot, beside
// omitted ones.
func (w *writer) lost(v model.VM) map[string]string {
	l := loss{v: v, have: w.g.Config, out: map[string]string{}}
	if t := w.have.Guests[w.template]; w.linked && t != nil {
		l.base = t.Config
	}
	l.options()
	l.disks()
	l.nics()
	for _, d := range w.g.Config.Unused {
		l.out[d.Slot] = d.Volume + " isn't attached"
	}
	if w.g.Config.Options["parent"] != "" {
		l.out["snapshots"] = "they are of this machine only"
	}
	for key := range w.omit {
		delete(l.out, key)
	}
	return l.out
}

type loss struct {
	v          model.VM
	have, base *model.Config // base is that of the template; nil: there is none, or it couldn't be read
	out        map[string]string
}

// identities are options that each machine gets for itself, or that are said elsewhere.
var identities = []string{"name", "meta", "vmgenid", "parent", "lock", "template", "digest", "vmstate", "snaptime", "running-nets-host-mtu"}

// options compares the plain options.
func (l loss) options() {
	would := map[string]string{}
	if l.base != nil {
		maps.Copy(would, l.base.Options)
	}
	for k, value := range l.v.Options {
		if would[k] = value; value == "" {
			delete(would, k)
		}
	}
	keys := map[string]bool{}
	for _, m := range []map[string]string{would, l.have.Options} {
		for k := range m {
			keys[k] = true
		}
	}
	for k := range keys {
		have, then := l.have.Options[k], would[k]
		switch {
		case slices.Contains(identities, k), have == then, l.leased(k):
		case k == "smbios1":
			if have = withoutUUID(have); have != withoutUUID(then) {
				l.out[k] = cmp.Or(have, "not set")
			}
		case k == "boot":
			l.boot(have)
		case k == "cipassword":
			l.out[k] = "Proxmox doesn't show it"
		case have == "":
			l.out[k] = "it is Proxmox' default here"
		default:
			l.out[k] = have
		}
	}
}

// leased reports whether an option has addresses that a machine gets from a pool.
func (l loss) leased(option string) bool {
	return slices.ContainsFunc(l.v.Leases, func(one model.Lease) bool { return one.Option() == option })
}

// withoutUUID are the settings of SMBIOS but for the UUID, which each machine gets for itself.
func withoutUUID(text string) string {
	var parts []string
	for _, p := range strings.Split(text, ",") {
		if !strings.HasPrefix(p, "uuid=") && p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ",")
}

// boot compares the order of booting with that of a machine that boots from its root disk.
func (l loss) boot(have string) {
	if l.base != nil && l.base.Options["boot"] == have {
		return
	}
	if l.base == nil && have == l.defaultBoot() {
		return
	}
	l.out["boot"] = cmp.Or(have, "not set")
}

// defaultBoot is the order that Proxmox gives a new machine without an image: its first disk
// and interface. A cloud-init drive comes later.
func (l loss) defaultBoot() string {
	var order []string
	if len(l.v.Disks) > 0 {
		order = append(order, "scsi0")
	}
	if len(l.v.NICs) > 0 {
		order = append(order, l.v.NICs[0].Slot)
	}
	return "order=" + strings.Join(order, ";")
}

// disks compares drives.
func (l loss) disks() {
	root := bootSlot(l.have)
	for _, d := range l.have.Disks {
		then, said := l.diskThen(d, d.Slot == root)
		switch {
		case d.CloudInit:
			if !said && !l.tells() {
				l.out[d.Slot] = "a cloud-init drive"
			}
		case d.CDROM:
			if !said || then.Volume != d.Volume {
				l.out[d.Slot] = "a CD-ROM drive with " + cmp.Or(d.Volume, "nothing in it")
			}
		case !said:
			l.out[d.Slot] = "a disk on " + cmp.Or(d.Storage, d.Volume)
		case d.Slot == root && l.base == nil && d.Slot != "scsi0":
			l.out[d.Slot] = "the root disk of a new machine without an image is scsi0"
		default:
			if text := optionsLost(d.Options, then.Options); text != "" {
				l.out[d.Slot] = text
			}
		}
	}
}

// diskThen is the disk of the spec, or of the template, that stands for one of the guest.
func (l loss) diskThen(d model.Disk, root bool) (model.Disk, bool) {
	for _, w := range l.v.Disks {
		if w.Slot == d.Slot || root && w.Root() {
			return w, true
		}
	}
	if l.base != nil {
		return l.base.DiskAt(d.Slot)
	}
	return model.Disk{}, false
}

// tells reports whether a new machine needs a cloud-init drive.
func (l loss) tells() bool {
	for k, value := range l.v.Options {
		if value != "" && (slices.Contains(forCloudInit, k) || strings.HasPrefix(k, "ipconfig") || k == "nameserver" || k == "searchdomain") {
			return true
		}
	}
	return false
}

// nics compares interfaces.
func (l loss) nics() {
	for _, n := range l.have.NICs {
		at := slices.IndexFunc(l.v.NICs, func(w model.NIC) bool { return w.Slot == n.Slot })
		if at < 0 {
			if l.base != nil {
				if b, there := l.base.NICAt(n.Slot); there && b.Bridge == n.Bridge && b.Model == n.Model && b.VLAN == n.VLAN {
					continue
				}
			}
			l.out[n.Slot] = fmt.Sprintf("%s on %s", n.Model, cmp.Or(n.Bridge, "no bridge"))
			continue
		}
		if text := optionsLost(n.Options, l.v.NICs[at].Options); text != "" {
			l.out[n.Slot] = text
		}
	}
}

// ofVolume are settings that Proxmox makes up for each drive.
var ofVolume = []string{"size", "format", "media", "ms-cert"}

// optionsLost are the settings of a device that a new one has otherwise.
func optionsLost(have, then map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(have)) {
		if !slices.Contains(ofVolume, k) && have[k] != then[k] {
			parts = append(parts, k+"="+have[k])
		}
	}
	return strings.Join(parts, ",")
}
