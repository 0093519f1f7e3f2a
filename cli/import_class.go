package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/prop"
)

// class writes the VMClass: what the virtual hardware is.
func (w *writer) class() *mapping {
	spec := &mapping{}
	sockets := w.number("sockets", 1)
	all := w.number("cores", 1) * sockets
	cpus := all
	if n := w.number("vcpus", 0); n > 0 && n < all {
		cpus = n
		spec.put("cpus", cpus).put("maxCPUs", all)
	} else {
		spec.put("cpus", cpus)
	}
	if sockets > 1 {
		spec.put("sockets", sockets)
	}
	memory := w.number("memory", 512)
	spec.put("memory", quantity(int64(memory)<<20))
	if balloon := w.g.Config.Options["balloon"]; balloon != "" && w.says("VMClass", "spec.minMemory", "balloon") {
		w.take("balloon")
		n, _ := strconv.Atoi(balloon)
		spec.put("minMemory", quantity(int64(n)<<20))
	}
	w.hotplug(spec, cpus < all)
	spec.put("spec", w.board())
	name := objectName(fmt.Sprintf("%dcpu-%s", cpus, strings.ToLower(quantity(int64(memory)<<20))))
	return w.docs.share("VMClass", name, spec)
}

// hotplug is said by the class where its fields mean the same.
func (w *writer) hotplug(spec *mapping, cpu bool) {
	o := w.g.Config.Options
	list := "network,disk,usb"
	if cpu {
		list += ",cpu"
	}
	memory := prop.Canonical("hotplug", list+",memory")
	switch {
	case o["hotplug"] == memory && o["numa"] == "1" && w.says("VMClass", "spec.memory", "hotplugged memory"):
		spec.put("hotplugMemory", true)
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
func (w *writer) board() *mapping {
	o, m := w.g.Config.Options, &mapping{}
	efi, ok := w.g.Config.DiskAt("efidisk0")
	uefi := ok && o["bios"] == "ovmf" && efi.Options["efitype"] == "4m"
	machine := w.take("machine")
	if uefi && machine == "" {
		machine = "i440fx" // with UEFI, a class has q35 otherwise
	}
	m.put("machine", machine)
	if uefi {
		w.take("bios")
		m.put("bios", "uefi").put("secureBoot", efi.Options["pre-enrolled-keys"] == "1")
	}
	if tpm, ok := w.g.Config.DiskAt("tpmstate0"); ok && tpm.Options["version"] == "v2.0" {
		m.put("tpm", true)
	}
	cpu, controller := w.take("cpu"), w.take("scsihw")
	if first, _, _ := strings.Cut(cpu, ","); strings.Contains(first, "=") {
		cpu = "kvm64," + cpu // Proxmox wants to be told, though it is the default
	}
	if !w.linked {
		cpu, controller = cmp.Or(cpu, "kvm64"), cmp.Or(controller, "lsi")
	}
	m.put("cpuType", cpu).put("scsiController", controller).put("vga", w.take("vga"))
	if o["serial0"] == "socket" {
		w.take("serial0")
		m.put("serial", true)
	}
	return m
}
