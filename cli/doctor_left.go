package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// leftAge is how far back it is looked for disks that Proxmox has left.
const leftAge = 7 * 24 * time.Hour

// leftovers names disks that Proxmox couldn't remove with their machines, and that
// nobody has removed since. Those of machines that were ours go by themselves with the
// next run, unless it has a password: then a person may have destroyed them.
func (e *examination) leftovers() {
	for _, node := range slices.Sorted(maps.Keys(e.have.Nodes)) {
		if !e.have.Nodes[node].Online {
			continue
		}
		found, err := e.c.actor.LeftOn(e.ctx, node, time.Now().Add(-leftAge))
		if err != nil {
			e.skip(areaCluster, fmt.Sprintf("whether Proxmox has left disks on %s isn't known: %s", node, shortCause(err)), "")
		}
		for _, left := range found {
			e.warn(areaCluster, fmt.Sprintf("Proxmox couldn't remove %s on %s when VM %d was destroyed, and no machine uses it", left, node, left.VMID),
				"To remove it, on "+node+": pvesm free "+strings.Join(left.Volumes, "; pvesm free "))
		}
	}
}
