package observe

import (
	"context"
	"sync"
	"time"

	"github.com/proxplane/proxplane/pve"
)

// nodePatience is how long a look waits for what a node says of its tasks.
const nodePatience = 3 * time.Second

// ended asks nodes about tasks of others that the list of the cluster shows as running for the first time, and
// replaces them by the answers. That list may show ends late, so that a plan right after an apply would wait
// for a task that has ended. Later lists show the end of a task that did run.
func (o *Observer) ended(ctx context.Context, tasks []pve.TaskInfo) {
	began := map[string]time.Time{} // the first of them, by node
	o.mu.RLock()
	for _, t := range tasks {
		upid := t.UPID.String()
		if !t.Running() || o.ours[upid] != nil || o.tasks[upid] {
			continue
		}
		if first, ok := began[t.UPID.Node]; !ok || t.UPID.StartTime().Before(first) {
			began[t.UPID.Node] = t.UPID.StartTime()
		}
	}
	o.mu.RUnlock()
	if len(began) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, nodePatience)
	defer cancel()
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		known = map[pve.UPID]pve.TaskInfo{}
	)
	for node, since := range began {
		all.Go(func() {
			list, _, err := o.client.Node(node).Tasks(ctx, pve.TaskFilter{Source: "all", Since: since, Limit: len(tasks) + 50})
			if err != nil {
				return // then they run, as far as anybody knows
			}
			mu.Lock()
			defer mu.Unlock()
			for _, t := range list {
				known[t.UPID] = t
			}
		})
	}
	all.Wait()
	for i, t := range tasks {
		if now, ok := known[t.UPID]; ok && t.Running() && !now.Running() {
			tasks[i].EndTime, tasks[i].Status = now.EndTime, now.Status
		}
	}
}
