package observe

import (
	"cmp"
	"slices"
	"time"
)

// Oldest are those n of some guests whose configs were read the longest ago, or never.
// Guests of nodes that are offline aren't among them.
func (o *Observer) Oldest(vmids []int, n int) []int {
	o.mu.RLock()
	defer o.mu.RUnlock()
	var list []int
	for _, vmid := range vmids {
		r := o.records[vmid]
		if r == nil {
			continue
		}
		if node := o.have.Nodes[r.listed.Node]; node != nil && node.Online {
			list = append(list, vmid)
		}
	}
	slices.SortFunc(list, func(a, b int) int {
		return cmp.Or(o.records[a].configAt.Compare(o.records[b].configAt), a-b)
	})
	list = slices.Compact(list)
	return list[:min(n, len(list))]
}

// Verified is when a guest's config was last read, and was so since as far as lists
// show; zero: it has to be read.
func (o *Observer) Verified(vmid int) time.Time {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if r := o.records[vmid]; r != nil && r.config != nil {
		return r.configAt
	}
	return time.Time{}
}
