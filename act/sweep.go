package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// Left are disks that Proxmox may have left of a guest that isn't there, or that has them
// elsewhere: while it can't get the lock of a storage, a destruction goes on without removing
// its disks, so does the move of a disk, and a copy that fails can't clean up. Nothing names them any more, and those of
// cloud-init are in the way of the next guest with that VMID.
type Left struct {
	Node    string
	VMID    int
	Volumes []string  // that a destruction says that it couldn't remove
	Since   time.Time // or such as were made since, by a task that failed
	Ended   time.Time // of a task that nobody has followed, or of a move: nothing younger is meant
}

// String names the disks, as far as they are known.
func (l Left) String() string {
	if len(l.Volumes) == 0 {
		return fmt.Sprintf("disks of VMID %d, if there are any", l.VMID)
	}
	return strings.Join(l.Volumes, ", ")
}

// Gone reports whether nothing is left when these were removed. Of what a failed task has
// made nobody knows more than that.
func (l *Left) Gone(removed []string) bool {
	return l == nil || !slices.ContainsFunc(l.Volumes, func(v string) bool { return !slices.Contains(removed, v) })
}

// LeftBy tells what a task may have left that has ended; nil: nothing.
func LeftBy(action model.Action, task string, warnings []string, failure error) *Left {
	upid, err := pve.ParseUPID(task)
	if err != nil {
		return nil
	}
	var failed *pve.TaskError
	switch a := action.(type) {
	case model.Destroy:
		if errors.As(failure, &failed) {
			warnings = failed.Warnings() // it may be gone all the same
		}
		if volumes := pve.LeftDisks(warnings); len(volumes) > 0 {
			return &Left{Node: a.Node, VMID: a.VMID, Volumes: volumes}
		}
	case model.MoveDisk:
		// Proxmox says that the task is OK whether or not it could remove the old volume.
		if failure == nil && a.From != "" {
			return &Left{Node: a.Node, VMID: a.VMID, Volumes: []string{a.From}, Ended: time.Now()}
		}
	case model.Clone:
		if errors.As(failure, &failed) && failed.Messy() {
			return &Left{Node: a.To.Node, VMID: a.To.VMID, Since: upid.StartTime()}
		}
	case model.Create:
		if errors.As(failure, &failed) && failed.Messy() {
			return &Left{Node: a.Node, VMID: a.VMID, Since: upid.StartTime()}
		}
	}
	return nil
}

// LeftByAny is [LeftBy] for a destruction that somebody else has begun.
func LeftByAny(task string, warnings []string) *Left {
	upid, err := pve.ParseUPID(task)
	if err != nil || upid.Type != "qmdestroy" {
		return nil
	}
	vmid, err := strconv.Atoi(upid.ID)
	if err != nil {
		return nil
	}
	return LeftBy(model.Destroy{Target: model.Target{VMID: vmid, Node: upid.Node}}, task, warnings, nil)
}

// Sweep removes what was left, and tells what that was.
func (a *Actor) Sweep(ctx context.Context, left Left) (removed []string, err error) {
	volumes, err := a.Remains(ctx, left)
	if err != nil {
		return nil, err
	}
	for _, v := range volumes {
		upid, err := a.client.Storage(left.Node, model.StorageOf(v)).DeleteVolume(ctx, v)
		if err == nil && !upid.IsZero() {
			_, err = a.client.Task(upid).Wait(ctx)
		}
		if err != nil {
			return removed, fmt.Errorf("remove %s, which was left of VM %d: %w", v, left.VMID, err)
		}
		removed = append(removed, v)
	}
	return removed, nil
}

// Remains are the disks that may be removed of what was left. When a guest has the
// VMID, what was made since isn't touched: it is that guest's business.
func (a *Actor) Remains(ctx context.Context, left Left) (volumes []string, err error) {
	volumes, err = a.There(ctx, left)
	if err != nil || len(volumes) == 0 {
		return nil, err
	}
	// The volumes were there before this look, so that no guest that comes after it
	// can have made them.
	err = a.client.Cluster().CheckID(ctx, left.VMID)
	taken := errors.Is(err, pve.ErrExists)
	switch {
	case err != nil && !taken:
		return nil, fmt.Errorf("look whether VMID %d is free: %w", left.VMID, err)
	case taken && (left.Ended.IsZero() || !left.Since.IsZero()):
		return nil, nil
	case left.Ended.IsZero():
		return volumes, nil
	}
	return a.unused(ctx, left, volumes, taken)
}

// There are the disks of what was left that are there, whoever uses them.
func (a *Actor) There(ctx context.Context, left Left) ([]string, error) {
	switch {
	case !left.Since.IsZero():
		return a.madeSince(ctx, left)
	case !left.Ended.IsZero():
		return a.stillThere(ctx, left)
	}
	return left.Volumes, nil
}

// madeSince are the disks with the VMID that came into being since a time, and that
// of a cloud-init drive whenever it did: it holds nothing but what Proxmox writes
// into it, and no guest with the VMID can be made as long as it is there.
func (a *Actor) madeSince(ctx context.Context, left Left) ([]string, error) {
	storages, err := a.client.Node(left.Node).Storages(ctx, pve.StorageFilter{Content: []string{"images"}, Enabled: true})
	if err != nil {
		return nil, fmt.Errorf("list the storages of %s: %w", left.Node, err)
	}
	var volumes []string
	for _, s := range storages {
		if !s.Active {
			continue
		}
		list, err := a.client.Storage(left.Node, s.Name).Content(ctx, pve.ContentFilter{Content: "images", VMID: left.VMID})
		if err != nil {
			return nil, fmt.Errorf("list what is on %s: %w", s.Name, err)
		}
		for _, v := range list {
			cloudInit := strings.Contains(v.ID, fmt.Sprintf("vm-%d-cloudinit", left.VMID))
			if v.VMID == left.VMID && (cloudInit || !v.Created.Before(left.Since)) && left.old(v) {
				volumes = append(volumes, v.ID)
			}
		}
	}
	slices.SortFunc(volumes, strings.Compare)
	return volumes, nil
}
