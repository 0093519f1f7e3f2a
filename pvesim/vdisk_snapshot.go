package pvesim

import (
	"context"
	"slices"
	"strings"
)

// storageOf is the storage that a volume id names.
func storageOf(volid string) string {
	storage, _, _ := strings.Cut(volid, ":")
	return storage
}

// formatOf reads the format of a disk off its name.
func formatOf(volid string) string {
	if i := strings.LastIndexByte(volid, '.'); i >= 0 {
		switch ext := volid[i+1:]; ext {
		case "qcow2", "vmdk", "subvol":
			return ext
		}
	}
	return "raw"
}

// snap finds a snapshot of the volume.
func (v *Volume) snap(name string) (VolSnap, bool) {
	if i := v.snapIndex(name); i >= 0 {
		return v.Snaps[i], true
	}
	return VolSnap{}, false
}

func (v *Volume) snapIndex(name string) int {
	return slices.IndexFunc(v.Snaps, func(s VolSnap) bool { return s.Name == name })
}

// findDisk finds a volume that something is about to be done with.
func (s *Sim) findDisk(node, volid string) (*Storage, volName, *Volume, *Space, error) {
	n, err := s.parseVolID(volid)
	if err != nil {
		return nil, n, nil, nil, err
	}
	st := s.state.Storages[n.storage]
	v, sp := s.volume(node, volid)
	if v == nil {
		return nil, n, nil, nil, st.absent(n)
	}
	return st, n, v, sp, nil
}

// resizeVolume sets the size of a disk; Proxmox itself only ever grows them.
func (a *actor) resizeVolume(node, volid string, size int64) error {
	st, n, v, sp, err := a.findDisk(node, volid)
	if err != nil {
		return err
	}
	if st.plugin().files && n.format != "raw" && n.format != "qcow2" {
		return die("can't resize this image format")
	}
	size = st.rounded(size)
	used := v.Used
	if st.thick(v.Format) {
		used = size
	}
	if used-v.Used > sp.Free() {
		return st.noRoomToGrow(n, sp, used-v.Used)
	}
	err = a.withDisk(v, func(ctx context.Context, disk string) error { return a.machines.ResizeDisk(ctx, disk, size) })
	if err != nil {
		return err
	}
	sp.grow(v, size, used)
	return nil
}

// snapshotVolume takes a snapshot of a disk.
func (a *actor) snapshotVolume(node, volid, snap string) error {
	st, n, v, _, err := a.findDisk(node, volid)
	if err != nil {
		return err
	}
	if !slices.Contains(st.features()["snapshot"]["current"], n.format) {
		if st.Type == "lvm" {
			return die("can't snapshot '%s' volume", n.format)
		}
		return die("can't snapshot this image format")
	}
	if v.snapIndex(snap) >= 0 {
		return st.snapExists(n, snap)
	}
	if a.machines != nil {
		if _, err := a.diskOf(v); err != nil {
			return err
		}
	}
	err = a.withDisk(v, func(ctx context.Context, disk string) error { return a.machines.SnapshotDisk(ctx, disk, snap) })
	if err != nil {
		return err
	}
	v.Snaps = append(v.Snaps, VolSnap{Name: snap, Size: v.Size, Used: v.Used, System: v.System})
	return nil
}

// deleteVolumeSnapshot removes a snapshot of a disk.
func (a *actor) deleteVolumeSnapshot(node, volid, snap string) error {
	st, n, v, _, err := a.findDisk(node, volid)
	if err != nil {
		return err
	}
	if v.snapIndex(snap) < 0 {
		return st.snapMissing(n, "delete", snap)
	}
	err = a.withDisk(v, func(ctx context.Context, disk string) error { return a.machines.DropDiskSnapshot(ctx, disk, snap) })
	if err != nil {
		return err
	}
	v.Snaps = slices.DeleteFunc(v.Snaps, func(s VolSnap) bool { return s.Name == snap })
	return nil
}

// rollbackVolume takes a disk back to a snapshot.
func (a *actor) rollbackVolume(node, volid, snap string) error {
	if err := a.canRollback(node, volid, snap); err != nil {
		return err
	}
	st, n, v, sp, err := a.findDisk(node, volid)
	if err != nil {
		return err
	}
	old, ok := v.snap(snap)
	if !ok {
		return st.snapMissing(n, "rollback", snap)
	}
	err = a.withDisk(v, func(ctx context.Context, disk string) error { return a.machines.RollBackDisk(ctx, disk, snap) })
	if err != nil {
		return err
	}
	used := old.Used
	if st.thick(v.Format) {
		used = old.Size
	}
	sp.grow(v, old.Size, used)
	v.System = old.System
	return nil
}

// canRollback checks what must hold before anything of a guest is rolled
// back: on ZFS and with chains of snapshots only the last one will do.
func (s *Sim) canRollback(node, volid, snap string) error {
	st, n, v, _, err := s.findDisk(node, volid)
	if err != nil {
		return err
	}
	zfs := st.Type == "zfspool" || st.Type == "zfs"
	if !zfs && st.Type != "lvm" && !st.chained() {
		return nil
	}
	if st.Type == "lvm" && n.format != "qcow2" {
		return die("can't rollback snapshot for '%s' volume", n.format)
	}
	name := n.volname
	if zfs {
		name = n.String()
	}
	i := v.snapIndex(snap)
	if i < 0 {
		return die("can't rollback, snapshot '%s' does not exist on '%s'", snap, name)
	}
	if i != len(v.Snaps)-1 {
		return die("can't rollback, '%s' is not most recent snapshot on '%s'", snap, name)
	}
	return nil
}
