package model

import (
	"path"
	"strings"
	"time"
)

// Volume is a disk as its storage shows it, whoever uses it.
type Volume struct {
	ID     string // "nfs:101/vm-101-disk-0.qcow2"
	Node   string // that was asked
	VMID   int    // that its name says
	Parent string // the base volume that it is a linked clone of
	// Created is when it was made; zero: its storage doesn't say.
	Created time.Time
}

// Volumes are the disks of storages, by storage, those that nodes share once. What couldn't be read
// isn't there.
type Volumes map[string][]Volume

// Of are the volumes whose names say that they are a guest's.
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

// LinkedTo are the volumes that are linked clones of a template's.
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

// VolumeName is the last part of a volume id: what a volume is called, without what it is a clone
// of.
func VolumeName(id string) string {
	_, name, _ := strings.Cut(id, ":")
	return path.Base(name)
}
