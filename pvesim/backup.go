package pvesim

import (
	"maps"
	"slices"
	"strings"
)

// Backup is what a backup of a VM holds: its config without snapshots and
// pending changes, and what was on its disks.
type Backup struct {
	Conf  Conf                  `json:"conf"`
	Disks map[string]BackupDisk `json:"disks"` // by drive
}

// BackupDisk is a disk in a backup.
type BackupDisk struct {
	Storage string `json:"storage"`
	Format  string `json:"format"`
	Size    int64  `json:"size"`
	Data    int64  `json:"data"` // what of it was in use
	System  System `json:"system,omitempty"`
}

// vzdump starts a backup of guests on a node.
func vzdump(c *call) (any, error) {
	node := c.node()
	for _, id := range c.params.List("vmid") {
		if err := c.need(c.who, "/vms/"+id, "VM.Backup"); err != nil {
			return nil, err
		}
	}
	ids := c.toBackUp(node)
	if len(ids) == 0 && !c.params.Bool("all") {
		return "OK", nil // the guests are on other nodes
	}
	storage := c.params.Str("storage")
	if storage != "" {
		if err := c.need(c.who, "/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
			return nil, err
		}
	} else {
		storage = "local"
	}
	id := ""
	if len(ids) == 1 {
		id = itoa(ids[0])
	}
	ext := map[string]string{"1": ".lzo", "gzip": ".gz", "lzo": ".lzo", "zstd": ".zst"}[c.params.Str("compress")]
	return c.fork(node, "vzdump", id, c.who, func(t *task) error {
		if st := t.state.Storages[storage]; st == nil {
			return die("could not get storage information for '%s': storage '%s' does not exist", storage, storage)
		} else if !st.HasContent("backup") {
			return die("could not get storage information for '%s': can't use storage '%s' for backups - wrong content type", storage, storage)
		}
		failed := false
		for _, vmid := range ids {
			if err := t.trapAs("interrupted by signal", func() error { return t.backUp(node, vmid, storage, ext) }); err != nil {
				failed = true
				t.logf("ERROR: Backup of VM %d failed - %s", vmid, strings.TrimSuffix(perlText(err), "\n"))
			}
		}
		if failed {
			return die("job errors")
		}
		t.logf("INFO: Backup job finished successfully")
		return nil
	}), nil
}

// toBackUp are the guests that a request asks for, those on the node and those
// that are nowhere.
func (c *call) toBackUp(node string) []int {
	var ids []int
	here := func(vmid int) bool { vm := c.state.VMs[vmid]; return vm == nil || vm.Node == node }
	pool := c.state.Pools[c.params.Str("pool")]
	switch {
	case c.params.Bool("all"):
		ids = slices.Sorted(maps.Keys(c.state.VMs))
	case pool != nil:
		ids = slices.Sorted(maps.Keys(pool.VMs))
	default:
		for _, id := range c.params.List("vmid") {
			ids = append(ids, atoi(id))
		}
	}
	return slices.DeleteFunc(ids, func(vmid int) bool { return !here(vmid) })
}

// backUp writes one guest to a file. It is locked meanwhile.
func (t *task) backUp(node string, vmid int, storage, ext string) error {
	vm := t.state.VMs[vmid]
	if vm == nil {
		return die("unable to find VM '%d'", vmid)
	}
	t.logf("INFO: Starting Backup of VM %d (qemu)", vmid)
	lock := func(now bool) error {
		return t.lockedVM(node, vmid, func(vm *VM) error {
			if !now {
				delete(vm.Conf, "lock")
			} else if err := vm.checkLock(); err != nil {
				return err
			} else {
				vm.Conf["lock"] = "backup"
			}
			vm.touch()
			t.dirty()
			return nil
		})
	}
	if err := lock(true); err != nil {
		return err
	}
	err := t.trapAs("interrupted by signal", func() error { return t.dump(vm, storage, ext) })
	if unlocked := lock(false); err == nil {
		err = unlocked
	}
	return err
}

func (t *task) dump(vm *VM, storage, ext string) error {
	b := &Backup{Conf: vm.Conf.clone(), Disks: map[string]BackupDisk{}}
	maps.DeleteFunc(b.Conf, func(k, _ string) bool { return k == "lock" || k == "parent" || family(k, "unused") })
	now := t.now()
	v := &Volume{
		Name:    "backup/vzdump-qemu-" + itoa(vm.ID) + "-" + now.Format("2006_01_02-15_04_05") + ".vma" + ext,
		Content: "backup", Format: "vma" + ext, VMID: vm.ID, CTime: now, Backup: b, Size: 4 << 10,
	}
	storages := []string{storage}
	for _, d := range b.Conf.drives() {
		if d.cdrom() || !d.onStorage() {
			continue
		}
		if d.opt("backup") == "0" {
			t.logf("INFO: exclude disk '%s' '%s' (backup=no)", d.key, d.volume)
			continue
		}
		disk, _ := t.volume(vm.Node, d.volume)
		if disk == nil {
			return t.missingVolume(d.volume)
		}
		t.logf("INFO: include disk '%s' '%s'", d.key, d.volume)
		b.Disks[d.key] = BackupDisk{Storage: storageOf(d.volume), Format: disk.Format, Size: disk.Size, Data: disk.Used, System: disk.System}
		v.Size += disk.Used
		storages = append(storages, storageOf(d.volume))
	}
	v.Used = v.Size
	t.sleep(t.copyTime(v.Size, storages...))
	sp := t.space(storage, vm.Node)
	if v.Used > sp.Free() {
		return die("vma_queue_write: write error - No space left on device")
	}
	sp.put(v)
	t.logf("INFO: archive file size: %s", humanBytes(v.Size))
	return nil
}
