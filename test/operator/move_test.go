package operator_test

import (
	"fmt"
	"strings"
	"testing"
)

// A machine on a node that is closed stays there and says so, until it may be moved.
func TestAMachineLeavesANodeInMaintenanceOnceItMay(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	node := s.field("vm/web", ".status.node")
	s.kubectl("patch", "provider", "proxmox", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"nodes":{%q:{"maintenance":true}}}}`, node))
	s.until("the machine says that it isn't where it should be", func() bool {
		text := s.field("vm/web", `.status.conditions[?(@.type=="Ready")].message`)
		return strings.Contains(text, "it is on "+node+", which is in maintenance; it stays there; set spec.updatePolicy.move: Allow to migrate it to")
	})
	s.kubectl("patch", "vm", "web", "--type=merge", "-p", `{"spec":{"updatePolicy":{"move":"Allow"}}}`)
	s.until("the machine is elsewhere", func() bool { return s.field("vm/web", ".status.node") != node })
	s.waitFor("--for=condition=Ready", "vm/web")

	// The same by the maintenance mode of Proxmox.
	s.kubectl("patch", "provider", "proxmox", "--type=json", "-p", `[{"op":"remove","path":"/spec/nodes"}]`)
	s.waitFor("--for=condition=Ready", "vm/web")
	node = s.field("vm/web", ".status.node")
	if err := s.pve.Maintenance(node, true); err != nil {
		t.Fatal(err)
	}
	s.until("the machine is elsewhere again", func() bool { return s.field("vm/web", ".status.node") != node })
}
