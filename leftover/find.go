package leftover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// What a task has left is known to the process that follows it. When that was killed, only the log
// tells, and time has passed: somebody may have found the disk and put it to use. Then more has to be
// proved before it is removed.

// Find looks for the disks that were left, and for what proves that they may go. What guests have may
// have been read within a time before.
func Find(ctx context.Context, c *pve.Client, left model.Left, guests *Guests, within time.Duration) (*model.Found, error) {
	volumes, err := there(ctx, c, left)
	found := &model.Found{There: volumes}
	if err != nil || len(volumes) == 0 {
		return found, err
	}
	// The volumes were there before this look, so that no guest that comes after it
	// can have made them.
	err = c.Cluster().CheckID(ctx, left.VMID)
	found.Taken = errors.Is(err, pve.ErrExists)
	switch {
	case err != nil && !found.Taken:
		return nil, fmt.Errorf("look whether VMID %d is free: %w", left.VMID, err)
	case left.Watched, found.Taken && left.Half():
		return found, nil // that decides it
	}
	if err := findUsers(ctx, c, left, found, func(g pve.Resource) ([]pve.Settings, error) { return guests.configsOf(ctx, c, g, within) }); err != nil {
		return nil, err
	}
	return found, nil
}

// there are the disks of what was left that are there, whoever uses them.
func there(ctx context.Context, c *pve.Client, left model.Left) ([]string, error) {
	switch {
	case left.Half():
		return madeSince(ctx, c, left)
	case left.Watched:
		return left.Volumes, nil
	}
	return stillThere(ctx, c, left)
}

// clockSlack is how much later than its task a disk may seem to have been made:
// Proxmox counts in seconds.
const clockSlack = 2 * time.Second

// old reports whether a volume was there when the task ended, and nobody has written into
// it since. Some storages don't tell: then it may be anybody's.
func old(left model.Left, v pve.Volume) bool {
	return left.Watched || !v.Created.IsZero() && !v.Created.After(left.Ended.Add(clockSlack))
}

// madeSince are the disks with the VMID that came into being since a time, and that
// of a cloud-init drive whenever it did: it holds nothing but what Proxmox writes
// into it, and no guest with the VMID can be made as long as it is there.
func madeSince(ctx context.Context, c *pve.Client, left model.Left) ([]string, error) {
	storages, err := c.Node(left.Node).Storages(ctx, pve.StorageFilter{Content: []string{"images"}, Enabled: true})
	if err != nil {
		return nil, fmt.Errorf("list the storages of %s: %w", left.Node, err)
	}
	var volumes []string
	for _, s := range storages {
		if !s.Active {
			continue
		}
		list, err := c.Storage(left.Node, s.Name).Content(ctx, pve.ContentFilter{Content: "images", VMID: left.VMID})
		if err != nil {
			return nil, fmt.Errorf("list what is on %s: %w", s.Name, err)
		}
		for _, v := range list {
			cloudInit := strings.Contains(v.ID, fmt.Sprintf("vm-%d-cloudinit", left.VMID))
			if v.VMID == left.VMID && (cloudInit || !v.Created.Before(left.Since)) && old(left, v) {
				volumes = append(volumes, v.ID)
			}
		}
	}
	slices.SortFunc(volumes, strings.Compare)
	return volumes, nil
}

// stillThere are the disks that a destruction has named, as far as they are there and
// have not been used since.
func stillThere(ctx context.Context, c *pve.Client, left model.Left) (volumes []string, err error) {
	lists := map[string][]pve.Volume{}
	for _, id := range left.Volumes {
		storage := model.StorageOf(id)
		if _, read := lists[storage]; !read {
			lists[storage], err = c.Storage(left.Node, storage).Content(ctx, pve.ContentFilter{Content: "images", VMID: left.VMID})
			if err != nil {
				return nil, fmt.Errorf("list what is on %s: %w", storage, err)
			}
		}
		if slices.ContainsFunc(lists[storage], func(v pve.Volume) bool { return v.ID == id && v.VMID == left.VMID && old(left, v) }) {
			volumes = append(volumes, id)
		}
	}
	return volumes, nil
}

// findUsers finds which guests name the volumes, whatever their VMIDs: people attach disks by hand to
// rescue what is on them. Of a guest that isn't made yet nobody knows.
func findUsers(ctx context.Context, c *pve.Client, left model.Left, found *model.Found, configsOf func(pve.Resource) ([]pve.Settings, error)) error {
	all, err := c.Cluster().Resources(ctx, "")
	if err != nil {
		return fmt.Errorf("list who may use what was left of VM %d: %w", left.VMID, err)
	}
	shared := sharedStorages(all)
	guests, unknown := mayUse(all, left, found.There, shared)
	if unknown != "" {
		found.Unknown = unknown
		return nil
	}
	found.Users = map[string][]int{}
	slices.SortFunc(guests, func(a, b pve.Resource) int { return a.VMID - b.VMID })
	for _, g := range guests {
		configs, err := configsOf(g)
		if err != nil {
			return fmt.Errorf("look whether VM %d uses what was left of VM %d: %w", g.VMID, left.VMID, err)
		}
		if g.VMID == left.VMID {
			if lock := configs[0]["lock"]; lock != "" {
				return fmt.Errorf("VM %d is locked (%s), so that nobody knows its disks: %w", g.VMID, lock, pve.ErrLocked)
			}
			_, m, ok := model.ParseDescription(configs[0]["description"])
			if found.Taken, found.Ours = true, ok && m.Of(g.VMID); !found.Ours {
				return nil // it is theirs, with whatever it has
			}
		}
		for _, v := range found.There {
			if reaches(g, left, v, shared) && named(v, configs) {
				found.Users[v] = append(found.Users[v], g.VMID)
			}
		}
	}
	return nil
}

// mayUse are the VMs that can use one of the volumes, or have the VMID. Nothing is known
// where a container can: what those mount isn't read.
func mayUse(all []pve.Resource, left model.Left, volumes []string, shared map[string]bool) (guests []pve.Resource, unknown string) {
	anywhere := slices.ContainsFunc(volumes, func(v string) bool { return shared[model.StorageOf(v)] })
	for _, g := range all {
		near := anywhere || g.Node == left.Node || g.VMID == left.VMID
		switch {
		case near && g.Type == "lxc":
			return nil, fmt.Sprintf("container %d may use them", g.VMID)
		case near && g.Type == "qemu":
			guests = append(guests, g)
		}
	}
	return guests, ""
}

// reaches reports whether a guest can use a volume: on another node a local volume of that name is another one.
func reaches(g pve.Resource, left model.Left, volume string, shared map[string]bool) bool {
	return g.Node == left.Node || shared[model.StorageOf(volume)]
}

// sharedStorages are the storages on which a volume is the same on all nodes.
func sharedStorages(all []pve.Resource) map[string]bool {
	shared := map[string]bool{}
	for _, r := range all {
		shared[r.Storage] = shared[r.Storage] || r.Type == "storage" && r.Shared
	}
	return shared
}

// named reports whether one of the configs names a volume. A linked clone's may stand there with its base or without.
func named(volume string, configs []pve.Settings) bool {
	for _, c := range configs {
		for _, value := range c {
			for part := range strings.SplitSeq(value, ",") {
				if model.SameVolume(strings.TrimPrefix(part, "file="), volume) {
					return true
				}
			}
		}
	}
	return false
}
