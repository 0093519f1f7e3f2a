package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// edit is a change by somebody else, or of what is wanted, or both.
type edit struct {
	name string
	do   func(g *model.Guest, v *model.VM)
}

func disk(c *model.Config, slot string) *model.Disk {
	i := slices.IndexFunc(c.Disks, func(d model.Disk) bool { return d.Slot == slot })
	return &c.Disks[i]
}

// take takes a disk out of a config.
func take(c *model.Config, slot string) model.Disk {
	d := *disk(c, slot)
	c.Disks = slices.DeleteFunc(slices.Clone(c.Disks), func(d model.Disk) bool { return d.Slot == slot })
	return d
}

// was is a config as the running guest has it.
func was(c *model.Config) *model.Config {
	old := *c
	old.Options, old.Disks, old.NICs = maps.Clone(c.Options), slices.Clone(c.Disks), slices.Clone(c.NICs)
	return &old
}

func edits() []edit {
	pend := func(c *model.Config, key string) {
		c.Running = was(c)
		c.Pending = map[string]*string{key: nil}
	}
	option := func(key, value string) edit {
		return edit{"option " + key + " is " + value, func(g *model.Guest, _ *model.VM) { g.Config.Options[key] = value }}
	}
	plug := func(setting string) edit {
		return edit{"hotplug is " + setting + ", everything is to be otherwise", func(g *model.Guest, v *model.VM) {
			g.Config.Options["hotplug"], g.Config.Options["numa"] = setting, "1"
			v.Options["memory"], v.Options["vcpus"], v.Options["tablet"], v.Options["usb0"], v.Options["balloon"] = "8192", "2", "0", "host=1-2", "0"
			v.NICs = append(slices.Clone(v.NICs), model.NIC{Slot: "net1", Model: "virtio", Bridge: "vmbr1", VLAN: 7})
			v.Disks = append(slices.Clone(v.Disks), model.Disk{Slot: "virtio3", Storage: "nfs", Size: 1<<30 + 1}, model.Disk{Slot: "sata2", Storage: "nfs", Size: 1 << 30})
		}}
	}
	driveOption := func(key string) edit {
		return edit{"a disk's " + key, func(_ *model.Guest, v *model.VM) {
			v.Disks[1].Options = map[string]string{"serial": "data", key: "1"}
		}}
	}
	list := []edit{
		{"nothing", func(*model.Guest, *model.VM) {}},
		{"a disk is detached", func(g *model.Guest, _ *model.VM) {
			d := take(g.Config, "scsi1")
			g.Config.Unused = []model.Disk{{Slot: "unused0", Volume: d.Volume}}
		}},
		{"a disk is detached, and another volume too", func(g *model.Guest, _ *model.VM) {
			take(g.Config, "scsi1")
			g.Config.Unused = []model.Disk{{Slot: "unused0", Volume: "nfs:vm-1-disk-7"}, {Slot: "unused1", Volume: "nfs:vm-1-cloudinit", CloudInit: true}}
		}},
		{"a disk is detached, which is pending", func(g *model.Guest, _ *model.VM) { pend(g.Config, "scsi1"); take(g.Config, "scsi1") }},
		{"a disk is in another slot", func(g *model.Guest, _ *model.VM) {
			d := take(g.Config, "scsi1")
			d.Slot = "virtio4"
			g.Config.Disks = append(g.Config.Disks, d)
		}},
		{"a disk without its serial number", func(g *model.Guest, _ *model.VM) { disk(g.Config, "scsi1").Options = nil }},
		{"a disk is gone", func(g *model.Guest, _ *model.VM) { take(g.Config, "scsi1") }},
		{"the root disk is detached", func(g *model.Guest, _ *model.VM) {
			d := take(g.Config, "scsi0")
			g.Config.Unused = []model.Disk{{Slot: "unused0", Volume: d.Volume}}
			g.Config.Options["boot"] = "order=net0"
		}},
		{"the root disk is in another slot", func(g *model.Guest, _ *model.VM) {
			d := take(g.Config, "scsi0")
			d.Slot = "virtio0"
			g.Config.Disks = append(g.Config.Disks, d)
		}},
		{"a disk has another size", func(g *model.Guest, _ *model.VM) { disk(g.Config, "scsi1").Size = 2 << 30 }},
		{"a disk has an unknown size", func(g *model.Guest, _ *model.VM) { disk(g.Config, "scsi1").Size = 0 }},
		{"a disk is a bit larger", func(g *model.Guest, _ *model.VM) { disk(g.Config, "scsi1").Size = 1<<30 + 1<<20 }},
		{"a disk is to be a bit larger", func(_ *model.Guest, v *model.VM) { v.Disks[1].Size = 1<<30 + 1 }},
		{"a disk is to be of any size", func(_ *model.Guest, v *model.VM) { v.Disks[1].Size = 0 }},
		{"a disk isn't wanted any more", func(_ *model.Guest, v *model.VM) { v.Disks = slices.Delete(v.Disks, 1, 2) }},
		{"a disk that can't be unplugged isn't wanted any more", func(g *model.Guest, v *model.VM) {
			g.Config.Options["hotplug"] = "0"
			v.Disks = slices.Delete(v.Disks, 1, 2)
		}},
		{"a disk isn't wanted any more whose addition is pending", func(g *model.Guest, v *model.VM) {
			pend(g.Config, "scsi1")
			take(g.Config.Running, "scsi1")
			g.Config.Options["hotplug"] = "0"
			v.Disks = slices.Delete(v.Disks, 1, 2)
		}},
		{"a drive isn't wanted any more", func(_ *model.Guest, v *model.VM) { v.Disks = slices.Delete(v.Disks, 3, 4) }},
		{"another ISO image is in the drive", func(g *model.Guest, _ *model.VM) { disk(g.Config, "ide0").Volume = "nfs:iso/second.iso" }},
		{"the drive is empty", func(g *model.Guest, _ *model.VM) { disk(g.Config, "ide0").Volume = "" }},
		{"a disk is where the drive was", func(g *model.Guest, _ *model.VM) { disk(g.Config, "ide0").CDROM = false }},
		{"sizes that Proxmox would take anyway are left out", func(g *model.Guest, v *model.VM) {
			for k, size := range model.DefaultSizes {
				v.Options[k] = size
				delete(g.Config.Options, k)
			}
		}},
		{"two disks want one slot", func(g *model.Guest, v *model.VM) {
			v.Disks = append(v.Disks, model.Disk{Slot: "scsi1", Storage: "nfs", Size: 1 << 30, Options: map[string]string{"serial": "new"}})
		}},
		{"a disk that nobody names", func(g *model.Guest, _ *model.VM) {
			g.Config.Disks = append(g.Config.Disks, model.Disk{Slot: "scsi9", Volume: "nfs:vm-1-disk-9", Storage: "nfs", Size: 1 << 30})
		}},
		{"a disk is missing", func(g *model.Guest, _ *model.VM) { g.Missing = []string{"scsi1"} }},
		{"there is no marker's list of disks", func(g *model.Guest, _ *model.VM) { g.Config.Marker.Disks = nil; take(g.Config, "scsi5") }},
		{"firmware is wanted", func(_ *model.Guest, v *model.VM) {
			v.Options["bios"], v.Disks = "ovmf", append(v.Disks, model.Disk{Slot: "efidisk0", Storage: "nfs", Options: map[string]string{"efitype": "4m"}}, model.Disk{Slot: "tpmstate0"})
		}},
		{"disks are to be elsewhere", func(_ *model.Guest, v *model.VM) {
			v.Disks[0].Storage, v.Disks[1].Storage, v.Disks[2].Format = "local-lvm", "local-lvm", "qcow2"
		}},
		{"disks are to be where there is nothing", func(_ *model.Guest, v *model.VM) { v.Disks[1].Storage = "nowhere" }},
		{"disks are to be elsewhere, and there is a snapshot", func(g *model.Guest, v *model.VM) {
			g.Snapshots = []model.SnapshotInfo{{Name: "x"}}
			v.Disks[1].Storage = "local-lvm"
		}},
		{"the NIC is another one", func(g *model.Guest, _ *model.VM) {
			g.Config.NICs[0] = model.NIC{Slot: "net0", Model: "e1000", MAC: "02:00:00:00:00:01", Bridge: "vmbr2", VLAN: 3, MTU: 1400, Firewall: true, Options: map[string]string{"queues": "4"}}
		}},
		{"the NIC is gone", func(g *model.Guest, _ *model.VM) { g.Config.NICs = nil }},
		{"the NIC's change is pending", func(g *model.Guest, _ *model.VM) { pend(g.Config, "net0"); g.Config.NICs[0].Bridge = "vmbr5" }},
		{"a NIC that nobody names", func(g *model.Guest, _ *model.VM) {
			g.Config.NICs = append(g.Config.NICs, model.NIC{Slot: "net4", Model: "virtio", Bridge: "vmbr1"})
		}},
		{"a NIC of ours that nobody names any more, not yet plugged", func(g *model.Guest, _ *model.VM) {
			pend(g.Config, "net4")
			g.Config.NICs = append(g.Config.NICs, model.NIC{Slot: "net4", Model: "virtio", Bridge: "vmbr1"})
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, "nic:net4")
		}},
		{"a NIC of ours that nobody names any more", func(g *model.Guest, _ *model.VM) {
			g.Config.NICs = append(g.Config.NICs, model.NIC{Slot: "net4", Model: "virtio", Bridge: "vmbr1"})
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, "nic:net4")
		}},
		{"no MAC address is wanted", func(_ *model.Guest, v *model.VM) { v.NICs[0].MAC = "" }},
		{"a bridge that isn't there", func(_ *model.Guest, v *model.VM) { v.NICs[0].Bridge = "vmbr77" }},
		{"an option waits for a restart", func(g *model.Guest, _ *model.VM) {
			pend(g.Config, "cores")
			g.Config.Running.Options["cores"] = "1"
		}},
		{"an option that waits for a restart is taken back", func(g *model.Guest, _ *model.VM) {
			pend(g.Config, "cores")
			g.Config.Options["cores"] = "1"
		}},
		{"somebody's option waits for a restart", func(g *model.Guest, _ *model.VM) { pend(g.Config, "audio0"); g.Config.Options["audio0"] = "x" }},
		{"a cloud-init option waits for a restart", func(g *model.Guest, _ *model.VM) {
			pend(g.Config, "ciuser")
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, "ciuser")
		}},
		{"an option of ours that nobody names any more", func(g *model.Guest, _ *model.VM) {
			g.Config.Options["onboot"], g.Config.Marker.Managed = "1", append(g.Config.Marker.Managed, "onboot")
		}},
		{"an option is to be gone", func(g *model.Guest, v *model.VM) { g.Config.Options["onboot"], v.Options["onboot"] = "1", "" }},
		{"CPUs that are plugged", func(g *model.Guest, v *model.VM) { g.Config.Options["vcpus"] = "4" }},
		{"more sockets", func(_ *model.Guest, v *model.VM) { v.Options["sockets"] = "2" }},
		{"more CPUs than the node has", func(_ *model.Guest, v *model.VM) { v.Options["cores"] = "99" }},
		{"the name is another one", func(g *model.Guest, _ *model.VM) { g.Name, g.Config.Options["name"] = "x", "x" }},
		{"no name is wanted", func(g *model.Guest, v *model.VM) { v.Name = "" }},
		{"somebody's tags", func(g *model.Guest, _ *model.VM) {
			g.Config.Tags = append(g.Config.Tags, "zebra", "ape")
			g.Tags = g.Config.Tags
		}},
		{"no tags", func(g *model.Guest, _ *model.VM) { g.Config.Tags, g.Tags = nil, nil }},
		{"the marker is signed by another key", func(g *model.Guest, _ *model.VM) { g.Config.Signed = model.OtherKey }},
		{"somebody's text", func(g *model.Guest, _ *model.VM) { g.Config.Text = "by hand" }},
		{"a text with a block for the hook", func(g *model.Guest, v *model.VM) {
			g.Config.Text = "by hand\n\n```proxplane\nvirtiofs: x\n```\nmore"
		}},
		{"a block for the hook without its end", func(g *model.Guest, v *model.VM) { g.Config.Text = "```proxplane\nvirtiofs: x" }},
		{"in another pool of ours", func(g *model.Guest, v *model.VM) {
			g.Pool, g.Config.Marker.Managed = "old", append(g.Config.Marker.Managed, model.PoolMark("old"))
		}},
		{"in another pool of others", func(g *model.Guest, v *model.VM) { g.Pool = "theirs"; v.Pool = "team" }},
		{"under HA by others", func(g *model.Guest, _ *model.VM) { g.HAState = "started" }},
		{"under HA by us, and not wanted", func(g *model.Guest, _ *model.VM) {
			g.HAState, g.Config.Marker.Managed = "started", append(g.Config.Marker.Managed, "ha")
		}},
		{"under HA, which has given up", func(g *model.Guest, v *model.VM) { g.HAState, v.HA = model.HAError, &model.HA{} }},
		{"on its way by HA", func(g *model.Guest, v *model.VM) { g.HAState, v.HA = model.HAMigrate, &model.HA{} }},
		{"to be under HA while off", func(_ *model.Guest, v *model.VM) { v.HA, v.Power = &model.HA{}, model.PowerOff }},
		{"to be elsewhere", func(_ *model.Guest, v *model.VM) { v.Place.Nodes = []string{"pve2"} }},
		{"to be elsewhere, with local disks", func(g *model.Guest, v *model.VM) {
			v.Place.Nodes = []string{"pve2"}
			disk(g.Config, "scsi5").Storage, disk(g.Config, "scsi5").Volume = "local-lvm", "local-lvm:vm-1-disk-3"
			v.Disks[2].Storage = "local-lvm"
		}},
		{"to be elsewhere, under HA", func(g *model.Guest, v *model.VM) {
			v.Place.Nodes, v.HA, g.HAState = []string{"pve2"}, &model.HA{}, "started"
		}},
		{"to be shut down, which it ignores", func(_ *model.Guest, v *model.VM) { v.Power = model.PowerOffGraceful }},
		{"paused", func(g *model.Guest, _ *model.VM) { g.Status = model.StatusPaused }},
		{"to be off, paused", func(g *model.Guest, v *model.VM) { g.Status, v.Power = model.StatusPaused, model.PowerOff }},
		{"made anew for another VMID", func(_ *model.Guest, v *model.VM) { v.VMID = 5999 }},
		{"made anew for another source that isn't there", func(_ *model.Guest, v *model.VM) { v.Source.Image.Name = "nowhere" }},
		{"a full copy that is linked", func(_ *model.Guest, v *model.VM) { v.Source.Full = true }},
		{"Ignition data that are others", func(g *model.Guest, v *model.VM) {
			v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa", Once: true}
		}},
		{"Ignition data that are lost", func(g *model.Guest, v *model.VM) {
			v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa", Once: true, Lost: true}
		}},
		{"a password", func(g *model.Guest, v *model.VM) {
			v.Options[model.Password], v.Password = "x", model.Seal{Mark: "s.aaaabbbb"}
		}},
		{"the same password", func(g *model.Guest, v *model.VM) {
			v.Options[model.Password], v.Password = "x", model.Seal{Mark: "s.aaaabbbb"}
			g.Config.Options[model.Password] = "**********"
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, passwordPrefix+"s.aaaabbbb", model.Password)
		}},
		plug("0"), plug("1"), plug("disk"), plug("network"), plug("usb"), plug("cpu"), plug("memory"), plug("network,disk,usb,cpu,memory"),
		{"the agent's trimming", func(g *model.Guest, v *model.VM) {
			g.Config.Options["agent"], v.Options["agent"] = "1", "1,fstrim_cloned_disks=1"
		}},
		{"the agent goes", func(g *model.Guest, v *model.VM) { v.Options["agent"] = "" }},
		{"the hotplug setting itself", func(g *model.Guest, v *model.VM) { v.Options["hotplug"] = "network,disk,cpu" }},
		{"a plain hotplug setting", func(g *model.Guest, v *model.VM) { v.Options["hotplug"] = "network,disk" }},
		{"more CPUs than the node has, as before", func(g *model.Guest, v *model.VM) { g.Config.Options["cores"], v.Options["cores"] = "99", "99" }},
		{"more CPUs than the node has, as before, and a restart is due", func(g *model.Guest, v *model.VM) {
			g.Config.Options["cores"], v.Options["cores"], v.Options["bios"] = "99", "99", "ovmf"
		}},
		{"a restart is due, with CPUs that the node has no more", func(g *model.Guest, v *model.VM) {
			g.Config.Options["cores"], v.Options["cores"], v.Power = "99", "99", ""
			pend(g.Config, "cores")
		}},
		{"a root disk with a serial number", func(_ *model.Guest, v *model.VM) { v.Disks[0].Options = map[string]string{"serial": "root"} }},
		{"a drive that may be empty", func(_ *model.Guest, v *model.VM) { v.Disks[3].Volume = "" }},
		{"a drive that is empty, and may be so", func(g *model.Guest, v *model.VM) { v.Disks[3].Volume, disk(g.Config, "ide0").Volume = "none", "none" }},
		{"somebody's option of a disk", func(g *model.Guest, _ *model.VM) {
			disk(g.Config, "scsi1").Options = map[string]string{"serial": "data", "cache": "none"}
		}},
		{"an option of a disk of ours that nobody names any more", func(g *model.Guest, _ *model.VM) {
			disk(g.Config, "scsi1").Options = map[string]string{"serial": "data", "cache": "none"}
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, "disk:data:cache")
		}},
		{"an option of a disk is to be gone", func(g *model.Guest, v *model.VM) {
			disk(g.Config, "scsi1").Options = map[string]string{"serial": "data", "cache": "none"}
			v.Disks[1].Options = map[string]string{"serial": "data", "cache": ""}
		}},
		{"options of a disk of all kinds", func(_ *model.Guest, v *model.VM) {
			v.Disks[1].Options = map[string]string{"serial": "data", "cache": "none", "werror": "stop", "mbps": "10"}
		}},
		{"an option of a disk that is pending is taken back", func(g *model.Guest, _ *model.VM) {
			pend(g.Config, "scsi1")
			disk(g.Config, "scsi1").Options = map[string]string{"serial": "data", "cache": "none"}
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, "disk:data:cache")
		}},
		{"an option of a disk on another volume that is pending", func(g *model.Guest, _ *model.VM) {
			pend(g.Config, "scsi1")
			disk(g.Config.Running, "scsi1").Volume = "nfs:other"
			disk(g.Config, "scsi1").Options = map[string]string{"serial": "data", "cache": "none"}
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, "disk:data:cache")
		}},
		{"an option of a disk that the running guest hasn't", func(g *model.Guest, _ *model.VM) {
			pend(g.Config, "scsi1")
			take(g.Config.Running, "scsi1")
			disk(g.Config, "scsi1").Options = map[string]string{"serial": "data", "cache": "none"}
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, "disk:data:cache")
		}},
		{"the volumes of two disks have changed places", func(g *model.Guest, _ *model.VM) {
			a, b := disk(g.Config, "scsi1"), disk(g.Config, "scsi5")
			a.Volume, b.Volume, a.Options, b.Options = b.Volume, a.Volume, b.Options, a.Options
		}},
		{"a disk is in a slot that nobody names, without its serial number", func(g *model.Guest, v *model.VM) {
			d := take(g.Config, "scsi5")
			d.Slot = "scsi8"
			g.Config.Disks = append(g.Config.Disks, d)
		}},
		{"a disk whose removal is pending, and nobody has written its volume down", func(g *model.Guest, _ *model.VM) {
			pend(g.Config, "scsi5")
			take(g.Config, "scsi5")
			g.Config.Marker.Disks = nil
		}},
		{"somebody's disk whose removal is pending", func(g *model.Guest, _ *model.VM) {
			g.Config.Disks = append(g.Config.Disks, model.Disk{Slot: "scsi9", Volume: "nfs:vm-1-disk-9", Storage: "nfs", Size: 1 << 30})
			pend(g.Config, "scsi9")
			take(g.Config, "scsi9")
			take(g.Config, "scsi5")
			take(g.Config.Running, "scsi5")
		}},
		{"detached volumes, and a disk that is new", func(g *model.Guest, v *model.VM) {
			g.Config.Unused = []model.Disk{{Slot: "unused0", Volume: "nfs:vm-1-disk-7"}}
			v.Disks = append(v.Disks, model.Disk{Slot: "scsi7", Storage: "nfs", Size: 1 << 30})
		}},
		{"detached volumes of a guest that is fresh", func(g *model.Guest, v *model.VM) {
			g.Config.Unused, g.Config.Marker.Fresh = []model.Disk{{Slot: "unused0", Volume: "nfs:vm-1-disk-7"}}, true
			take(g.Config, "scsi1")
		}},
		{"detached volumes, and disks that the marker only names", func(g *model.Guest, v *model.VM) {
			g.Config.Unused, g.Config.Marker.Disks = []model.Disk{{Slot: "unused0", Volume: "nfs:vm-1-disk-7"}}, nil
			take(g.Config, "scsi5")
		}},
		{"the root disk is gone, and volumes are detached", func(g *model.Guest, _ *model.VM) {
			take(g.Config, "scsi0")
			g.Config.Disks = slices.DeleteFunc(g.Config.Disks, func(d model.Disk) bool { return !d.CDROM })
			g.Config.Unused = []model.Disk{{Slot: "unused0", Volume: "nfs:vm-1-disk-7"}}
		}},
		{"the root disk is detached, and nothing says what to boot from", func(g *model.Guest, _ *model.VM) {
			d := take(g.Config, "scsi0")
			g.Config.Unused = []model.Disk{{Slot: "unused0", Volume: d.Volume}}
			g.Config.Options["boot"] = ""
		}},
		{"the root disk is detached, and is booted from", func(g *model.Guest, _ *model.VM) {
			d := take(g.Config, "scsi0")
			g.Config.Unused = []model.Disk{{Slot: "unused0", Volume: d.Volume}}
			g.Config.Options["boot"] = "order=scsi0;net0"
		}},
		{"a pending removal of a disk with other options", func(g *model.Guest, _ *model.VM) {
			pend(g.Config, "scsi1")
			disk(g.Config.Running, "scsi1").Options = map[string]string{"serial": "data", "cache": "none"}
			take(g.Config, "scsi1")
		}},
		{"a NIC's change is pending, and any MAC address will do", func(g *model.Guest, v *model.VM) {
			pend(g.Config, "net0")
			g.Config.NICs = nil
			v.NICs[0].MAC = ""
		}},
		{"a NIC that the running guest hasn't", func(g *model.Guest, v *model.VM) {
			pend(g.Config, "net0")
			g.Config.Running.NICs = nil
			v.NICs[0].Bridge = "vmbr1"
		}},
		{"the agent comes", func(g *model.Guest, v *model.VM) { delete(g.Config.Options, "agent"); v.Options["agent"] = "1" }},
		{"memory can't be plugged without NUMA", func(g *model.Guest, v *model.VM) { g.Config.Options["hotplug"], v.Options["memory"] = "memory", "8192" }},
		{"hotplug of memory is asked for", func(_ *model.Guest, v *model.VM) { v.Options["hotplug"] = "memory" }},
		{"the memory isn't said any more", func(g *model.Guest, v *model.VM) { v.Options["memory"], v.Options["cores"] = "", "" }},
		{"the memory was never said", func(g *model.Guest, v *model.VM) {
			delete(g.Config.Options, "memory")
			delete(g.Config.Options, "cores")
		}},
		{"the memory waits for a restart", func(g *model.Guest, v *model.VM) { pend(g.Config, "memory") }},
		{"under HA, to be cleared", func(g *model.Guest, v *model.VM) { g.HAState, v.HA = model.HAClearing, &model.HA{} }},
		{"under HA, to be cleared and off", func(g *model.Guest, v *model.VM) {
			g.HAState, v.HA, v.Power = model.HAClearing, &model.HA{}, model.PowerOff
		}},
		{"under HA, to be started by it", func(g *model.Guest, v *model.VM) {
			g.HAState, v.HA, g.Status, v.Power = "started", &model.HA{}, model.StatusStopped, model.PowerOn
		}},
		{"under HA, cleared, to be on", func(g *model.Guest, v *model.VM) {
			g.HAState, v.HA, g.Status, v.Power = model.HAClearing, &model.HA{}, model.StatusStopped, model.PowerOn
		}},
		{"under HA, with a restart due", func(g *model.Guest, v *model.VM) { g.HAState, v.HA, v.Options["bios"] = "started", &model.HA{}, "ovmf" }},
		{"a restart due, and no power state is asked for", func(g *model.Guest, v *model.VM) { v.Power, v.Options["bios"] = "", "ovmf" }},
		{"to be elsewhere, of unknown state", func(g *model.Guest, v *model.VM) { v.Place.Nodes, g.Status = []string{"pve2"}, model.StatusUnknown }},
		{"first-boot data, of unknown state", func(g *model.Guest, v *model.VM) {
			v.Seed, g.Status = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"}, model.StatusUnknown
		}},
		{"on a node with too many guests", func(_ *model.Guest, v *model.VM) { v.Place.MaxPerNode = 1 }},
		{"to be elsewhere, with at most one a node", func(_ *model.Guest, v *model.VM) { v.Place.Nodes, v.Place.MaxPerNode = []string{"pve2"}, 1 }},
		{"on a node with too little memory", func(_ *model.Guest, v *model.VM) { v.Place.MinFree = 64 << 30 }},
		{"to be elsewhere, with snapshots on local disks", func(g *model.Guest, v *model.VM) {
			v.Place.Nodes, g.Snapshots = []string{"pve2"}, []model.SnapshotInfo{{Name: "x"}}
			disk(g.Config, "scsi5").Storage, disk(g.Config, "scsi5").Volume = "local-lvm", "local-lvm:vm-1-disk-3"
			v.Disks[2].Storage = "local-lvm"
		}},
		{"to be elsewhere, linked on local disks", func(g *model.Guest, v *model.VM) {
			v.Place.Nodes = []string{"pve2"}
			disk(g.Config, "scsi0").Storage, disk(g.Config, "scsi0").Volume = "local-lvm", "local-lvm:base-9000-disk-0/vm-5600-disk-0"
		}},
		{"an image of its own that isn't read", func(g *model.Guest, _ *model.VM) { g.Config.Marker.Image, g.Config.Marker.From = "older", 9001 }},
		{"made from nothing that is known", func(g *model.Guest, v *model.VM) { v.Source = model.Source{Blank: true} }},
		option("protection", "1"), option("machine", "pc-q35-9.0"), option("bios", "ovmf"), option("onboot", "1"),
	}
	for _, key := range slices.Concat(coldDriveOptions, lateDriveOptions, []string{"mbps"}) {
		list = append(list, driveOption(key))
	}
	return list
}

// TestWhatIsDoneAboutEachEditOfAGuest: what the plan is after somebody has changed a guest, or its manifest: while it runs and nothing
// is agreed to, when everything is, and when it is off.
func TestWhatIsDoneAboutEachEditOfAGuest(t *testing.T) {
	everything := model.Allow{Restart: true, Replace: true, Data: true, Stop: true, Move: true}
	var b strings.Builder
	one := func(power model.Power) model.Desired {
		want := everyWish()
		want.VMs, want.Snapshots = want.VMs[:1], nil
		want.VMs[0].Power = power
		return want
	}
	worlds, ids := map[model.Power]*world{}, map[model.Power]int{}
	for _, power := range []model.Power{model.PowerOn, model.PowerOff} {
		worlds[power] = wishWorld()
		ids[power] = converge(quiet{t}, worlds[power], one(power)).object(t, "web").VMID
	}
	for _, e := range edits() {
		seen := map[string]string{}
		fmt.Fprintf(&b, "# %s\n", e.name)
		for _, state := range []struct {
			name  string
			power model.Power
			allow model.Allow
		}{{"running", model.PowerOn, model.Allow{}}, {"everything agreed to", model.PowerOn, everything}, {"off", model.PowerOff, model.Allow{}}, {"foreseen", model.PowerOn, model.Allow{}}} {
			w, want, id := worlds[state.power].copy(), one(state.power), ids[state.power]
			want.Allow, want.Foresee = state.allow, state.name == "foreseen"
			e.do(w.Guests[id], &want.VMs[0])
			p, _ := w.planLooks(want)
			var text strings.Builder
			tell(&text, p, nil)
			said := strings.ReplaceAll(text.String(), "up to date: vmimage/ubuntu-22, vmimage/other, vmimage/fetched\n", "")
			if as, before := seen[said]; before {
				fmt.Fprintf(&b, "## %s: as %s\n", state.name, as)
				continue
			}
			seen[said] = state.name
			fmt.Fprintf(&b, "## %s\n%s", state.name, said)
		}
	}
	golden.Compare(t, "lives/edits.golden", b.String())
}
