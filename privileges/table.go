package privileges

import (
	"strings"

	"github.com/proxplane/proxplane/model"
)

// This file is the table of what Proxmox checks in code, where its schema says
// only "all users". It is the same in 8.4 and 9.2, but for what the schema knows.

// optionPrivs says which privilege on the guest it takes to set or delete an
// option. What isn't here is for root@pam alone. Families have a [n].
var optionPrivs = byOption(map[string]string{
	"VM.Config.CPU":    "cores cpu cpulimit cpuunits numa numa[n] smp sockets vcpus",
	"VM.Config.Memory": "memory balloon shares allow-ksm",
	"VM.Config.HWType": "acpi audio[n] hotplug kvm machine rng[n] scsihw smbios1 tablet vga watchdog",
	"VM.Config.Options": "agent autostart bios description keyboard localtime migrate_downtime migrate_speed name " +
		"onboot ostype protection reboot startdate startup tags tdf template",
	"VM.Config.Disk":    "boot bootdisk vmstatestorage virtiofs[n]",
	"VM.Config.Network": "net[n]",
	"VM.PowerMgmt":      "freeze",
})

// cloudInitOptions take one of cloudInitPrivs on the guest.
var (
	cloudInitOptions = strings.Fields("cicustom cipassword citype ciupgrade ciuser ipconfig[n] nameserver searchdomain sshkeys")
	cloudInitPrivs   = []string{"VM.Config.Cloudinit", "VM.Config.Network"}
)

// drivePrivs says what it takes on the guest to change a drive of a kind. A new
// guest's drives take none of this.
var drivePrivs = map[driveKind][]string{
	disk:           {"VM.Config.Disk"},
	cdrom:          {"VM.Config.CDROM"},
	cloudInitDrive: {"VM.Config.CDROM", "VM.Config.Cloudinit"},
}

// What it takes on a storage.
const (
	newDiskPriv    = "Datastore.AllocateSpace" // to make, copy, grow or remove a disk
	removeFilePriv = "Datastore.Allocate"      // to remove any other file, whoever put it there
	seeStoragePriv = "Datastore.Audit"         // to be told that it exists, and its space
)

// useFilePrivs: one of them is enough to use an ISO or import image.
var useFilePrivs = []string{"Datastore.Audit", "Datastore.AllocateSpace", "Datastore.Allocate"}

// privWeight says how much a privilege allows, where Proxmox is content with one
// of several: the least is taken. Others weigh 10.
var privWeight = map[string]int{
	"Datastore.Audit":            1,
	"Datastore.AllocateSpace":    5,
	"Datastore.Allocate":         40,
	"VM.Config.Cloudinit":        2,
	"VM.Config.CDROM":            2,
	"VM.Snapshot.Rollback":       5,
	"VM.GuestAgent.Audit":        1,
	"VM.GuestAgent.Unrestricted": 50,
	"Permissions.Modify":         90,
	"Sys.Modify":                 40,
	"Sys.AccessNetwork":          5,
	"Sys.Audit":                  1,
}

// rootReasons say why an option is for root@pam alone, for people who ask.
var rootReasons = map[string]string{
	"args":       "its text becomes part of QEMU's command line, which runs as root",
	"hookscript": "the script runs on the node as root",
	"lock":       "it switches off Proxmox' own protection",
	"hostpci[n]": "a device of the host is named directly; use a mapping (pciMappings), which takes Mapping.Use only",
	"usb[n]":     "a device of the host is named directly; use a mapping, which takes Mapping.Use only",
	"serial[n]":  "it is a device of the host; a socket is for everybody",
	"romfile":    "a file of the host is loaded into the device",
}

const otherRootReason = "Proxmox lets nobody else set it"

func byOption(table map[string]string) map[string]string {
	out := map[string]string{}
	for priv, options := range table {
		for option := range strings.FieldsSeq(options) {
			out[option] = priv
		}
	}
	return out
}

// family returns the name of an option in the table: net0 is net[n].
func family(key string) string {
	if _, whole := optionPrivs[key]; whole {
		return key
	}
	if name := model.SlotFamily(key); name != "" {
		return name + "[n]"
	}
	return key
}
