package pvesim

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// number is an option as a whole number.
func (c Conf) number(key string, def int) int {
	if n, err := strconv.Atoi(c[key]); err == nil {
		return n
	}
	return def
}

// memoryOf is the memory of a VM in bytes.
func memoryOf(c Conf) int64 {
	text := c["memory"]
	for _, part := range strings.Split(text, ",") {
		if v, ok := strings.CutPrefix(part, "current="); ok {
			text = v
		}
	}
	text, _, _ = strings.Cut(text, ",")
	mib, err := strconv.ParseInt(text, 10, 64)
	if err != nil || mib == 0 {
		mib = 512
	}
	return mib << 20
}

// property finds a key in a property string; main is the key whose name may
// be left out.
func property(text, key, main string) (string, bool) {
	for _, part := range strings.Split(text, ",") {
		k, v, named := strings.Cut(part, "=")
		switch {
		case named && k == key:
			return v, true
		case !named && key == main && part != "":
			return part, true
		}
	}
	return "", false
}

// perlBool reads the booleans that property strings may hold.
func perlBool(text string) bool {
	switch strings.ToLower(text) {
	case "1", "on", "yes", "true":
		return true
	}
	return false
}

// agentEnabled reports whether the VM has the guest agent's device.
func agentEnabled(c Conf) bool {
	v, _ := property(c["agent"], "enabled", "enabled")
	return perlBool(v)
}

// bootDiskSize is the size of the first disk that the VM boots from.
func bootDiskSize(c Conf) int64 {
	for _, key := range c.bootOrder() {
		value, ok := c[key]
		if !ok || !isDriveKey[key] {
			continue
		}
		if d := parseDrive(key, value); !d.cdrom() && d.volume != "" {
			size, _ := schema.ParseSize(d.opt("size"))
			return size
		}
	}
	return 0
}

// vcpus is how many CPUs the VM has on its node.
func (s *Sim) vcpus(vm *VM) int {
	n := vm.Conf.number("sockets", 1) * vm.Conf.number("cores", 1)
	if node := s.state.Nodes[vm.Node]; node != nil && node.CPUs > 0 {
		n = min(n, node.CPUs)
	}
	if v := vm.Conf.number("vcpus", 0); v > 0 {
		n = v
	}
	return n
}

// vmStatus is what lists say of a VM; full adds what only QEMU itself knows.
func (s *Sim) vmStatus(vm *VM, full bool) map[string]any {
	c := vm.Conf
	out := map[string]any{
		"vmid": vm.ID, "status": "stopped", "disk": 0, "maxdisk": bootDiskSize(c),
		"cpus": s.vcpus(vm), "maxmem": memoryOf(c), "name": vm.Name(),
		"uptime": 0, "cpu": 0, "mem": 0, "netin": 0, "netout": 0,
	}
	if vm.Name() == "" {
		out["name"] = fmt.Sprintf("VM %d", vm.ID)
	}
	if s.atLeast(9) {
		out["memhost"] = 0
	} else {
		out["diskread"], out["diskwrite"] = 0, 0
	}
	if balloon := c.number("balloon", 0); balloon > 0 {
		out["balloon_min"] = int64(balloon) << 20
		out["shares"] = c.number("shares", 1000)
	}
	if vm.Template() {
		out["template"] = 1
	}
	for key, value := range c {
		if value != "" && family(key, "serial") {
			out["serial"] = 1
		}
	}
	if c["lock"] != "" {
		out["lock"] = c["lock"]
	}
	if tags, ok := c["tags"]; ok {
		out["tags"] = tags
	}
	if vm.Run != nil {
		s.runStatus(vm, full, out)
	}
	if full {
		out["qmpstatus"] = out["status"]
		if vm.Run != nil {
			out["qmpstatus"] = vm.Run.qmpStatus()
		}
	}
	return out
}

// runStatus adds what a VM that runs shows.
func (s *Sim) runStatus(vm *VM, full bool, out map[string]any) {
	r := vm.Run
	now := s.now()
	uptime := int(now.Sub(r.Started).Seconds())
	out["status"], out["pid"], out["uptime"] = "running", r.PID, uptime
	mem := min(r.Mem, 40<<20+r.Mem/16)
	if r.up(now) {
		mem = r.Mem / 2
		out["cpu"] = 0.01
	}
	out["mem"] = mem
	if s.atLeast(9) {
		out["memhost"] = mem
		for _, what := range []string{"cpu", "io", "memory"} {
			out["pressure"+what+"some"], out["pressure"+what+"full"] = 0, 0
		}
	}
	nics := map[string]any{}
	in, outgoing := 0, 0
	for key, value := range vm.Conf {
		if value == "" || !family(key, "net") {
			continue
		}
		nic := map[string]any{"netin": 110 * (1 + uptime/5), "netout": 0}
		if r.up(now) {
			nic["netout"] = 656 + 84*uptime
		}
		in += nic["netin"].(int)
		outgoing += nic["netout"].(int)
		nics[fmt.Sprintf("tap%di%s", vm.ID, strings.TrimPrefix(key, "net"))] = nic
	}
	out["netin"], out["netout"] = in, outgoing
	if full && len(nics) > 0 {
		out["nics"] = nics
	}
}

// haManaged reports whether the high-availability manager starts and stops
// the VM; ignored resources count as not managed.
func (s *Sim) haManaged(vmid int) bool {
	res, ok := s.state.HA.Resources[fmt.Sprintf("vm:%d", vmid)]
	return ok && res["state"] != "ignored"
}

// getStatus answers status/current.
func getStatus(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	out := c.vmStatus(vm, true)
	ha := map[string]any{"managed": 0}
	if c.haManaged(vm.ID) {
		ha["managed"] = 1
		ha["state"] = c.haState(vm)
	}
	out["ha"] = ha
	if vga := vm.Conf["vga"]; vga != "" {
		typ, _ := property(vga, "type", "type")
		if strings.HasPrefix(typ, "virtio") || strings.HasPrefix(typ, "qxl") {
			out["spice"] = 1
		}
		out["clipboard"] = nil
		if clip, ok := property(vga, "clipboard", "type"); ok {
			out["clipboard"] = clip
		}
	}
	if agentEnabled(vm.Conf) {
		out["agent"] = 1
	}
	return out, nil
}

// statusIndex lists what is below status.
func statusIndex(c *call) (any, error) {
	if _, err := c.vm(); err != nil {
		return nil, err
	}
	var out []map[string]any
	for _, name := range []string{"current", "start", "stop", "reset", "shutdown", "suspend", "reboot"} {
		out = append(out, map[string]any{"subdir": name})
	}
	return out, nil
}
