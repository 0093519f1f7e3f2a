package leftover

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/proxplane/proxplane/pve"
)

// Guests remembers what the configs of guests name. Proxmox' digest of a config is of all of it, with what
// is pending and with its snapshots: as long as it is the same, one request shows that a guest names what
// it named before, instead of three and one for each snapshot. The zero value is ready for use.
type Guests struct {
	mu      sync.Mutex
	known   map[int]guest
	reading map[int]chan struct{} // closed when somebody has read that guest
}

type guest struct {
	digest, node string
	read         time.Time // when the digest was seen last
	configs      []pve.Settings
}

// forget is how long a guest is remembered that nobody asks about.
const forget = 10 * time.Minute

// Unnamed returns which of some volumes nothing of a guest names, neither its config, with and without what is pending, nor its
// snapshots. While the guest is locked or a task works on it, that isn't known, and none is returned.
func (g *Guests) Unnamed(ctx context.Context, c *pve.Client, r pve.Resource, volumes []string) ([]string, error) {
	configs, err := g.configsOf(ctx, c, r, 0)
	if err != nil || configs[0]["lock"] != "" {
		return nil, err
	}
	tasks, _, err := c.Node(r.Node).Tasks(ctx, pve.TaskFilter{Source: "active", VMID: r.VMID})
	if err != nil || len(tasks) > 0 {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(volumes), func(v string) bool { return named(v, configs) }), nil
}

// configsOf are all that a guest may get its disks from, as it was within the last moments: its config,
// with and without what is pending, and those of its snapshots.
func (g *Guests) configsOf(ctx context.Context, c *pve.Client, r pve.Resource, within time.Duration) ([]pve.Settings, error) {
	was, fresh, err := g.begin(ctx, r, within)
	if err != nil || fresh {
		return was.configs, err
	}
	defer g.end(r.VMID)
	known := was.configs != nil
	now := guest{node: r.Node, read: time.Now()}
	current, err := c.VM(r.Node, r.VMID).Config(ctx, pve.ConfigOptions{Current: true})
	if err != nil {
		return nil, err
	}
	now.digest = current.Digest
	if known && now.digest != "" && now.digest == was.digest {
		now.configs = was.configs
	} else if now.configs, err = allConfigs(ctx, c, r, current.Settings); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known == nil {
		g.known = map[int]guest{}
	}
	g.known[r.VMID] = now
	for id, one := range g.known {
		if now.read.Sub(one.read) > forget {
			delete(g.known, id)
		}
	}
	return now.configs, nil
}

// begin is what is known of a guest, and whether that is fresh enough. If it isn't, the caller reads the
// guest, and others who ask for it meanwhile wait for that instead of reading it, too.
func (g *Guests) begin(ctx context.Context, r pve.Resource, within time.Duration) (was guest, fresh bool, err error) {
	for {
		g.mu.Lock()
		if was = g.known[r.VMID]; was.node != r.Node {
			was = guest{}
		}
		if was.configs != nil && time.Since(was.read) < within {
			g.mu.Unlock()
			return was, true, nil
		}
		busy := g.reading[r.VMID]
		if busy == nil {
			if g.reading == nil {
				g.reading = map[int]chan struct{}{}
			}
			g.reading[r.VMID] = make(chan struct{})
			g.mu.Unlock()
			return was, false, nil
		}
		g.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return guest{}, false, ctx.Err()
		}
	}
}

// end lets those who waited for a guest go on.
func (g *Guests) end(vmid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.reading[vmid])
	delete(g.reading, vmid)
}

// allConfigs are the current config, that with what is pending, and those of snapshots.
func allConfigs(ctx context.Context, c *pve.Client, r pve.Resource, current pve.Settings) ([]pve.Settings, error) {
	vm := c.VM(r.Node, r.VMID)
	next, err := vm.Config(ctx, pve.ConfigOptions{})
	if err != nil {
		return nil, err
	}
	list := []pve.Settings{current, next.Settings}
	snapshots, _, err := vm.Snapshots(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range snapshots {
		then, err := vm.SnapshotConfig(ctx, s.Name)
		if err != nil {
			return nil, err
		}
		list = append(list, then.Settings)
	}
	return list, nil
}
