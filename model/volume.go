package model

import (
	"path"
	"strings"
	"time"
)

// Volume is a disk in the list of its storage.
type Volume struct {
	ID     string // "nfs:101/vm-101-disk-0.qcow2"
	Node   string // the node that was asked
	VMID   int    // the VMID in its name
	Parent string // the base volume that it is a linked clone of
	// Created is when it was made; zero: its storage doesn't report it.
	Created time.Time
}

// Volumes are the disks of storages, by storage; those of shared storages once. Storages that
// couldn't be read are missing.
type Volumes map[string][]Volume

// Of returns the volumes whose names have the VMID of a guest.
func (v Volumes) Of(vmid int) []Volume {
	var list []Volume
	for _, storage := range NamesOf(v) {
		for _, volume := range v[storage] {
			if volume.VMID == vmid {
				list = append(list, volume)
			}
		}
	}
	return list
}

// LinkedTo returns the volumes that are linked clones of a template's.
func (v Volumes) LinkedTo(vmid int, base func(volume string) bool) []Volume {
	var list []Volume
	for _, storage := range NamesOf(v) {
		for _, volume := range v[storage] {
			if volume.VMID != vmid && (base(volume.ID) || base(volume.Parent)) {
				list = append(list, volume)
			}
		}
	}
	return list
}

// VolumeName returns the last part of a volume id: the volume's name without that of its base.
func VolumeName(id string) string {
	_, name, _ := strings.Cut(id, ":")
	return path.Base(name)
}

// CloudInitVolume reports whether a volume is a drive that Proxmox fills from cloud-init options.
func CloudInitVolume(id string) bool {
	name := VolumeName(id)
	return strings.HasPrefix(name, "vm-") && strings.Contains(name, "-cloudinit")
}

// SameVolume reports whether two volume ids are of one volume: that of a linked clone may have its base in it or not.
func SameVolume(a, b string) bool {
	return a == b || a != "" && StorageOf(a) != "" && StorageOf(a) == StorageOf(b) && VolumeName(a) == VolumeName(b)
}
