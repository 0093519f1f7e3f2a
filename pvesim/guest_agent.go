package pvesim

import (
	"github.com/proxplane/proxplane/pvesim/guestos"
)

// agentAnswers pings the guest agent; one that is down makes the caller wait
// as long as Proxmox does.
func (a *actor) agentAnswers(vm *VM) bool {
	r := vm.Run
	if a.machines != nil {
		_, err := a.agent(vm, "ping", nil)
		return err == nil && vm.Run == r
	}
	if r.agentUp(a.now()) {
		return true
	}
	a.sleep(a.world.Load.AgentWait.D())
	return r.agentUp(a.now()) && vm.Run == r
}

// agentInfo is what the agent says of itself.
func agentInfo() any {
	var commands []map[string]any
	for _, name := range agentCommands {
		silent := name == "shutdown" || name == "suspend-disk" || name == "suspend-ram" || name == "suspend-hybrid"
		commands = append(commands, map[string]any{"name": "guest-" + name, "enabled": true, "success-response": !silent})
	}
	return map[string]any{"version": "10.0.13", "supported_commands": commands}
}

// agentCommands are those that the agent of the simulated system knows.
var agentCommands = []string{
	"network-get-route", "get-load", "get-cpustats", "get-diskstats", "ssh-remove-authorized-keys",
	"ssh-add-authorized-keys", "ssh-get-authorized-keys", "get-osinfo", "get-timezone", "get-users", "get-host-name",
	"exec", "exec-status", "get-memory-block-info", "set-memory-blocks", "get-memory-blocks", "set-user-password",
	"get-fsinfo", "get-disks", "set-vcpus", "get-vcpus", "network-get-interfaces", "suspend-hybrid", "suspend-ram",
	"suspend-disk", "fstrim", "fsfreeze-thaw", "fsfreeze-freeze-list", "fsfreeze-freeze", "fsfreeze-status",
	"file-flush", "file-seek", "file-write", "file-read", "file-close", "file-open", "shutdown", "info", "set-time",
	"get-time", "ping", "sync", "sync-delimited",
}

// memoryBlock is the unit in which the guest's kernel takes memory on- and
// offline.
const memoryBlock = 128 << 20

// askAgent has the agent answer a command without parameters.
func (s *Sim) askAgent(vm *VM, command string) any {
	g := vm.Run.Guest
	switch command {
	case "ping":
		return map[string]any{}
	case "info":
		return agentInfo()
	case "get-time":
		return s.now().UnixNano()
	case "get-timezone":
		return map[string]any{"zone": "UTC", "offset": 0}
	case "get-host-name":
		return map[string]any{"host-name": g.Name}
	case "get-osinfo":
		return map[string]any{
			"name": "Test Linux", "id": "testlinux", "pretty-name": "Test Linux 1", "version": "1", "version-id": "1",
			"machine": guestos.Architecture, "kernel-release": guestos.Kernel, "kernel-version": guestos.KernelBuild,
		}
	case "get-users", "get-fsinfo":
		return []any{}
	case "get-vcpus":
		cpus := []map[string]any{}
		for i := range s.vcpus(vm) {
			cpus = append(cpus, map[string]any{"logical-id": i, "online": true, "can-offline": i > 0})
		}
		return cpus
	case "get-memory-block-info":
		return map[string]any{"size": memoryBlock}
	case "get-memory-blocks":
		blocks := []map[string]any{}
		for i := range max(1, vm.Run.Mem/memoryBlock) {
			blocks = append(blocks, map[string]any{"phys-index": i, "online": true, "can-offline": true})
		}
		return blocks
	case "network-get-interfaces":
		return s.interfaces(vm)
	case "fstrim":
		return map[string]any{"paths": []any{}}
	case "fsfreeze-status":
		if g.Frozen {
			return "frozen"
		}
		return "thawed"
	case "fsfreeze-freeze":
		g.Frozen = true
		return 0
	case "fsfreeze-thaw":
		g.Frozen = false
		return 0
	}
	return map[string]any{"error": map[string]any{
		"class": "CommandNotFound", "desc": "The command guest-" + command + " has not been found",
	}}
}
