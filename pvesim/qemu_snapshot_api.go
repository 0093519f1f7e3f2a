package pvesim

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// qemuSnapshotRoutes take, list, delete and roll back to snapshots.
func qemuSnapshotRoutes() map[string]handler {
	const all, one = "/nodes/{node}/qemu/{vmid}/snapshot", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}"
	return map[string]handler{
		"GET " + all:                listSnapshots,
		"POST " + all:               postSnapshot,
		"GET " + one:                snapshotIndex,
		"DELETE " + one:             deleteSnapshot,
		"GET " + one + "/config":    getSnapshotConfig,
		"PUT " + one + "/config":    putSnapshotConfig,
		"POST " + one + "/rollback": postRollback,
	}
}

func listSnapshots(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	list := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(vm.Snaps)) {
		snap := vm.Snaps[name].Conf
		at, _ := strconv.ParseInt(snap["snaptime"], 10, 64)
		item := map[string]any{"name": name, "snaptime": at, "vmstate": 0, "description": snap["description"]}
		if snap["vmstate"] != "" {
			item["vmstate"] = 1
		}
		for _, key := range []string{"parent", "snapstate"} {
			if snap[key] != "" {
				item[key] = snap[key]
			}
		}
		list = append(list, item)
	}
	current := map[string]any{"name": "current", "digest": vm.Digest(), "running": 0, "description": "You are here!"}
	if vm.Run != nil {
		current["running"] = 1
	}
	if vm.Conf["parent"] != "" {
		current["parent"] = vm.Conf["parent"]
	}
	return append(list, current), nil
}

func postSnapshot(c *call) (any, error) {
	name, withRAM := c.params.Str("snapname"), c.params.Bool("vmstate")
	if name == "current" || strings.ToLower(name) == "pending" {
		if name != "current" {
			name = "pending"
		}
		return nil, die("unable to use snapshot name '%s' (reserved name)", name)
	}
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	if withRAM {
		if err := checkMemoryCanMove(vm.Conf); err != nil {
			return nil, err
		}
	}
	job := &snapshotJob{node: c.node(), vmid: vm.ID, name: name, withRAM: withRAM, note: c.params.Str("description")}
	return c.forkVM("qmsnapshot", func(t *task) error { return t.takeSnapshot(job) })
}

func snapshotIndex(*call) (any, error) {
	return []map[string]any{{"cmd": "rollback"}, {"cmd": "config"}}, nil
}

func deleteSnapshot(c *call) (any, error) {
	job := &snapshotJob{
		node: c.node(), vmid: c.params.Int("vmid"), name: c.params.Str("snapname"), force: c.params.Bool("force"),
	}
	return c.forkVM("qmdelsnapshot", func(t *task) error { return t.removeSnapshot(job) })
}

// snapshot finds a snapshot of the VM.
func (v *VM) snapshot(name string) (*Snap, error) {
	snap := v.Snaps[name]
	if snap == nil {
		return nil, die("snapshot '%s' does not exist", name)
	}
	return snap, nil
}

func getSnapshotConfig(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	snap, err := vm.snapshot(c.params.Str("snapname"))
	if err != nil {
		return nil, err
	}
	return c.asJSON(snap.Conf), nil
}

func putSnapshotConfig(c *call) (any, error) {
	if !c.params.Has("description") {
		return nil, nil
	}
	return nil, c.withVM(func(vm *VM) error {
		if err := vm.checkLock(); err != nil {
			return err
		}
		snap, err := vm.snapshot(c.params.Str("snapname"))
		if err != nil {
			return err
		}
		snap.describe(c.params.Str("description"))
		vm.touch()
		return nil
	})
}

// describe sets the description, as the config file keeps it.
func (s *Snap) describe(text string) {
	delete(s.Conf, "description")
	if note, ok := rereadNote(text, false); ok {
		s.Conf["description"] = note
	}
}

func postRollback(c *call) (any, error) {
	job := &snapshotJob{node: c.node(), vmid: c.params.Int("vmid"), name: c.params.Str("snapname")}
	start := c.params.Bool("start")
	if start && c.atLeast(9) {
		if err := c.need(c.who, "/vms/"+strconv.Itoa(job.vmid), "VM.PowerMgmt"); err != nil {
			return nil, err
		}
	}
	return c.forkVM("qmrollback", func(t *task) error {
		unlock, err := t.lockMigration(job.vmid)
		if err != nil {
			return err
		}
		defer unlock()
		if err := t.rollBack(job); err != nil {
			return err
		}
		if vm := t.state.VMs[job.vmid]; start && vm != nil && vm.Run == nil {
			t.forkStart(job.node, job.vmid, t.who)
		}
		return nil
	})
}
