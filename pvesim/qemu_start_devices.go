package pvesim

import (
	"fmt"
	"slices"
	"strings"
)

// checkFirmware refuses firmware that the CPU can't run.
func checkFirmware(c Conf) error {
	model, _ := property(c["cpu"], "cputype", "cputype")
	narrow := []string{"486", "athlon", "coreduo", "kvm32", "pentium", "pentium2", "pentium3", "qemu32"}
	if c["bios"] == "ovmf" && slices.Contains(narrow, model) {
		return die("OVMF (UEFI) BIOS is not supported on 32-bit CPU types")
	}
	return nil
}

// checkHostDevices reserves the PCI devices of the host that the VM asks for, and refuses others:
// simulated hosts have none. USB devices may be plugged into the host later.
func (s *Sim) checkHostDevices(vm *VM) error {
	node, c := vm.Node, vm.Conf
	for i := range 14 {
		modern := c["ostype"] == "l26" || windowsVersion(c["ostype"]) > 7
		if i >= 5 && c[fmt.Sprintf("usb%d", i)] != "" && !modern {
			return die("using usb%d is only possible with machine type >= 7.1 and ostype l26 or windows > 7", i)
		}
	}
	if err := s.reservePCI(vm); err != nil {
		return err
	}
	for i := range 14 {
		if err := s.checkUSB(node, c[fmt.Sprintf("usb%d", i)]); err != nil {
			return err
		}
	}
	for _, kind := range []string{"serial", "parallel"} {
		for i := range 4 {
			if path := c[fmt.Sprintf("%s%d", kind, i)]; path != "" && path != "socket" {
				return die("no such %s device", kind)
			}
		}
	}
	return nil
}

// checkUSB makes sure that QEMU can be told which device is meant.
func (s *Sim) checkUSB(node, value string) error {
	if value == "" {
		return nil
	}
	host, _ := property(value, "host", "host")
	mapping, mapped := property(value, "mapping", "host")
	switch {
	case mapped && host == "":
		switch devices := s.mappedOn("usb", mapping, node); len(devices) {
		case 0:
			return die("USB device mapping not found for '%s'", mapping)
		case 1:
			return die("USB Mapping invalid (hardware probably changed): %s", missingUSB(devices[0]))
		}
		return die("More than one USB mapping per host not supported")
	case mapped || host == "":
		return die("no usb id or path given")
	}
	return nil
}

// mappedOn are the entries of a mapping for a node.
func (s *Sim) mappedOn(kind, id, node string) []string {
	if m := s.hardwareMaps(kind)[id]; m != nil {
		return m.onNode(node)
	}
	return nil
}

// checkMemory checks what memory hotplug and NUMA ask for on a host with so many NUMA nodes.
func checkMemory(c Conf, hosts int) error {
	mib := memoryOf(c) >> 20
	plug := hotplugFeatures(c)["memory"]
	if plug {
		if err := checkMemoryPlug(c, mib); err != nil {
			return err
		}
		mib = staticMemory
	}
	if truthy(c["hugepages"]) && !truthy(c["numa"]) {
		return die("numa needs to be enabled to use hugepages at /usr/share/perl5/PVE/QemuServer/Memory.pm line 388.")
	}
	for key := range c {
		if plug && strings.HasPrefix(key, "virtiofs") {
			return die("Memory hotplug does not work in combination with virtio-fs.")
		}
	}
	if !truthy(c["numa"]) {
		return nil
	}
	return checkNUMA(c, mib, hosts)
}

func checkMemoryPlug(c Conf, mib int64) error {
	if !truthy(c["numa"]) {
		return die("NUMA needs to be enabled for memory hotplug")
	}
	if most := maxMemory(c); mib > most {
		return die("Total memory is bigger than %dMB", most)
	}
	for i := range 8 {
		if c[fmt.Sprintf("numa%d", i)] != "" {
			return die("cannot enable memory hotplugging with custom NUMA topology")
		}
	}
	static := int64(staticMemory)
	if c["hugepages"] == "1024" {
		static *= int64(max(1, c.number("sockets", 1)))
	}
	if mib < static {
		return die("minimum memory must be %dMB", static)
	}
	return nil
}

// checkNUMA checks the nodes that a VM describes, on a host with so many.
func checkNUMA(c Conf, mib int64, hosts int) error {
	total := int64(0)
	for i := range 8 {
		value := c[fmt.Sprintf("numa%d", i)]
		if value == "" {
			continue
		}
		memory, _ := property(value, "memory", "")
		if !truthy(memory) {
			return die("missing NUMA node%d memory value", i)
		}
		total += int64(atoi(memory))
		nodes, named := property(value, "hostnodes", "")
		if !named {
			if truthy(c["hugepages"]) {
				return die("numa hostnodes need to be defined to use hugepages at /usr/share/perl5/PVE/QemuServer/Memory.pm line 430.")
			}
			continue
		}
		for _, n := range expandSets(nodes) {
			if atoi(n) >= hosts {
				return die("host NUMA node%s doesn't exist", n)
			}
		}
		if policy, _ := property(value, "policy", ""); policy == "" {
			return die("you need to define a policy for hostnode %s", strings.ReplaceAll(nodes, ";", ","))
		}
	}
	if total != 0 && total != mib {
		return die("total memory for NUMA nodes must be equal to vm static memory")
	}
	return nil
}

// expandSets lists the numbers of "0;2-3".
func expandSets(sets string) (numbers []string) {
	for part := range strings.SplitSeq(sets, ";") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		for n := atoi(from); n <= atoi(to); n++ {
			numbers = append(numbers, itoa(n))
		}
	}
	return numbers
}
