package pvesim

import (
	"strconv"
	"strings"
	"time"
)

// qemuPowerRoutes start and stop VMs and tell how they are.
func qemuPowerRoutes() map[string]handler {
	const vm = "/nodes/{node}/qemu/{vmid}"
	const status = vm + "/status"
	return map[string]handler{
		"GET " + status:                statusIndex,
		"GET " + status + "/current":   getStatus,
		"POST " + status + "/start":    postStart,
		"POST " + status + "/stop":     postStop,
		"POST " + status + "/shutdown": postShutdown,
		"POST " + status + "/reboot":   postReboot,
		"POST " + status + "/reset":    postReset,
		"POST " + status + "/suspend":  postSuspend,
		"POST " + status + "/resume":   postResume,

		"POST " + vm + "/vncproxy":    postVNCProxy,
		"POST " + vm + "/termproxy":   postTermProxy,
		"GET " + vm + "/vncwebsocket": getVNCWebsocket,
		"POST " + vm + "/spiceproxy":  postSpiceProxy,
		"PUT " + vm + "/sendkey":      putSendKey,
		"POST " + vm + "/monitor":     postMonitor,
		"GET " + vm + "/rrddata":      getRRDData,
	}
}

// rootOnly refuses parameters that only root@pam may use.
func (c *call) rootOnly(names ...string) error {
	for _, name := range names {
		if v := c.params.Str(name); v != "" && v != "0" && !c.who.Root() {
			return badParam(name, "Only root may use this option.")
		}
	}
	return nil
}

// timeout is an optional time limit, in seconds.
func (c *call) timeout() *int {
	if !c.params.Has("timeout") {
		return nil
	}
	n := c.params.Int("timeout")
	return &n
}

// forkVM starts a task that is filed under the VM.
func (c *call) forkVM(typ string, fn func(t *task) error) (any, error) {
	return c.fork(c.node(), typ, strconv.Itoa(c.params.Int("vmid")), c.who, fn), nil
}

// runningVM finds the VM and says whether it runs, as calls do that look for
// the config file only.
func (c *call) runningVM() (*VM, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, noGuestOnNode(c.node(), c.params.Int("vmid"))
	}
	if vm.Run == nil {
		return nil, die("VM %d not running", vm.ID)
	}
	return vm, nil
}

func postStart(c *call) (any, error) {
	err := c.rootOnly("stateuri", "skiplock", "migratedfrom", "migration_type", "migration_network",
		"targetstorage", "force-cpu", "with-conntrack-state", "nets-host-mtu")
	if err != nil {
		return nil, err
	}
	if c.params.Str("targetstorage") != "" && c.params.Str("migratedfrom") == "" {
		return nil, badParam("targetstorage", "targetstorage can only by used with migratedfrom.")
	}
	o := startOptions{skipLock: c.params.Bool("skiplock")}
	if n := c.timeout(); n != nil {
		o.timeout = time.Duration(*n) * time.Second
	}
	return c.forkStartWith(c.node(), c.params.Int("vmid"), c.who, o), nil
}

func postStop(c *call) (any, error) {
	if err := c.rootOnly("skiplock", "keepActive", "migratedfrom"); err != nil {
		return nil, err
	}
	node, vmid, overrule := c.node(), c.params.Int("vmid"), c.params.Bool("overrule-shutdown")
	if c.haManaged(vmid) && !c.params.Has("migratedfrom") {
		if overrule {
			return nil, badParam("overrule-shutdown", "Not applicable for HA resources.")
		}
		return c.forkHAStop(vmid, 0)
	}
	o := stopOptions{skipLock: c.params.Bool("skiplock"), timeout: c.timeout(), force: true}
	return c.forkVM("qmstop", func(t *task) error {
		if overrule {
			t.abortShutdowns(vmid)
		}
		return t.stopVM(node, vmid, o)
	})
}

// forkHAStop has the high-availability manager stop the VM.
func (c *call) forkHAStop(vmid, seconds int) (any, error) {
	return c.forkVM("hastop", func(t *task) error {
		t.logf("Requesting HA stop for VM %d", vmid)
		return t.requestHAStop(vmid, seconds)
	})
}

// abortShutdowns ends the shutdown tasks of the VM that the user may end.
func (t *task) abortShutdowns(vmid int) {
	node := t.info.Node
	all := t.has(t.who, "/nodes/"+node, "Sys.Modify")
	var upids []string
	for upid, other := range t.running {
		if other.info.Node != node || other.info.Type != "qmshutdown" || other.info.ID != strconv.Itoa(vmid) {
			continue
		}
		owner, _, _ := strings.Cut(other.info.User, "!")
		if all || t.who.Name() == owner || t.who.Name() == other.info.User {
			upids = append(upids, upid)
			t.kill(upid)
		}
	}
	if len(upids) > 0 {
		t.logf("overruled qmshutdown tasks: %s", strings.Join(upids, ", "))
	}
}

func postShutdown(c *call) (any, error) {
	if err := c.rootOnly("skiplock", "keepActive"); err != nil {
		return nil, err
	}
	node, vmid := c.node(), c.params.Int("vmid")
	o := stopOptions{
		skipLock: c.params.Bool("skiplock"), timeout: c.timeout(),
		shutdown: true, force: c.params.Bool("forceStop"),
	}
	if vm, err := c.vm(); err == nil && vm.Run != nil && vm.Run.qmpStatus() != "running" {
		if !o.force {
			return nil, die("VM is paused - cannot shutdown")
		}
		o.shutdown = false
	}
	if c.haManaged(vmid) {
		seconds := 60
		if o.timeout != nil {
			seconds = *o.timeout
		}
		return c.forkHAStop(vmid, seconds)
	}
	return c.forkVM("qmshutdown", func(t *task) error { return t.stopVM(node, vmid, o) })
}

func postReboot(c *call) (any, error) {
	if vm, err := c.vm(); err == nil && vm.Run != nil && vm.Run.qmpStatus() != "running" {
		return nil, die("VM is paused - cannot shutdown")
	}
	vm, err := c.runningVM()
	if err != nil {
		return nil, err
	}
	node, vmid, timeout := c.node(), vm.ID, c.timeout()
	return c.forkVM("qmreboot", func(t *task) error { return t.rebootVM(node, vmid, timeout) })
}

func postReset(c *call) (any, error) {
	if err := c.rootOnly("skiplock"); err != nil {
		return nil, err
	}
	vm, err := c.runningVM()
	if err != nil {
		return nil, err
	}
	node, vmid, skipLock := c.node(), vm.ID, c.params.Bool("skiplock")
	return c.forkVM("qmreset", func(t *task) error { return t.resetVM(node, vmid, skipLock) })
}

func postSuspend(c *call) (any, error) {
	if err := c.rootOnly("skiplock"); err != nil {
		return nil, err
	}
	vm, err := c.runningVM()
	if err != nil {
		return nil, err
	}
	node, vmid, skipLock := c.node(), vm.ID, c.params.Bool("skiplock")
	if !c.params.Bool("todisk") {
		return c.forkVM("qmpause", func(t *task) error { return t.pauseVM(node, vmid, skipLock) })
	}
	if c.haManaged(vmid) {
		return nil, die("Cannot suspend HA managed VM to disk")
	}
	if err := c.need(c.who, "/vms/"+strconv.Itoa(vmid), "VM.Config.Disk"); err != nil {
		return nil, err
	}
	for key := range vm.Conf {
		if strings.HasPrefix(key, "hostpci") {
			return nil, die("cannot suspend VM to disk due to passed-through PCI device(s), which lack the possibility to save/restore their internal state")
		}
	}
	storage := c.params.Str("statestorage")
	if storage == "" {
		storage = c.stateStorage(vm)
	}
	if err := c.need(c.who, "/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
		return nil, err
	}
	return c.forkVM("qmsuspend", func(t *task) error { return t.suspendVM(node, vmid, skipLock, storage) })
}

func postResume(c *call) (any, error) {
	if err := c.rootOnly("skiplock", "nocheck"); err != nil {
		return nil, err
	}
	node, vmid, skipLock := c.node(), c.params.Int("vmid"), c.params.Bool("skiplock")
	// Proxmox looks at the lock with the lock file held, and doesn't mind
	// when it can't get it.
	suspended := false
	if unlock, err := c.lockConfig(vmid); err == nil {
		vm, err := c.loadVM(node, vmid)
		suspended = err == nil && vm.Conf["lock"] == "suspended"
		unlock()
	}
	if !suspended {
		if _, err := c.runningVM(); err != nil {
			return nil, err
		}
	}
	return c.forkVM("qmresume", func(t *task) error {
		if suspended {
			return t.startVM(node, vmid, startOptions{skipLock: skipLock})
		}
		return t.resumeVM(node, vmid, skipLock)
	})
}
