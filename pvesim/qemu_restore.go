package pvesim

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// restore makes a VM of a backup, or puts the backup in the place of a VM.
func (cr *creation) restore(c *call, archive string) (any, error) {
	for _, key := range cr.set.keys() {
		if isDriveKey[key] {
			return nil, badParam(key, "option conflicts with option 'archive'")
		}
	}
	if archive == "-" {
		return nil, die("pipe requires cli environment")
	}
	if err := c.needVolume(c.who, cr.vmid, archive, "backup"); err != nil {
		return nil, err
	}
	if _, _, ok := splitVolID(archive); !ok {
		return nil, die("can't find file '%s'", archive)
	}
	v, _ := c.volume(cr.node, archive)
	if v == nil {
		return nil, c.missingVolume(archive)
	}
	if v.Backup == nil {
		return nil, coded(501, "restore from '%s', which isn't a backup made here, not simulated", archive)
	}
	if err := c.lockToRestore(cr.node, cr.vmid, c.params.Bool("force")); err != nil {
		return nil, cr.notRestored(err)
	}
	unique := c.params.Bool("unique")
	return c.fork(cr.node, "qmrestore", itoa(cr.vmid), c.who, func(t *task) error { return cr.restoreFrom(t, v.Backup, unique) }), nil
}

func (cr *creation) notRestored(err error) error {
	return die("unable to restore VM %d - %s", cr.vmid, strings.TrimSuffix(perlText(err), "\n"))
}

// lockToRestore locks the config that is there, or puts one in place.
func (a *actor) lockToRestore(node string, vmid int, force bool) error {
	vm := a.state.VMs[vmid]
	if vm == nil || !force || vm.Node != node {
		return a.reserveVMID(node, vmid)
	}
	unlock, err := a.lockConfigFor(vmid, 5*time.Second)
	if err != nil {
		return err
	}
	defer unlock()
	if err := vm.checkLock(); err != nil {
		return err
	}
	vm.Conf["lock"] = "create"
	vm.touch()
	a.dirty()
	return nil
}

// restoreFrom is the task. What it had done is left when it fails.
func (cr *creation) restoreFrom(t *task, b *Backup, unique bool) error {
	err := t.trapAs("interrupted by signal", func() error {
		unlock, err := t.lockConfigFor(cr.vmid, time.Second)
		if err != nil {
			return err
		}
		defer unlock()
		return cr.putBack(t, b, unique)
	})
	if err != nil {
		if vm := t.state.VMs[cr.vmid]; vm != nil && vm.Conf["lock"] == "create" {
			delete(vm.Conf, "lock")
			vm.touch()
		}
		t.logf("error before or during data restore, some or all disks were not completely restored. VM %d state is NOT cleaned up.", cr.vmid)
		return err
	}
	if cr.start {
		t.logf("Execute autostart")
		t.forkStart(cr.node, cr.vmid, cr.who)
	}
	return nil
}

func (cr *creation) putBack(t *task, b *Backup, unique bool) error {
	vm, err := t.loadVM(cr.node, cr.vmid)
	if err != nil {
		return err
	}
	if err := vm.Conf.checkProtection("unable to restore VM " + itoa(cr.vmid)); err != nil {
		return err
	}
	if vm.Run != nil {
		return die("unable to restore VM %d - vm is running", cr.vmid)
	}
	old := *vm
	vm.Conf, vm.Snaps, vm.Pending = Conf{"memory": "128", "lock": "create"}, map[string]*Snap{}, Conf{}
	vm.Deletes, vm.CloudInit = map[string]bool{}, nil
	vm.touch()
	t.clearFor(&old, b)
	conf := b.Conf.clone()
	for _, d := range conf.drives() {
		volid, err := cr.fillFrom(t, d, b)
		if err != nil {
			return err
		}
		if volid == "" {
			continue
		}
		t.logf("new volume ID is '%s'", volid)
		d.volume = volid
		d.set("format", "")
		conf[d.key] = d.String()
	}
	if conf["vmgenid"] != "" && conf["vmgenid"] != "0" {
		conf["vmgenid"] = t.uuid(itoa(cr.vmid), "vmgenid")
	}
	if unique {
		t.newAddresses(cr.vmid, conf)
	}
	maps.Copy(conf, cr.set.conf)
	t.nameUnused(vm, conf)
	if err := t.store(vm, &draft{conf: conf, pending: Conf{}, deletes: map[string]bool{}}); err != nil {
		return err
	}
	if cr.pool != "" {
		t.addVMToPool(cr.vmid, cr.pool)
	}
	return nil
}

// clearFor removes the disks of a VM that the backup has, and its snapshots. The
// others stay, and become unused.
func (t *task) clearFor(old *VM, b *Backup) {
	free := func(volid string) {
		if err := t.freeDisk(old.Node, volid); err != nil {
			t.logf("%s", strings.TrimSuffix(perlText(err), "\n"))
		}
	}
	for _, d := range old.Conf.drives() {
		if d.disc() || !d.onStorage() {
			continue
		}
		if n, err := t.parseVolID(d.volume); err != nil || n.vmid != old.ID {
			continue
		}
		_, backedUp := b.Disks[d.key]
		if backedUp || parseDrive(d.key, b.Conf[d.key]).cloudInit() {
			free(d.volume)
			continue
		}
		for _, snap := range sortedKeys(old.Snaps) {
			if err := t.deleteVolumeSnapshot(old.Node, d.volume, snap); err != nil {
				t.logf("%s", strings.TrimSuffix(perlText(err), "\n"))
			}
		}
	}
	for _, snap := range sortedKeys(old.Snaps) {
		if volid := old.Snaps[snap].Conf["vmstate"]; volid != "" {
			free(volid)
		}
	}
}

// fillFrom makes a disk of what the backup has for a drive; empty: it has nothing.
func (cr *creation) fillFrom(t *task, d drive, b *Backup) (volid string, err error) {
	storage := cr.storage
	if d.cloudInit() {
		if storage == "" {
			storage = storageOf(d.volume)
		}
		maker := diskMaker{actor: &t.actor, who: cr.who, node: cr.node, vmid: cr.vmid, conf: Conf{}, logf: t.logf, made: Conf{}}
		if err := maker.createCloudInit(drive{key: d.key}, storage); err != nil {
			return "", err
		}
		return maker.vols[0], nil
	}
	disk, ok := b.Disks[d.key]
	if !ok {
		return "", nil
	}
	if storage == "" {
		storage = disk.Storage
	}
	st := t.state.Storages[storage]
	if st == nil {
		return "", die("storage '%s' does not exist", storage)
	}
	format := disk.Format
	if !slices.Contains(st.validFormats(), format) {
		format = ""
	}
	from := copySource{storage: storage, format: "raw", path: "/dev/stdin", size: disk.Size, data: disk.Data, system: disk.System}
	return t.fill(cr.node, storage, format, cr.vmid, from, t.logf)
}

// newAddresses gives the network cards of a config addresses that nobody has.
func (a *actor) newAddresses(vmid int, conf Conf) {
	for key, value := range conf {
		if !family(key, "net") {
			continue
		}
		model, rest, _ := strings.Cut(value, ",")
		model, _, _ = strings.Cut(model, "=")
		if net, ok := a.parseNet(vmid, key, strings.TrimSuffix(model+","+rest, ",")); ok {
			conf[key] = a.printNet(net)
		}
	}
}

// nameUnused names the volumes of a VM that its new config doesn't.
func (t *task) nameUnused(vm *VM, conf Conf) {
	named := map[string]bool{}
	for _, d := range conf.drives() {
		named[d.volume] = true
	}
	for _, id := range sortedKeys(t.state.Storages) {
		st := t.state.Storages[id]
		if !st.HasContent("images") || !st.OnNode(vm.Node) {
			continue
		}
		owned := t.space(id, vm.Node).ofVM(vm.ID)
		for _, name := range sortedKeys(owned) {
			volid := id + ":" + owned[name].volname()
			if owned[name].Content != "images" || named[volid] {
				continue
			}
			if err := conf.addUnused(volid); err != nil {
				t.logf("%s", strings.TrimSuffix(perlText(err), "\n"))
			}
		}
	}
}
