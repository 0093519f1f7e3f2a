package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// liveOptions take effect on a running guest as soon as they are set.
var liveOptions = []string{
	"name", "description", "tags", "onboot", "startup", "protection", "shares", "hookscript",
	"cpulimit", "cpuunits", "vmstatestorage",
}

// cloudInitOptions matter at the next first boot only, so no restart is asked
// for because of them.
func cloudInitOption(k string) bool {
	switch k {
	case "ciuser", "cipassword", "citype", "cicustom", "ciupgrade", "sshkeys", "nameserver", "searchdomain":
		return true
	}
	return strings.HasPrefix(k, "ipconfig")
}

// takes reports whether a running guest takes a change of an option without a restart.
func (c *change) takes(k, have, want string) bool {
	switch k {
	case "agent":
		return agentDevice(have) == agentDevice(want)
	case "balloon":
		return (have == "0") == (want == "0") // the device itself can't be plugged
	case "hotplug":
		return !strings.Contains(have+want, "cpu") && !strings.Contains(have+want, "memory")
	}
	return c.hotplugs(k)
}

// agentDevice returns the part of the option agent that the guest's devices depend on.
func agentDevice(value string) string {
	parts := slices.DeleteFunc(strings.Split(value, ","), func(p string) bool { return strings.HasPrefix(p, "fstrim_cloned_disks=") })
	return strings.Join(parts, ",")
}

// hotplugs reports whether a running guest takes a change of the option or slot
// without a restart, as its own hotplug setting allows.
func (c *change) hotplugs(k string) bool {
	if slices.Contains(liveOptions, k) {
		return true
	}
	setting := c.have.Options["hotplug"]
	switch setting {
	case "", "1":
		setting = "network,disk,usb"
	case "0":
		return false
	}
	has := func(feature string) bool { return slices.Contains(strings.Split(setting, ","), feature) }
	switch {
	case isSlot(k, "net"):
		return has("network")
	case isSlot(k, "scsi"), isSlot(k, "virtio"):
		return has("disk")
	case isSlot(k, "usb"), k == "tablet":
		return has("usb")
	case k == "vcpus":
		return has("cpu")
	case k == "memory":
		return has("memory") && c.have.Options["numa"] == "1"
	}
	return false
}

// isSlot reports whether k is a slot of the family, like scsi3.
func isSlot(k, family string) bool {
	n, ok := strings.CutPrefix(k, family)
	return ok && n != "" && strings.Trim(n, "0123456789") == ""
}

// pending returns the managed options that wait for a restart: those that are pending in Proxmox, and those
// that this plan changes.
func (c *change) pending() []string {
	keys := slices.Clone(c.later)
	for k := range c.have.Pending {
		if !cloudInitOption(k) && !c.undone[k] && c.looksAfter(k) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// atRestart returns what the options in keys are while the guest runs, and after its restart.
func (c *change) atRestart(keys []string) Pending {
	was, is := maps.Clone(c.have.Options), overlaid(c.have.Options, c.v.Options)
	for k := range c.have.Pending {
		delete(was, k)
	}
	if c.have.Running != nil {
		maps.Copy(was, c.have.Running.Options)
	}
	cpus := func(k string) bool { return k == "cores" || k == "sockets" || k == "vcpus" }
	var p Pending
	if from, to := model.CPUsOf(was), model.CPUsOf(is); slices.ContainsFunc(keys, cpus) && from != to && to > 0 {
		p.CPUs, p.NextCPUs = max(1, from), to
		keys = slices.DeleteFunc(slices.Clone(keys), cpus)
	}
	if from, to := model.MemoryOf(was), model.MemoryOf(is); slices.Contains(keys, "memory") && from != to && from > 0 && to > 0 {
		p.Memory, p.NextMemory = from, to
		keys = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == "memory" })
	}
	p.Keys = keys
	return p
}

// undoes reports whether a change sets an option or slot back to what the running guest
// has: Proxmox then drops what is pending, and no restart is needed.
func (c *change) undoes(k string, same func(running *model.Config) bool) bool {
	if _, pending := c.have.Pending[k]; !pending || c.have.Running == nil || !c.running() || !same(c.have.Running) {
		return false
	}
	c.supersede(k)
	return true
}

// supersede records that the running guest takes a change at once: nothing of the slot or option
// is pending any more.
func (c *change) supersede(k string) {
	if c.undone == nil {
		c.undone = map[string]bool{}
	}
	c.undone[k] = true
}

// stuck reports whether an earlier change of an option or slot waits for a restart. A further change is compared
// with what the running guest has.
func (c *change) stuck(k string) bool {
	_, pending := c.have.Pending[k]
	return pending && !c.undone[k] && c.running()
}

// looksAfter reports whether an option or slot is managed: the manifest or the marker names it.
func (c *change) looksAfter(k string) bool {
	if _, ok := c.v.Options[k]; ok {
		return true
	}
	for _, n := range c.v.NICs {
		if n.Slot == k {
			return true
		}
	}
	for _, d := range c.v.Disks {
		if c.slotOf(d) == k {
			return true
		}
	}
	if d, ok := c.have.DiskAt(k); ok && c.managed("disk:"+diskName(d)) {
		return true
	}
	return c.managed(k) || c.managed("nic:"+k)
}
