package target

import "strings"

// IsVM reports whether objects of a kind are machines.
func IsVM(kind string) bool { return kind == "VirtualMachine" || kind == "VMClone" }

// Kind returns the kind of things that a word stands for; empty: none that we know.
func Kind(word string) string {
	switch strings.ToLower(word) {
	case "vm", "vms", "virtualmachine", "virtualmachines", "clone", "vmclone", "vmclones":
		return "vm"
	case "image", "images", "vmimage", "vmimages", "template":
		return "image"
	case "snapshot", "snapshots", "vmsnapshot", "vmsnapshots":
		return "snapshot"
	case "node", "nodes":
		return "node"
	}
	return ""
}
