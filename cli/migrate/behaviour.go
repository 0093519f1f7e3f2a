package migrate

import (
	"fmt"
	"reflect"
)

// behaviour is what a provider does with a machine, and what isn't part of the machine: Proxmox doesn't know it.
type behaviour struct {
	attribute string
	usual     any    // what it is when nobody says so
	instead   string // what ours has for it
}

// behaviours of the resources that are machines.
var behaviours = map[string][]behaviour{
	"proxmox_virtual_environment_vm": {
		{"reboot", false, "machines aren't restarted after they are made"},
		{"reboot_after_update", true, "restarts are refused unless update_policy = { restart = \"Allow\" }"},
		{"migrate", false, "machines are moved by placement = { node_selector = [\"NODE\"] } and update_policy = { move = \"Allow\" }"},
	},
	"proxmox_vm_qemu": {
		{"automatic_reboot", true, "restarts are refused unless update_policy = { restart = \"Allow\" }"},
		{"force_create", false, "a VMID that is taken is refused when planned"},
		{"define_connection_info", true, "the attribute machines has the addresses"},
		{"ssh_forward_ip", nil, "the attribute machines has the addresses"},
		{"ssh_user", nil, "name it where it is used"},
		{"ssh_private_key", nil, "name it where it is used"},
		{"os_network_config", nil, "see networks and user_data"},
	},
}

// notCarried names what a machine's resource said of how its provider works, and why the new one doesn't.
func (m theirs) notCarried() (lines []string) {
	for _, b := range behaviours[m.kind] {
		value := m.said[b.attribute]
		if value == nil || value == "" || reflect.DeepEqual(value, b.usual) {
			continue
		}
		what := b.attribute // alone, as a text may be secret
		if _, text := value.(string); !text {
			what = fmt.Sprintf("%s = %v", b.attribute, value)
		}
		lines = append(lines, fmt.Sprintf("%s isn't taken over: %s.", what, b.instead))
	}
	return lines
}

// madeFrom is what a machine is a clone of: a VMID, or a name; empty: nothing says so.
func (m theirs) madeFrom() string {
	switch clone := m.said["clone"].(type) {
	case string: // Telmate's
		return clone
	case []any: // bpg's: a block
		if len(clone) == 1 {
			if block, ok := clone[0].(map[string]any); ok {
				if id := vmidIn(block["vm_id"]); id != 0 {
					return fmt.Sprint(id)
				}
			}
		}
	}
	if id := vmidIn(m.said["clone_id"]); id != 0 {
		return fmt.Sprint(id)
	}
	return ""
}
