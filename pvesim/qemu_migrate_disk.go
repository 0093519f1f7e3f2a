package pvesim

import (
	"fmt"
	"slices"
	"strings"
)

// scanLocal finds the local volumes that must be copied, and what can't be.
func (t *task) scanLocal(vm *VM, job *migration) ([]*volumeRef, error) {
	var list []*volumeRef
	bad := map[string]string{}
	for _, r := range vm.volumeRefs() {
		if r.volid == "none" || strings.HasPrefix(r.volid, "/") && r.shared {
			continue
		}
		if r.volid == "cdrom" {
			bad[""] = "can't migrate local cdrom drive"
			continue
		}
		storage, _, ok := splitVolID(r.volid)
		if !ok {
			list, bad[r.volid] = append(list, r), "local file/device"
			continue
		}
		st := t.state.Storages[storage]
		if st.Shared() {
			continue
		}
		list = append(list, r)
		if why := t.cantMove(vm, st, r); why != "" {
			bad[r.volid] = why
		} else if vm.Run != nil && r.attached && !r.tpm && !r.cloudInit && !job.withDisks {
			bad[r.volid] = "can't live migrate attached local disks without with-local-disks option"
		}
	}
	slices.SortFunc(list, func(a, b *volumeRef) int { return strings.Compare(a.volid, b.volid) })
	for _, r := range list {
		t.say("%s", r.found())
	}
	for _, volid := range sortedKeys(bad) {
		if volid == "" {
			t.say("%s", bad[volid])
			continue
		}
		t.say("can't migrate local disk '%s': %s", volid, bad[volid])
	}
	if len(bad) > 0 {
		return nil, die("can't migrate VM - check log")
	}
	for _, r := range list {
		n, err := t.parseVolID(r.volid)
		if err != nil {
			return nil, err
		}
		st := t.state.Storages[n.storage]
		if !slices.Contains([]string{"dir", "btrfs", "zfspool", "lvmthin", "lvm"}, st.Type) {
			return nil, die("can't migrate '%s' - storage type '%s' not supported", r.volid, st.Type)
		}
		if n.base != "" {
			return nil, die("can't migrate '%s' as it's a clone of '%s' at /usr/share/perl5/PVE/QemuMigrate.pm line 585.", r.volid, n.base)
		}
	}
	return list, nil
}

// found is how the log names a local volume.
func (r *volumeRef) found() string {
	switch {
	case r.tpm || r.cdrom && r.cloudInit:
		return fmt.Sprintf("found generated disk '%s' (in current VM config)", r.volid)
	case r.attached:
		return fmt.Sprintf("found local disk '%s' (attached)", r.volid)
	case r.unused:
		return fmt.Sprintf("found local disk '%s' (unused)", r.volid)
	case len(r.snaps) > 0:
		return fmt.Sprintf("found local disk '%s' (referenced by snapshot(s))", r.volid)
	case r.pending:
		return fmt.Sprintf("found local disk '%s' (pending change)", r.volid)
	}
	return fmt.Sprintf("found local disk '%s'", r.volid)
}

// cantMove says why a local volume can't be copied to another node.
func (t *task) cantMove(vm *VM, st *Storage, r *volumeRef) string {
	n, err := t.parseVolID(r.volid)
	if err != nil {
		return err.Error()
	}
	v, sp := t.volume(vm.Node, r.volid)
	switch {
	case v == nil:
		return strings.TrimRight(t.missingVolume(r.volid).Error(), "\n")
	case r.cdrom && r.cloudInit:
		return ""
	case r.cdrom:
		return "local cdrom image"
	case n.vmid != vm.ID:
		return fmt.Sprintf("owned by other VM (owner = VM %d)", n.vmid)
	case r.vmstate:
		return ""
	case len(r.snaps) > 0 && vm.Run != nil:
		return "online storage migration not possible if non-replicated snapshot exists"
	case len(r.snaps) > 0 && st.Type != "zfspool" && !(st.Type == "btrfs" && n.format == "raw") && (n.format != "qcow2" || st.chained()):
		return "non-migratable snapshot exists"
	case n.isBase && sp.children[n.key()] > 0:
		return "referenced by linked clone(s)"
	}
	return ""
}

// sendVolume copies a local volume to the target. Its name is kept if that
// is free.
func (t *task) sendVolume(vm *VM, job *migration, r *volumeRef, mirror bool) error {
	n, err := t.parseVolID(r.volid)
	if err != nil {
		return err
	}
	from := t.state.Storages[n.storage]
	to, err := t.activate(job.target, job.storages.target(n.storage))
	if err != nil {
		return err
	}
	format := n.format
	if !slices.Contains(to.validFormats(), format) {
		if !mirror && format != "raw" {
			return die("cannot migrate from storage type '%s' to '%s'", from.Type, to.Type)
		}
		format = to.validFormats()[0]
	}
	unlock, err := t.lockStorage(job.target, to.ID)
	if err != nil {
		return err
	}
	defer unlock()
	src, _ := t.volume(vm.Node, r.volid)
	if src == nil {
		return t.missingVolume(r.volid)
	}
	sp := t.space(to.ID, job.target)
	name := to.nameFor(n, format)
	if sp.Volumes[name] != nil {
		if r.vmstate || r.cloudInit {
			return die("volume '%s:%s' already exists", to.ID, name)
		}
		free, err := to.freeName(sp, vm.ID, format)
		if err != nil {
			return err
		}
		name = free
		if to.plugin().files {
			name = itoa(vm.ID) + "/" + free
		}
	}
	v := *src
	v.Name, v.Format, v.CTime = name, format, t.now()
	v.Used = to.written(format, v.Size, min(src.Used, v.Size))
	v.Snaps = slices.Clone(src.Snaps)
	target, err := to.parseName(name)
	if err != nil {
		return err
	}
	if v.Used > sp.Free() {
		return to.roomFor(sp, target, v.Used)
	}
	sp.put(&v)
	unlock()
	volid := to.ID + ":" + v.volname()
	job.moved[r.volid] = volid
	if v.Parent != "" { // the copy must stand without its base
		v.Disk = ""
		if err := t.swapDisk(src, &v); err != nil {
			return err
		}
	}
	if mirror {
		t.say("%s: start migration to nbd:unix:/run/qemu-server/%d_nbd.migrate:exportname=drive-%s", r.key, vm.ID, r.key)
	}
	t.sleep(t.slowed(perGiB(t.world.Timing.MigratePerGiB, v.Size), from.ID, to.ID))
	t.say("volume '%s' is '%s' on the target", r.volid, volid)
	if copied := sp.Volumes[v.Name]; copied != nil {
		copied.Moved = append(slices.Clip(copied.Moved), n.storage+":"+src.Name)
	}
	return nil
}

// nameFor is the name of a volume on another storage.
func (s *Storage) nameFor(n volName, format string) string {
	name := n.name
	for _, ext := range []string{".raw", ".qcow2", ".vmdk"} {
		name = strings.TrimSuffix(name, ext)
	}
	if s.plugin().files {
		return fmt.Sprintf("%d/%s.%s", n.vmid, name, format)
	}
	return name
}

// renameVolume puts another volume into all options that name the old one.
func (v *VM) renameVolume(old, now string) {
	confs := []Conf{v.Conf, v.Pending}
	for _, snap := range v.Snaps {
		confs = append(confs, snap.Conf)
	}
	for _, c := range confs {
		for key, value := range c {
			if key != "vmstate" && !isDriveKey[key] && !family(key, "unused") {
				continue
			}
			if d := parseDrive(key, value); d.volume == old {
				d.volume = now
				c[key] = d.String()
			}
		}
	}
	if saved := v.Saved[old]; saved != nil && old != now {
		v.Saved[now] = saved
		delete(v.Saved, old)
	}
}
