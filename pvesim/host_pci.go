package pvesim

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// PCI devices of hosts. A VM reserves those that it gets before QEMU starts, and has them until it is
// off; of the devices that a mapping names for a node it takes the first that nobody has.

// pciID is a device with its function, as the world names it.
var pciID = regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]$`)

// checkPCI says what is wrong with the devices of a node.
func (k *worldCheck) checkPCI(n WorldNode) {
	for _, id := range sortedKeys(n.PCI) {
		if !pciID.MatchString(id) {
			k.addf("node %s: %q is no PCI device: write its domain, bus, device and function, as 0000:01:00.0", n.Name, id)
		}
		if !regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{4}$`).MatchString(n.PCI[id]) {
			k.addf("node %s: %q isn't the vendor and device of %s: write it as 10de:2204", n.Name, n.PCI[id], id)
		}
	}
}

// pciAt are the devices of a node that a path stands for: one function, or all of a device.
func (s *Sim) pciAt(node, path string) []string {
	if strings.Count(path, ":") == 1 {
		path = "0000:" + path
	}
	ids := slices.Sorted(maps.Keys(s.state.Nodes[node].PCI))
	return slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, path) })
}

// invalidPCI says why an entry of a mapping isn't what the node has; empty: it is.
func (s *Sim) invalidPCI(name, node, entry string) string {
	paths, _ := property(entry, "path", "")
	for path := range strings.SplitSeq(paths, ";") {
		if !strings.Contains(path, ".") {
			path += ".0" // all functions: the first one must be there
		}
		is, there := s.state.Nodes[node].PCI[path]
		if !there {
			return fmt.Sprintf("pci device '%s' not found", path)
		}
		if said, _ := property(entry, "id", ""); said != is {
			return fmt.Sprintf("'id' does not match for '%s' (%s != %s)", name, is, said)
		}
	}
	return ""
}

// hostPCI is a device that a VM asks for, with the devices of its node that can be it.
type hostPCI struct {
	option string
	any    [][]string
	shared bool // it gets a part of one, which others may have parts of, too
}

// parseHostPCI finds the devices that an option stands for.
func (s *Sim) parseHostPCI(node, option, value string) (hostPCI, error) {
	host, _ := property(value, "host", "host")
	name, mapped := property(value, "mapping", "host")
	mdev, _ := property(value, "mdev", "host")
	out := hostPCI{option: option, shared: mdev != ""}
	var paths []string
	switch {
	case host != "" && mapped:
		return out, die("Cannot set both 'host' and 'mapping'.")
	case mapped:
		entries := s.mappedOn("pci", name, node)
		if len(entries) == 0 {
			return out, die("PCI device mapping not found for '%s'", name)
		}
		for _, entry := range entries {
			if why := s.invalidPCI(name, node, entry); why != "" {
				return out, die("PCI device mapping invalid (hardware probably changed): %s", why)
			}
			path, _ := property(entry, "path", "")
			paths = append(paths, path)
		}
	case host == "":
		return out, die("Either 'host' or 'mapping' must be set.")
	default:
		paths = []string{host}
	}
	for _, list := range paths {
		var ids []string
		for path := range strings.SplitSeq(list, ";") {
			found := s.pciAt(node, path)
			if len(found) == 0 {
				return out, die("no PCI device found for '%s'", path)
			}
			ids = append(ids, found...)
		}
		out.any = append(out.any, ids)
	}
	return out, nil
}

// reservePCI gives a VM the devices that it asks for, or says which one it can't get.
func (s *Sim) reservePCI(vm *VM) error {
	var asked []hostPCI
	for i := range 16 {
		option := fmt.Sprintf("hostpci%d", i)
		if value := vm.Conf[option]; value != "" {
			d, err := s.parseHostPCI(vm.Node, option, value)
			if err != nil {
				return err
			}
			asked = append(asked, d)
		}
	}
	var got []string
	for _, d := range asked {
		if d.shared {
			continue
		}
		ids := d.any[0]
		if len(d.any) > 1 {
			free := func(ids []string) bool {
				return !slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(got, id) || s.pciUser(vm, id) != nil })
			}
			i := slices.IndexFunc(d.any, free)
			if i < 0 {
				return die("could not find a free device for '%s'", d.option)
			}
			ids = d.any[i]
		}
		for _, id := range ids {
			if slices.Contains(got, id) {
				return die("device '%s' assigned more than once", id)
			}
			got = append(got, id)
		}
	}
	for _, id := range got {
		if o := s.pciUser(vm, id); o != nil {
			return die("PCI device '%s' already in use by VMID '%d'", id, o.ID)
		}
	}
	vm.Devices = got
	return nil
}

// pciUser is another VM that has a device; nil: none.
func (s *Sim) pciUser(vm *VM, id string) *VM {
	for _, n := range slices.Sorted(maps.Keys(s.state.VMs)) {
		if o := s.state.VMs[n]; o != vm && o.Node == vm.Node && slices.Contains(o.Devices, id) {
			return o
		}
	}
	return nil
}
