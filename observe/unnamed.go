package observe

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// A volume with the VMID of a guest in its name needn't be the guest's: somebody may have removed the config of an earlier
// guest by hand, and its VMID has been taken again since. No list of Proxmox shows that, and a guest that is destroyed
// leaves such a volume behind.

// comesIn is how long a disk may be there before the config names it: Proxmox makes it first.
const comesIn = 2 * time.Minute

// findUnnamed reads which of the volumes with the VMIDs of guests belong to nothing that these guests have. It is about guests
// whose configs were read, and costs requests only where a config doesn't name all of its volumes.
func (o *Observer) findUnnamed(ctx context.Context, all model.Volumes) error {
	type suspect struct {
		node    string
		volumes []string
	}
	suspects := map[int]suspect{}
	of, now := map[int][]model.Volume{}, o.client.Now()
	for _, list := range all {
		for _, v := range list {
			of[v.VMID] = append(of[v.VMID], v)
		}
	}
	o.mu.Lock()
	for vmid, r := range o.records {
		if was := len(r.unnamed) > 0; was {
			r.unnamed = nil
			o.put(vmid)
		}
		if r.config == nil || r.config.Half || r.lock != "" || slices.ContainsFunc(o.have.Tasks, func(t model.Task) bool { return t.VMID == vmid }) {
			continue
		}
		var volumes []string
		for _, v := range of[vmid] {
			// The memory of a snapshot is named by the snapshot, which isn't read for it.
			if recent := !v.Created.IsZero() && now.Sub(v.Created) < comesIn; !recent && !r.config.Names(v.ID) && !model.CloudInitVolume(v.ID) && !strings.Contains(model.VolumeName(v.ID), "-state-") {
				volumes = append(volumes, v.ID)
			}
		}
		if len(volumes) > 0 {
			slices.Sort(volumes)
			suspects[vmid] = suspect{r.listed.Node, slices.Compact(volumes)}
		}
	}
	o.mu.Unlock()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for vmid, s := range suspects {
		wg.Go(func() {
			unnamed, err := o.guestDisks.Unnamed(ctx, o.client, pve.Resource{Node: s.node, VMID: vmid}, s.volumes)
			if err != nil { // then nothing is said about them
				if hopeless(ctx, err) {
					mu.Lock()
					defer mu.Unlock()
					failed = err
				}
				return
			}
			o.change(vmid, func(r *record) { r.unnamed = unnamed })
		})
	}
	wg.Wait()
	return failed
}
