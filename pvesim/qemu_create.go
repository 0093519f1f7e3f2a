package pvesim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pvesim/access"
)

// creation is a VM that is being made.
type creation struct {
	node      string
	vmid      int
	who       *access.Identity
	set       *given
	pool      string
	storage   string // for disks that name none
	work      string // storage where archives are unpacked
	start     bool
	live      bool // let the VM run as soon as it can
	imports   bool // some disk is imported
	haManaged bool
}

// createParams are parameters of a creation that aren't options.
var createParams = []string{
	"node", "vmid", "archive", "bwlimit", "force", "pool", "start", "ha-managed", "storage", "unique", "live-restore",
	"import-working-storage",
}

// createVM answers POST qemu.
func createVM(c *call) (any, error) {
	p := c.params
	cr := &creation{
		node: c.node(), vmid: p.Int("vmid"), who: c.who, pool: p.Str("pool"), storage: p.Str("storage"),
		work: p.Str("import-working-storage"), start: p.Bool("start"), live: p.Bool("live-restore"),
		haManaged: p.Bool("ha-managed"), set: newGiven(p, createParams...),
	}
	if keys, ok := cr.set.conf["sshkeys"]; ok {
		if err := checkSSHKeys(keys); err != nil {
			return nil, err
		}
	}
	cr.set.clampCPUUnits()
	if err := cr.mayCreate(c); err != nil {
		return nil, err
	}
	if archive := p.Str("archive"); truthy(archive) {
		return cr.restore(c, archive)
	}
	if err := cr.check(c); err != nil {
		return nil, err
	}
	if err := c.reserveVMID(cr.node, cr.vmid); err != nil {
		return nil, cr.failed(err)
	}
	return c.fork(cr.node, "qmcreate", strconv.Itoa(cr.vmid), c.who, cr.run), nil
}

// mayCreate checks what creating a VM needs, whatever its options.
func (cr *creation) mayCreate(c *call) error {
	if cr.pool != "" && c.state.Pools[cr.pool] == nil {
		return denied("pool '" + cr.pool + "' does not exist")
	}
	if cr.storage != "" {
		if err := c.need(c.who, "/storage/"+cr.storage, "Datastore.AllocateSpace"); err != nil {
			return err
		}
	}
	if cr.haManaged {
		if err := c.need(c.who, "/", "Sys.Console"); err != nil {
			return err
		}
	}
	if cr.start && c.atLeast(9) {
		if err := c.needVM(c.who, cr.vmid, cr.pool, "VM.PowerMgmt"); err != nil {
			return err
		}
	}
	vm := fmt.Sprintf("/vms/%d", cr.vmid)
	switch {
	case c.has(c.who, vm, "VM.Allocate"), cr.pool != "" && c.has(c.who, "/pool/"+cr.pool, "VM.Allocate"):
		return nil
	case c.params.Has("archive") && c.params.Bool("force") && c.state.VMs[cr.vmid] != nil && c.has(c.who, vm, "VM.Backup"):
		return nil
	}
	return denied("")
}

// check checks the options and gives them their stored form.
func (cr *creation) check(c *call) error {
	set := cr.set
	keys := set.keys()
	if len(keys) == 0 {
		return nil
	}
	set.aliasCDROM()
	for _, check := range []func() error{
		func() error { return c.needStorages(c.who, cr.vmid, set.conf, cr.storage, cr.work) },
		func() error { return c.needOptions(c.who, cr.vmid, cr.pool, set.keys()) },
		func() error { return c.needDevices(c.who, cr.vmid, cr.pool, set.conf) },
		func() error { return c.needNets(c.who, set.conf) },
		func() error { return c.checkDrives(cr.node, set) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	for _, key := range set.keys() {
		cr.imports = cr.imports || isDriveKey[key] && key != "efidisk0" && parseDrive(key, set.conf[key]).has("import-from")
		if !family(key, "net") {
			continue
		}
		if net, ok := c.parseNet(cr.vmid, key, set.conf[key]); ok {
			set.conf[key] = c.printNet(net)
		}
	}
	return nil
}

// reserveVMID puts a locked config in place, so that nobody else takes the
// VMID.
func (a *actor) reserveVMID(node string, vmid int) error {
	unlock, err := a.lockConfigFor(vmid, 5*time.Second)
	if err != nil {
		return err
	}
	defer unlock()
	if vm := a.state.VMs[vmid]; vm != nil {
		return die("VM %d already exists on node '%s'", vmid, vm.Node)
	}
	if t := a.state.Containers[vmid]; t != nil {
		return die("CT %d already exists on node '%s'", vmid, t.Node)
	}
	a.putVM(&VM{
		ID: vmid, Node: node, Conf: Conf{"lock": "create"}, Pending: Conf{}, Deletes: map[string]bool{}, Snaps: map[string]*Snap{},
	})
	a.dirty()
	return nil
}

func (cr *creation) failed(err error) error {
	return die("unable to create VM %d - %s", cr.vmid, strings.TrimSuffix(perlText(err), "\n"))
}

// run is the task: it makes disks and config, and starts the VM if asked to.
func (cr *creation) run(t *task) error {
	err := t.trap(func() error {
		unlock, err := t.lockConfigFor(cr.vmid, time.Second)
		if err != nil {
			return err
		}
		defer unlock()
		return cr.make(t)
	})
	if err != nil {
		t.dropVM(cr.vmid)
		t.dirty()
		return err
	}
	if cr.haManaged {
		cr.addHA(t)
	}
	switch {
	case cr.live && cr.imports:
		return t.startVM(cr.node, cr.vmid, startOptions{})
	case cr.start && !cr.live:
		t.logf("Execute autostart")
		t.forkStart(cr.node, cr.vmid, cr.who)
	}
	return nil
}

// make makes disks and config. When it fails, no disk is left.
func (cr *creation) make(t *task) error {
	conf := cr.set.conf
	conf["meta"] = fmt.Sprintf("creation-qemu=%s,ctime=%d", t.qemuVersion(), t.now().Unix())
	maker := diskMaker{
		actor: &t.actor, who: cr.who, node: cr.node, vmid: cr.vmid, conf: conf, storage: cr.storage, work: cr.work, logf: t.logf,
	}
	var made Conf
	var vols []string
	err := t.trap(func() (err error) {
		t.sleep(t.world.Timing.Create.D())
		made, vols, err = maker.createDisks(conf)
		return err
	})
	if err != nil {
		return cr.failed(err)
	}
	maps.Copy(conf, made)
	vm := t.state.VMs[cr.vmid]
	if err = cr.complete(t, conf); err == nil {
		err = t.store(vm, &draft{conf: conf, pending: Conf{}, deletes: map[string]bool{}})
	}
	if err != nil {
		t.dropDisks(cr.node, vols)
		return cr.failed(err)
	}
	if cr.pool != "" {
		t.addVMToPool(cr.vmid, cr.pool)
	}
	return nil
}

// complete adds what a config has though nobody asked for it.
func (cr *creation) complete(t *task, conf Conf) error {
	id := strconv.Itoa(cr.vmid)
	if !truthy(conf["boot"]) {
		conf["boot"] = defaultBoot(conf)
	}
	if err := checkClipboard(conf["vga"]); err != nil {
		return err
	}
	if !truthy(conf["smbios1"]) {
		conf["smbios1"] = "uuid=" + t.uuid(id, "smbios")
	}
	if gen, ok := conf["vmgenid"]; (!ok || gen == "1") && conf["arch"] != "aarch64" {
		conf["vmgenid"] = t.uuid(id, "vmgenid")
	}
	machine, err := t.pinMachine(conf["machine"], conf["ostype"], conf["arch"], t.logf)
	if err != nil {
		return err
	}
	if truthy(machine) {
		conf["machine"] = machine
	}
	if tags, ok := conf["tags"]; ok {
		if err := t.needTags(cr.who, cr.vmid, "", tags); err != nil {
			return err
		}
		conf["tags"] = t.uniqueTags(tags)
	}
	for _, key := range slices.Sorted(maps.Keys(cr.set.null)) {
		if _, ok := conf[key]; !ok {
			return die("unable to parse value of '%s' - got undefined value", key)
		}
	}
	return nil
}

// addHA hands the new VM to the high-availability manager.
func (cr *creation) addHA(t *task) {
	t.logf("Add as HA resource")
	state := "stopped"
	if cr.start {
		state = "started"
	}
	sid := fmt.Sprintf("vm:%d", cr.vmid)
	if t.state.HA.Resources[sid] != nil {
		t.logf("create resource failed: resource ID '%s' already defined", sid)
		return
	}
	t.addHA(sid, map[string]string{"state": state})
}
