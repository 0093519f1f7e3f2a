package robustness

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/inspect"
)

// compare says what of a machine isn't up to date, in Proxmox' own words and not
// in those of the planner.
func (w *wish) compare(st *pvesim.State, vm *pvesim.VM) (wrong []string) {
	differs := func(what string, want, have any) {
		if fmt.Sprint(want) != fmt.Sprint(have) {
			wrong = append(wrong, fmt.Sprintf("VM %d: %s should be %v and is %v", vm.ID, what, want, have))
		}
	}
	differs("name", w.Name, vm.Name())
	if w.VMID != 0 {
		differs("VMID", w.VMID, vm.ID)
	}
	for k, want := range w.Options {
		if k != "cipassword" {
			differs(k, want, prop.Canonical(k, vm.Conf[k]))
		}
	}
	for _, d := range w.Disks {
		slot := d.Slot
		if d.Root() {
			slot = "scsi0"
		}
		if inspect.VolumeOf(st, vm.Node, vm.Conf[slot]) == "" {
			wrong = append(wrong, fmt.Sprintf("VM %d: there is no disk %s", vm.ID, slot))
		}
		if storage, _, _ := strings.Cut(vm.Conf[slot], ":"); d.Storage != "" {
			differs("storage of "+slot, d.Storage, storage)
		}
		if d.Size > 0 {
			differs("size of "+slot, d.Size, max(d.Size, sizeOf(vm.Conf[slot])))
			if sizeOf(vm.Conf[slot]) < d.Size {
				wrong = append(wrong, fmt.Sprintf("VM %d: %s has %s", vm.ID, slot, vm.Conf[slot]))
			}
		}
	}
	for _, n := range w.NICs {
		have := strings.ToUpper(vm.Conf[n.Slot])
		if !strings.Contains(have, n.MAC) || !strings.Contains(have, strings.ToUpper("bridge="+n.Bridge)) {
			wrong = append(wrong, fmt.Sprintf("VM %d: %s is %q", vm.ID, n.Slot, vm.Conf[n.Slot]))
		}
	}
	text, _, _ := model.ParseDescription(vm.Conf["description"])
	differs("description", w.Description, text)
	tags := ";" + vm.Conf["tags"] + ";"
	for _, t := range append([]string{model.Tag}, w.Tags...) {
		if !strings.Contains(tags, ";"+t+";") {
			wrong = append(wrong, fmt.Sprintf("VM %d: tag %s isn't among %s", vm.ID, t, vm.Conf["tags"]))
		}
	}
	for name, pool := range st.Pools {
		if w.Pool != "" {
			differs("in pool "+name, name == w.Pool, pool.VMs[vm.ID])
		}
	}
	_, ha := st.HA.Resources[fmt.Sprintf("vm:%d", vm.ID)]
	differs("HA", w.HA != nil, ha)
	if w.Update.Move && len(w.Place.Nodes) > 0 && free(st, vm) {
		differs("on one of its nodes", true, slices.Contains(w.Place.Nodes, vm.Node))
	}
	if w.Power != "" {
		differs("running", w.Power == model.PowerOn, vm.Run != nil)
	}
	if w.Seed != nil {
		differs("first-boot data on "+w.Seed.Storage, true, hasSeed(st, vm, w.Seed.Storage))
	}
	return append(wrong, w.compareGroup(st, vm)...)
}

// hasSeed reports whether a machine has first-boot data of ours on a storage in a drive, or will have
// when it starts next: they are read at a first boot only.
func hasSeed(st *pvesim.State, vm *pvesim.VM, storage string) bool {
	drives := maps.Clone(vm.Conf)
	maps.Copy(drives, vm.Pending)
	for slot, value := range drives {
		if isDrive(slot) && strings.HasPrefix(value, storage+":iso/proxplane-") && inspect.VolumeOf(st, vm.Node, value) != "" {
			return true
		}
	}
	return false
}

// free reports whether nothing holds a machine on its node: no disk that it or one of its snapshots has, or that it gets at its next
// start, is on that alone, and there are CPUs enough on all others.
func free(st *pvesim.State, vm *pvesim.VM) bool {
	confs := []pvesim.Conf{vm.Conf, vm.Pending}
	for _, snap := range vm.Snaps {
		confs = append(confs, snap.Conf)
	}
	for _, conf := range confs {
		for slot, value := range conf {
			storage, _, ok := strings.Cut(value, ":")
			if ok && isDrive(slot) && !st.Storages[storage].Shared() {
				return false
			}
		}
	}
	for _, n := range st.Nodes {
		if n.CPUs < manyCPUs {
			return false
		}
	}
	return true
}
