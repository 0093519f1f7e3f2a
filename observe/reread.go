package observe

import (
	"cmp"
	"slices"
	"time"
)

// Oldest returns the n guests that were verified the longest ago, or never; guests that seem to lack a
// disk come first. Verifying all of them needs no more requests than limit. Guests of offline nodes
// aren't included.
func (o *Observer) Oldest(vmids []int, n, limit int) []int {
	o.mu.RLock()
	defer o.mu.RUnlock()
	var list []int
	doubtful := map[int]int{}
	for _, vmid := range vmids {
		r := o.records[vmid]
		if r == nil {
			continue
		}
		if node := o.have.Nodes[r.listed.Node]; node != nil && node.Online {
			list = append(list, vmid)
			if r.doubtful() {
				doubtful[vmid] = 1
			}
		}
	}
	slices.SortFunc(list, func(a, b int) int {
		return cmp.Or(doubtful[b]-doubtful[a], o.records[a].configAt.Compare(o.records[b].configAt), a-b)
	})
	list = slices.Compact(list)
	for i, vmid := range list {
		limit -= 1 + doubtful[vmid] // it is asked for the privileges, too
		if o.records[vmid].firewall != nil {
			limit -= 2 // options and rules
		}
		if limit < 0 || i >= n && doubtful[vmid] == 0 {
			return list[:i]
		}
	}
	return list
}

// Verified returns when a guest's config was last read, if lists have shown no change
// since; zero: it has to be read.
func (o *Observer) Verified(vmid int) time.Time {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if r := o.records[vmid]; r != nil && r.config != nil {
		return r.configAt
	}
	return time.Time{}
}
