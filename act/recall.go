package act

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// What a task has left is known to the process that follows it. When that was killed,
// only the log tells, and time has passed: somebody may have found the disk and put it
// to use. So it has to be proved more before it is removed. Who may call it his is
// for the caller to know.

// Recall tells what a task may have left that has ended, and that nobody has followed;
// nil: nothing.
func (a *Actor) Recall(ctx context.Context, task model.Task) (*Left, error) {
	upid, err := pve.ParseUPID(task.UPID)
	if err != nil {
		return nil, err
	}
	log, err := a.log(ctx, upid)
	if err != nil {
		return nil, err
	}
	failed := &pve.TaskError{UPID: upid, ExitStatus: task.Exit, Log: log}
	on := model.Target{VMID: task.VMID, Node: task.Node}
	var action model.Action
	switch task.Type {
	case "qmdestroy":
		action = model.Destroy{Target: on}
	case "qmcreate":
		action = model.Create{Target: on}
	case "qmclone":
		if on.VMID = pve.CloneTarget(log); on.VMID == 0 {
			return nil, nil
		}
		action = model.Clone{To: on}
	}
	left := LeftBy(action, task.UPID, nil, failed)
	if left != nil {
		left.Ended = task.Ended
	}
	return left, nil
}

// LeftOn finds what destructions of anybody's machines have left on a node since a time, and
// no guest uses. It is for people to judge.
func (a *Actor) LeftOn(ctx context.Context, node string, since time.Time) (all []Left, err error) {
	tasks, _, err := a.client.Node(node).Tasks(ctx, pve.TaskFilter{Type: "qmdestroy", Status: []string{"warning", "error"}, Since: since})
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		vmid, err := strconv.Atoi(t.ID)
		if err != nil {
			continue
		}
		left, err := a.Recall(ctx, model.Task{UPID: t.UPID.String(), Node: node, Type: t.Type, VMID: vmid, Ended: t.EndTime, Exit: t.Status})
		if err == nil && left != nil {
			left.Volumes, err = a.Remains(ctx, *left)
		}
		switch {
		case err != nil:
			return all, err
		case left != nil && len(left.Volumes) > 0:
			all = append(all, *left)
		}
	}
	return all, nil
}

// log reads what matters of a log: its beginning, and its end.
func (a *Actor) log(ctx context.Context, upid pve.UPID) ([]string, error) {
	const begin, end = 500, 50
	lines, total, err := a.client.Task(upid).Log(ctx, pve.LogOptions{Limit: begin})
	if err == nil && total > begin {
		var tail []string
		tail, _, err = a.client.Task(upid).Log(ctx, pve.LogOptions{Start: max(begin, total-end), Limit: end})
		lines = append(lines, tail...)
	}
	if err != nil {
		return nil, fmt.Errorf("read the log of task %s: %w", upid, err)
	}
	return lines, nil
}

// clockSlack is how much later than its task a disk may seem to have been made:
// Proxmox counts in seconds.
const clockSlack = 2 * time.Second

// old reports whether a volume was there when the task ended, and nobody has written into
// it since. Some storages don't tell: then it may be anybody's.
func (l Left) old(v pve.Volume) bool {
	return l.Ended.IsZero() || !v.Created.IsZero() && !v.Created.After(l.Ended.Add(clockSlack))
}

// stillThere are the disks that a destruction has named, as far as they are there and
// have not been used since.
func (a *Actor) stillThere(ctx context.Context, left Left) (volumes []string, err error) {
	lists := map[string][]pve.Volume{}
	for _, id := range left.Volumes {
		storage := model.StorageOf(id)
		if _, read := lists[storage]; !read {
			lists[storage], err = a.client.Storage(left.Node, storage).Content(ctx, pve.ContentFilter{Content: "images", VMID: left.VMID})
			if err != nil {
				return nil, fmt.Errorf("list what is on %s: %w", storage, err)
			}
		}
		if slices.ContainsFunc(lists[storage], func(v pve.Volume) bool { return v.ID == id && v.VMID == left.VMID && left.old(v) }) {
			volumes = append(volumes, id)
		}
	}
	return volumes, nil
}

// unused are those of the volumes that no guest names, whatever its VMID: people attach
// disks by hand to rescue what is on them. None are, if a guest has the VMID that isn't
// ours, or that we may not see; if it isn't made yet, nobody knows.
func (a *Actor) unused(ctx context.Context, left Left, volumes []string, taken bool) ([]string, error) {
	all, err := a.client.Cluster().Resources(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("list who may use what was left of VM %d: %w", left.VMID, err)
	}
	guests, known := mayUse(all, left, volumes)
	if !known {
		return nil, nil
	}
	volumes = slices.Clone(volumes)
	slices.SortFunc(guests, func(a, b pve.Resource) int { return a.VMID - b.VMID })
	for _, g := range guests {
		configs, err := a.configs(ctx, g)
		if err != nil {
			return nil, fmt.Errorf("look whether VM %d uses what was left of VM %d: %w", g.VMID, left.VMID, err)
		}
		if g.VMID == left.VMID {
			if lock := configs[0]["lock"]; lock != "" {
				return nil, fmt.Errorf("VM %d is locked (%s), so that nobody knows its disks: %w", g.VMID, lock, pve.ErrLocked)
			}
			if _, m, ok := model.ParseDescription(configs[0]["description"]); !ok || !m.Of(g.VMID) {
				return nil, nil
			}
			taken = false // by one of ours
		}
		volumes = slices.DeleteFunc(volumes, func(v string) bool { return named(v, configs) })
	}
	if taken {
		return nil, nil
	}
	return volumes, nil
}

// mayUse are the VMs that can use one of the volumes, or have the VMID. Nothing is known
// where a container can: what those mount isn't read.
func mayUse(all []pve.Resource, left Left, volumes []string) (guests []pve.Resource, known bool) {
	shared := map[string]bool{}
	for _, r := range all {
		shared[r.Storage] = shared[r.Storage] || r.Type == "storage" && r.Shared
	}
	anywhere := slices.ContainsFunc(volumes, func(v string) bool { return shared[model.StorageOf(v)] })
	for _, g := range all {
		near := anywhere || g.Node == left.Node || g.VMID == left.VMID
		switch {
		case near && g.Type == "lxc":
			return nil, false
		case near && g.Type == "qemu":
			guests = append(guests, g)
		}
	}
	return guests, true
}

// configs are all that a guest may get its disks from: its config, with and without
// what is pending, and those of its snapshots.
func (a *Actor) configs(ctx context.Context, g pve.Resource) (list []pve.Settings, err error) {
	vm := a.client.VM(g.Node, g.VMID)
	for _, current := range []bool{true, false} {
		c, err := vm.Config(ctx, pve.ConfigOptions{Current: current})
		if err != nil {
			return nil, err
		}
		list = append(list, c.Settings)
	}
	snapshots, _, err := vm.Snapshots(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range snapshots {
		c, err := vm.SnapshotConfig(ctx, s.Name)
		if err != nil {
			return nil, err
		}
		list = append(list, c.Settings)
	}
	return list, nil
}

// named reports whether one of the configs names a volume.
func named(volume string, configs []pve.Settings) bool {
	for _, c := range configs {
		for _, value := range c {
			for part := range strings.SplitSeq(value, ",") {
				if strings.TrimPrefix(part, "file=") == volume {
					return true
				}
			}
		}
	}
	return false
}
