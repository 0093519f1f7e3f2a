package pvesim

import (
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// maskedPassword is what is shown instead of a password.
const maskedPassword = "**********"

// qemuCloudInitRoutes are what cloud-init is given.
func qemuCloudInitRoutes() map[string]handler {
	return map[string]handler{
		"GET /nodes/{node}/qemu/{vmid}/cloudinit":      getCloudInit,
		"PUT /nodes/{node}/qemu/{vmid}/cloudinit":      putCloudInit,
		"GET /nodes/{node}/qemu/{vmid}/cloudinit/dump": dumpCloudInit,
	}
}

// getCloudInit lists the settings, those the drive was made of and those it
// doesn't know yet.
func getCloudInit(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	conf, drive := vm.Conf.clone(), vm.CloudInit.clone()
	for _, section := range []Conf{conf, drive} {
		if _, ok := section["cipassword"]; ok {
			section["cipassword"] = maskedPassword
		}
	}
	list := []map[string]any{}
	added := drive["added"]
	delete(drive, "added")
	for _, key := range schema.SplitList(added) {
		list = append(list, map[string]any{"key": key, "pending": c.typed(key, conf[key])})
	}
	for _, key := range cloudInitOptions {
		if !truthy(conf[key]) || strings.Contains(added, key) {
			continue
		}
		item := map[string]any{"key": key, "value": c.typed(key, conf[key])}
		if old := drive[key]; truthy(old) {
			item["value"], item["pending"] = old, c.typed(key, conf[key])
		}
		list = append(list, item)
	}
	for _, key := range drive.keys() {
		if !truthy(conf[key]) {
			list = append(list, map[string]any{"key": key, "delete": 1})
		}
	}
	return list, nil
}

// putCloudInit writes the drive again.
func putCloudInit(c *call) (any, error) {
	return nil, c.withVM(func(vm *VM) error {
		if err := vm.checkLock(); err != nil {
			return err
		}
		return c.refreshCloudInit(vm, nil)
	})
}

// dumpCloudInit shows what Proxmox would write to the drive.
func dumpCloudInit(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	ci := &cloudInit{Sim: c.Sim, vm: vm, conf: vm.Conf}
	switch c.params.Str("type") {
	case "user":
		masked := c.atLeast(9) && !c.has(c.who, fmt.Sprintf("/vms/%d", vm.ID), "VM.Config.Cloudinit")
		return ci.userData(masked), nil
	case "network":
		return ci.network()
	}
	return ci.metaData()
}
