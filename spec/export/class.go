package export

import (
	"cmp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/spec"
)

const mib = 1 << 20

// class is what the virtual hardware is.
func (w *writer) class() *spec.Class {
	c := &spec.Class{}
	sockets := w.number("sockets", 1)
	all := w.number("cores", 1) * sockets
	c.CPUs = all
	if n := w.number("vcpus", 0); n > 0 && n < all {
		c.CPUs, c.MaxCPUs = n, all
	}
	if sockets > 1 {
		c.Sockets = sockets
	}
	memory := resource.NewQuantity(int64(w.number("memory", 512))*mib, resource.BinarySI)
	c.Memory = *memory
	if balloon := w.g.Config.Options["balloon"]; balloon != "" && w.says("class.minMemory", "balloon") {
		w.take("balloon")
		n, _ := strconv.Atoi(balloon)
		c.MinMemory = resource.NewQuantity(int64(n)*mib, resource.BinarySI)
	}
	w.hotplug(c)
	w.use(c)
	w.board(c)
	c.Name = Name(strconv.Itoa(c.CPUs) + "cpu-" + memory.String())
	return c
}

// use is how much of its node's CPUs the guest gets, and which.
func (w *writer) use(c *spec.Class) {
	if w.says("class.cpu.limit", "cpulimit") {
		c.CPU.Limit = w.take("cpulimit")
	}
	if w.says("class.cpu.units", "cpuunits") {
		c.CPU.Units = w.number("cpuunits", 0)
	}
	if w.says("class.cpu.affinity", "affinity") {
		c.CPU.Affinity = w.take("affinity")
	}
}

// hotplug is said by the class where its fields mean the same.
func (w *writer) hotplug(c *spec.Class) {
	o, cpu := w.g.Config.Options, c.MaxCPUs > 0
	list := "network,disk,usb"
	if cpu {
		list += ",cpu"
	}
	memory := prop.Canonical("hotplug", list+",memory")
	switch {
	case o["hotplug"] == memory && o["numa"] == "1" && w.says("class.memory", "hotplugged memory"):
		c.HotplugMemory = true
		w.take("hotplug")
		w.take("numa")
	case cpu && o["hotplug"] == prop.Canonical("hotplug", list):
		w.take("hotplug")
	case cpu:
		w.hotplugs = cmp.Or(o["hotplug"], "network,disk,usb")
		w.take("hotplug")
	}
}

// board are the settings of the machine. What a new machine without an image
// gets is always said, also where it is Proxmox' default.
func (w *writer) board(c *spec.Class) {
	o := w.g.Config.Options
	efi, ok := w.g.Config.DiskAt("efidisk0")
	uefi := ok && o["bios"] == "ovmf" && efi.Options["efitype"] == "4m"
	c.Machine = w.take("machine")
	if uefi && c.Machine == "" {
		c.Machine = "i440fx" // with UEFI, a class has q35 otherwise
	}
	if uefi {
		w.take("bios")
		c.BIOS, c.SecureBoot = "uefi", efi.Options["pre-enrolled-keys"] == "1"
	}
	tpm, ok := w.g.Config.DiskAt("tpmstate0")
	c.TPM = ok && tpm.Options["version"] == "v2.0"
	c.CPUType, c.SCSIController, c.VGA = w.take("cpu"), w.take("scsihw"), w.take("vga")
	if first, _, _ := strings.Cut(c.CPUType, ","); strings.Contains(first, "=") {
		c.CPUType = "kvm64," + c.CPUType // Proxmox wants to be told, though it is the default
	}
	if !w.linked {
		c.CPUType, c.SCSIController = cmp.Or(c.CPUType, "kvm64"), cmp.Or(c.SCSIController, "lsi")
	}
	if o["serial0"] == "socket" {
		w.take("serial0")
		c.Serial = true
	}
}
