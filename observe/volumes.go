package observe

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// Volumes reads which disks the storages have, whoever uses them. What can't be read is left out:
// nobody concludes anything from it.
func (o *Observer) Volumes(ctx context.Context) error {
	begun := time.Now()
	var ask []place
	shared := map[string]bool{}
	o.View(func(have *model.Observed) {
		ask = places(have, "images")
		for name, s := range have.Storages {
			shared[name] = s.Shared
		}
	})
	all := model.Volumes{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	for _, p := range ask {
		wg.Go(func() {
			list, err := o.client.Storage(p.node, p.storage).Content(ctx, pve.ContentFilter{Content: "images"})
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, pve.ErrUnauthorized) || ctx.Err() != nil {
				failed = err
			}
			if err != nil {
				return
			}
			node := p.node
			if shared[p.storage] {
				node = ""
			}
			if all[p.storage] == nil {
				all[p.storage] = map[string][]model.Volume{}
			}
			volumes := make([]model.Volume, 0, len(list))
			for _, v := range list {
				volumes = append(volumes, model.Volume{ID: v.ID, Node: p.node, VMID: v.VMID, Parent: v.Parent})
			}
			all[p.storage][node] = volumes
		})
	}
	wg.Wait()
	if failed != nil {
		return failed
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.have.Volumes = all
	for vmid, r := range o.records {
		if r.config == nil || r.configAt.After(begun) {
			continue // it may name disks that were made since
		}
		if missing := all.Missing(r.config, r.guest().Node); len(missing)+len(r.missing) > 0 {
			r.missing = missing
			o.put(vmid)
		}
	}
	return nil
}
