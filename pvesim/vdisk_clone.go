package pvesim

import "strings"

// linkedClone makes a volume for another guest that stands on a base volume
// or, where the storage can do that, on a snapshot.
func (a *actor) linkedClone(node, volid string, newVMID int, snap string) (string, error) {
	storage, unlock, err := a.lockVolume(node, volid)
	if err != nil {
		return "", err
	}
	defer unlock()
	a.sleep(a.slowed(a.world.Timing.Alloc.D()+a.world.Timing.Link.D(), storage))
	n, err := a.parseVolID(volid)
	if err != nil {
		return "", err
	}
	st := a.state.Storages[storage]
	if err := st.canClone(n, snap); err != nil {
		return "", err
	}
	sp := a.space(storage, node)
	src := sp.Volumes[n.key()]
	if src == nil {
		return "", st.cloneOfNothing(n, snap)
	}
	size, system := src.Size, src.System
	if snap != "" {
		s, ok := src.snap(snap)
		if !ok {
			return "", st.cloneOfNothing(n, snap)
		}
		size, system = s.Size, s.System
	}
	format := n.format
	if st.plugin().files && st.Type != "btrfs" {
		format = "qcow2"
	}
	name, err := st.freeName(sp, newVMID, format)
	if err != nil {
		return "", err
	}
	v := &Volume{Name: name, Content: "images", Format: format, Size: size, VMID: newVMID, CTime: a.now(), System: system}
	if st.plugin().files {
		v.Name = itoa(newVMID) + "/" + name
	}
	if st.tracksBase(snap) {
		v.Parent = n.key()
	}
	if st.plugin().files && format == "qcow2" {
		v.Used = sectorMeta
	}
	if v.Used > sp.Free() {
		return "", st.roomFor(sp, n, v.Used)
	}
	sp.put(v)
	if err := a.copyBytes(v, src, snap, true); err != nil {
		a.forget(sp, v)
		return "", err
	}
	return storage + ":" + v.volname(), nil
}

// canClone refuses linked clones of what isn't fit for them.
func (s *Storage) canClone(n volName, snap string) error {
	switch {
	case s.Type == "lvm":
		return die("can't clone images in lvm storage")
	case s.Type == "rbd":
		if !n.isBase && snap == "" {
			return die("%s is not a base image and snapname is not provided", n.volname)
		}
	case s.Type == "lvmthin":
		if !n.isBase && snap == "" {
			return die("clone_image only works on base images")
		}
	case s.Type == "zfspool" || s.Type == "zfs":
		if !n.isBase {
			return die("clone_image only works on base images")
		}
	case s.Type == "btrfs" && (n.format == "raw" || n.format == "subvol"):
	case n.kind != "images":
		return die("clone_image on wrong vtype '%s'", n.kind)
	case snap != "":
		return die("this storage type does not support clone_image on snapshot")
	case n.format == "subvol":
		return die("this storage type does not support clone_image on subvolumes")
	case !n.isBase:
		return die("clone_image only works on base images")
	}
	return nil
}

// tracksBase reports whether the name of a linked clone says what it stands on.
func (s *Storage) tracksBase(snap string) bool {
	switch s.Type {
	case "lvmthin", "btrfs":
		return false
	case "rbd":
		return snap == ""
	}
	return true
}

// makeBase turns a disk into a base of linked clones: vm-… becomes base-….
func (a *actor) makeBase(node, volid string) (string, error) {
	storage, unlock, err := a.lockVolume(node, volid)
	if err != nil {
		return "", err
	}
	defer unlock()
	a.sleep(a.slowed(a.world.Timing.Alloc.D(), storage))
	return a.makeBaseNow(node, volid)
}

// makeBaseNow does so without taking a lock or time.
func (a *actor) makeBaseNow(node, volid string) (string, error) {
	n, err := a.parseVolID(volid)
	if err != nil {
		return "", err
	}
	storage, volname := n.storage, n.volname
	st := a.state.Storages[storage]
	switch {
	case st.Type == "lvm":
		return "", die("can't create base images in lvm storage")
	case n.kind != "images":
		return "", die("create_base on wrong vtype '%s'", n.kind)
	case n.isBase:
		return "", die("create_base not possible with base image")
	}
	sp := a.space(storage, node)
	v := sp.Volumes[n.key()]
	if v == nil {
		return "", st.baseOfNothing(n)
	}
	if st.Type == "lvmthin" && len(v.Snaps) > 0 {
		return "", die("unable to create base volume - found snaphost 'snap_%s_%s'", volname, v.Snaps[0].Name)
	}
	dir, file := "", v.Name
	if i := strings.LastIndexByte(file, '/'); i >= 0 {
		dir, file = file[:i+1], file[i+1:]
	}
	to := dir + strings.Replace(strings.Replace(file, "subvol-", "basevol-", 1), "vm-", "base-", 1)
	if st.plugin().files {
		to = dir + "base-" + strings.TrimPrefix(file, "vm-")
		if !strings.HasPrefix(file, "vm-") {
			to = v.Name
		}
		if to != v.Name && sp.Volumes[to] != nil {
			base, _ := st.parseName(to)
			return "", die("file '%s' already exists", st.pathOf(base))
		}
	}
	sp.drop(v.Name)
	v.Name = to
	sp.put(v)
	return storage + ":" + v.volname(), nil
}
