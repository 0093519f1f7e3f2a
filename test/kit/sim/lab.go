package sim

import (
	"fmt"
	"time"

	"github.com/proxplane/proxplane/pvesim"
)

// Lab is a world for tests in virtual time, with times as of a real cluster: some nodes of one size with local
// storage, each with a template of the same name.
func Lab(nodes int, size pvesim.WorldNode, template string) *pvesim.World {
	ms := func(n int) pvesim.Duration { return pvesim.Duration(time.Duration(n) * time.Millisecond) }
	w := &pvesim.World{
		Release: "9.2", Cluster: "lab",
		Storages: []pvesim.WorldStorage{
			{Name: "local", Type: "dir", Path: "/var/lib/vz", Size: 2 << 40, Content: []string{"images", "iso", "import", "snippets"}},
			{Name: "local-lvm", Type: "lvmthin", Size: 8 << 40, Content: []string{"images"}, Options: map[string]string{"vgname": "pve", "thinpool": "data"}},
		},
		Users: []pvesim.WorldUser{{ID: "root@pam", Password: "secret"}},
		DHCP:  pvesim.WorldDHCP{Range: "10.7.0.1-10.7.200.250", Bits: 16},
		Timing: pvesim.Timing{
			Request: ms(5), Config: ms(200), Clone: ms(2000), Start: ms(1000), Boot: ms(1000), Agent: ms(3000), Stop: ms(200), Shutdown: ms(1000), Destroy: ms(500),
		},
		Load: pvesim.Load{AgentWait: ms(3000), StatusRound: ms(10000)},
	}
	for i := range nodes {
		node := size
		node.Name, node.Bridges = fmt.Sprintf("pve%d", i+1), []pvesim.WorldBridge{{Name: "vmbr0"}}
		w.Nodes = append(w.Nodes, node)
		w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 9000 + i, Node: node.Name, Template: true, System: pvesim.WithAgent, Config: map[string]string{
			"name": template, "ostype": "l26", "cores": "2", "memory": "2048", "agent": "enabled=1", "scsihw": "virtio-scsi-pci",
			"scsi0": "local-lvm:8", "net0": "virtio,bridge=vmbr0", "boot": "order=scsi0",
		}})
	}
	return w
}
