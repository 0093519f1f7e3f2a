package pvesim

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/proxplane/proxplane/pvesim/access"
)

// qemuMigrateRoutes move VMs to other nodes.
func qemuMigrateRoutes() map[string]handler {
	const vm = "/nodes/{node}/qemu/{vmid}"
	return map[string]handler{
		"GET " + vm + "/migrate":         getMigrate,
		"POST " + vm + "/migrate":        postMigrate,
		"POST " + vm + "/remote_migrate": postRemoteMigrate,
		"POST " + vm + "/dbus-vmstate":   postVMState,
	}
}

// getMigrate says where the VM could go, and what is in the way.
func getMigrate(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	if err := vm.checkLock(); err != nil {
		return nil, err
	}
	local, mapped, missing := c.localResources(vm)
	disks := []map[string]any{}
	for _, r := range vm.volumeRefs() {
		if id, _, ok := splitVolID(r.volid); ok {
			st := c.state.Storages[id]
			if st == nil {
				return nil, die("storage '%s' does not exist", id)
			}
			if st.Shared() {
				continue
			}
		}
		if r.shared || r.cdrom && r.volid == "none" {
			continue
		}
		disks = append(disks, r.asJSON())
	}
	out := map[string]any{
		"running": 0, "local_disks": disks, "local_resources": local,
		"mapped-resources": slices.Sorted(maps.Keys(mapped)), "mapped-resource-info": mapped,
	}
	if len(mapped) == 0 {
		out["mapped-resources"] = []string{}
	}
	if vm.Run != nil {
		out["running"] = 1
	}
	if c.atLeast(9) {
		out["has-dbus-vmstate"] = 1
		if c.haManaged(vm.ID) {
			out["dependent-ha-resources"] = []any{}
		}
	}
	if c.atLeast(9) || vm.Run == nil {
		c.addTargets(vm, missing, out)
	}
	return out, nil
}

// addTargets says for each other node whether the VM may go there.
func (c *call) addTargets(vm *VM, missing map[string][]string, out map[string]any) {
	allowed, others := []string{}, map[string]any{}
	for _, node := range sortedKeys(c.state.Nodes) {
		if node == vm.Node {
			continue
		}
		why := map[string]any{}
		lacking := map[string]bool{}
		for _, d := range vm.Conf.drives() {
			id, _, ok := splitVolID(d.volume)
			if st := c.state.Storages[id]; ok && st != nil && (st.Conf["disable"] == "1" || !st.OnNode(node)) {
				lacking[id] = true
			}
		}
		if len(lacking) > 0 {
			why["unavailable_storages"] = sortedKeys(lacking)
		}
		if len(missing[node]) > 0 {
			why["unavailable-resources"] = missing[node]
		}
		if len(why) == 0 {
			allowed = append(allowed, node)
		}
		others[node] = why
	}
	out["allowed_nodes"], out["not_allowed_nodes"] = allowed, others
}

func postMigrate(c *call) (any, error) {
	target := c.nodeName(c.params.Str("target"))
	if target == c.node() {
		return nil, badParam("target", "target is local node.")
	}
	if c.state.Nodes[target] == nil {
		return nil, die("no such cluster node '%s'", target)
	}
	if err := c.rootOnly("force", "migration_type", "migration_network"); err != nil {
		return nil, err
	}
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	if err := vm.checkLock(); err != nil {
		return nil, err
	}
	job := &migration{
		node: c.node(), target: target, vmid: vm.ID, online: c.params.Bool("online"), force: c.params.Bool("force"),
		withDisks: c.params.Bool("with-local-disks"), conntrack: c.params.Bool("with-conntrack-state"),
	}
	if vm.Run != nil && !job.online {
		return nil, die("can't migrate running VM without --online")
	}
	if err := c.checkTargetStorage(vm, job); err != nil {
		return nil, plainDie(err)
	}
	if c.haManaged(vm.ID) {
		return c.forkVM("hamigrate", func(t *task) error {
			t.logf("Requesting HA migration for VM %d to node %s", job.vmid, target)
			t.haMigrate(job.vmid, target)
			return nil
		})
	}
	return c.forkVM("qmigrate", func(t *task) error { return t.migrate(job) })
}

// checkTargetStorage reads where local disks shall go and checks that they
// may.
func (c *call) checkTargetStorage(vm *VM, job *migration) error {
	text := c.params.Str("targetstorage")
	if text == "" {
		return c.checkStoragesOn(vm, job.target)
	}
	job.storages = parseStorageMap(text)
	if !job.storages.identity {
		if err := c.need(c.who, "/vms/"+strconv.Itoa(vm.ID), "VM.Config.Disk"); err != nil {
			return err
		}
	}
	ids := slices.Collect(maps.Values(job.storages.entries))
	slices.Sort(ids)
	if job.storages.def != "" {
		ids = append(ids, job.storages.def)
	}
	for _, id := range ids {
		st, err := c.storageOn(job.target, id)
		if err != nil {
			return err
		}
		if err := c.need(c.who, "/storage/"+id, "Datastore.AllocateSpace"); err != nil {
			return err
		}
		if !st.HasContent("images") {
			return die("storage '%s' does not support vm images", id)
		}
	}
	if job.storages.identity {
		return c.checkStoragesOn(vm, job.target)
	}
	return nil
}

// plainDie makes a plain text an API error.
func plainDie(err error) error {
	if err == nil {
		return nil
	}
	var api *apiError
	if errors.As(err, &api) {
		return err
	}
	return die("%s", err)
}

// haMigrate is what the high-availability manager does when it is told to
// move a VM: at once, if it is at work at all.
func (s *Sim) haMigrate(vmid int, target string) {
	vm := s.state.VMs[vmid]
	if vm == nil || !s.haActive() || vm.Node == target {
		return
	}
	begin := func() {
		if vm := s.state.VMs[vmid]; vm != nil && vm.Node != target && s.state.HA.Resources[haID(vmid)] != nil && !s.state.HA.Failed[haID(vmid)] {
			job := &migration{node: vm.Node, target: target, vmid: vmid, online: true, withDisks: true}
			s.fork(vm.Node, "qmigrate", strconv.Itoa(vmid), &access.Identity{User: access.Root}, func(t *task) error { return t.migrate(job) })
		}
	}
	if round := s.world.Load.HARound.D(); round > 0 {
		s.later(round, func(*actor) { begin() })
		return
	}
	begin()
}

// postRemoteMigrate would go to another cluster: there is none.
func postRemoteMigrate(c *call) (any, error) {
	if _, err := c.vm(); err != nil {
		return nil, err
	}
	return nil, coded(http.StatusNotImplemented, "migration to other clusters is not simulated")
}

// postVMState would start the helper that moves a VM's connections. The call
// is handled by the daemon that mayn't see the VMs' processes, so that it
// always fails.
func postVMState(c *call) (any, error) {
	return nil, badParam("node", "VM %d not running locally on node '%s'", c.params.Int("vmid"), c.node())
}
