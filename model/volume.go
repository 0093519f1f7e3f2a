package model

import (
	"path"
	"slices"
	"strings"
)

// Volume is a disk as its storage shows it, whoever uses it.
type Volume struct {
	ID     string // "nfs:101/vm-101-disk-0.qcow2"
	Node   string // that was asked
	VMID   int    // that its name says
	Parent string // the base volume that it is a linked clone of
}

// Volumes are the disks of storages, by storage and node; those that nodes share are under the node
// "". What couldn't be read isn't there.
type Volumes map[string]map[string][]Volume

// On are the volumes that a node has on a storage; false: they weren't read.
func (v Volumes) On(storage, node string) ([]Volume, bool) {
	list, read := v[storage][node]
	if !read {
		list, read = v[storage][""]
	}
	return list, read
}

// Of are the volumes whose names say that they are a guest's.
func (v Volumes) Of(vmid int) []Volume {
	var list []Volume
	for _, storage := range NamesOf(v) {
		for _, node := range NamesOf(v[storage]) {
			for _, volume := range v[storage][node] {
				if volume.VMID == vmid {
					list = append(list, volume)
				}
			}
		}
	}
	return list
}

// LinkedTo are the volumes that are linked clones of a template's.
func (v Volumes) LinkedTo(vmid int, base func(volume string) bool) []Volume {
	var list []Volume
	for _, storage := range NamesOf(v) {
		for _, node := range NamesOf(v[storage]) {
			for _, volume := range v[storage][node] {
				if volume.VMID != vmid && (base(volume.ID) || base(volume.Parent)) {
					list = append(list, volume)
				}
			}
		}
	}
	return list
}

// VolumeName is the last part of a volume id: what a volume is called, without what it is a clone
// of.
func VolumeName(id string) string {
	_, name, _ := strings.Cut(id, ":")
	return path.Base(name)
}

// Missing are the slots of a guest's disks that aren't on their storages.
func (v Volumes) Missing(c *Config, node string) []string {
	var slots []string
	for _, d := range c.Disks {
		volumes, read := v.On(d.Storage, node)
		if !read || d.CDROM || d.CloudInit || d.Storage == "" {
			continue
		}
		name := VolumeName(d.Volume)
		if !slices.ContainsFunc(volumes, func(o Volume) bool { return VolumeName(o.ID) == name }) {
			slots = append(slots, d.Slot)
		}
	}
	return slots
}
