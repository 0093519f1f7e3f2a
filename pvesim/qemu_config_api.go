package pvesim

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// qemuConfigRoutes create VMs, list, read, change and destroy them.
func qemuConfigRoutes() map[string]handler {
	return map[string]handler{
		"GET /nodes/{node}/qemu":                listVMs,
		"POST /nodes/{node}/qemu":               createVM,
		"DELETE /nodes/{node}/qemu/{vmid}":      destroyRequest,
		"GET /nodes/{node}/qemu/{vmid}/config":  getConfig,
		"PUT /nodes/{node}/qemu/{vmid}/config":  putConfig,
		"POST /nodes/{node}/qemu/{vmid}/config": postConfig,
		"GET /nodes/{node}/qemu/{vmid}/pending": getPending,
	}
}

// listVMs lists the VMs of a node that the caller may see.
func listVMs(c *call) (any, error) {
	node, full := c.node(), c.params.Bool("full")
	list := []map[string]any{}
	for id, vm := range c.state.VMs {
		if vm.Node == node && c.has(c.who, "/vms/"+strconv.Itoa(id), "VM.Audit") {
			list = append(list, c.vmStatus(vm, full))
		}
	}
	slices.SortFunc(list, func(a, b map[string]any) int { return a["vmid"].(int) - b["vmid"].(int) })
	return list, nil
}

// getConfig shows a config: with what is pending taken in, as it is now, or
// as it was at a snapshot.
func getConfig(c *call) (any, error) {
	snap, current := c.params.Str("snapshot"), c.params.Bool("current")
	if snap != "" && current {
		const text = "cannot use 'snapshot' parameter with 'current'"
		return nil, badParams(map[string]string{"snapshot": text, "current": text})
	}
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	var conf Conf
	switch {
	case snap != "":
		if vm.Snaps[snap] == nil {
			return nil, die("snapshot '%s' does not exist", snap)
		}
		conf = vm.Snaps[snap].Conf
	case current:
		conf = vm.Conf
	default:
		conf = vm.current()
	}
	out := c.asJSON(conf)
	out["digest"] = vm.Digest()
	if truthy(conf["cipassword"]) {
		out["cipassword"] = maskedPassword
	}
	return out, nil
}

// getPending lists all options with what they are and what they will be.
func getPending(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	list := []map[string]any{{"key": "digest", "value": vm.Digest()}}
	for _, key := range vm.Conf.keys() {
		item := map[string]any{"key": key, "value": c.typed(key, vm.Conf[key])}
		if key == "cipassword" {
			item["value"] = maskedPassword
		}
		if value, ok := vm.Pending[key]; ok {
			item["pending"] = c.pendingValue(key, value)
		}
		if force, ok := vm.Deletes[key]; ok {
			item["delete"] = 1
			if force {
				item["delete"] = 2
			}
		}
		list = append(list, item)
	}
	for _, key := range vm.Pending.keys() {
		if _, ok := vm.Conf[key]; !ok {
			list = append(list, map[string]any{"key": key, "pending": c.pendingValue(key, vm.Pending[key])})
		}
	}
	for _, key := range sortedKeys(vm.Deletes) {
		if _, ok := vm.Conf[key]; !ok {
			list = append(list, map[string]any{"key": key, "delete": 2})
		}
	}
	return list, nil
}

func (s *Sim) pendingValue(key, value string) any {
	if key == "cipassword" {
		return maskedPassword + " "
	}
	return s.typed(key, value)
}

// putConfig changes a config and answers when that is done.
func putConfig(c *call) (any, error) {
	ch, err := readChange(c)
	if err != nil {
		return nil, err
	}
	if _, err := ch.check(c.Sim, false); err != nil {
		return nil, err
	}
	unlock, err := c.lockConfig(ch.vmid)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return nil, ch.apply(&c.actor, discardLine)
}

// postConfig changes a config in a task. With background_delay it waits for
// that task for a while, and answers nothing if it ends in time.
func postConfig(c *call) (any, error) {
	ch, err := readChange(c)
	if err != nil {
		return nil, err
	}
	if _, err := ch.check(c.Sim, false); err != nil {
		return nil, err
	}
	upid := c.fork(ch.node, "qmconfig", strconv.Itoa(ch.vmid), c.who, func(t *task) error {
		unlock, err := t.lockConfig(ch.vmid)
		if err != nil {
			return err
		}
		defer unlock()
		return ch.apply(&t.actor, t.logf)
	})
	delay := c.params.Int("background_delay")
	if delay == 0 {
		return upid, nil
	}
	if t := c.running[upid]; t != nil && !c.waitFor(t.ended, time.Duration(delay)*time.Second) {
		return upid, nil
	}
	info := c.byUPID[upid]
	if info == nil || info.Exit == "OK" || taskWarned(info.Exit) {
		return nil, nil
	}
	return nil, die("failed to update VM %d: %s", ch.vmid, info.Exit)
}

// taskWarned reports whether a task ended well but for warnings.
func taskWarned(exit string) bool {
	var n int
	got, _ := fmt.Sscanf(exit, "WARNINGS: %d", &n)
	return got == 1
}
