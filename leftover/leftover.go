// Package leftover finds disks that Proxmox has left behind: which task may have left which, and whether
// a guest has them. What may be removed is decided by [model.Left.Removable].
package leftover

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// By returns what the ended task of an action may have left; nil: nothing.
func By(action model.Action, task string, warnings []string, failure error) *model.Left {
	upid, err := pve.ParseUPID(task)
	if err != nil {
		return nil
	}
	var failed *pve.TaskError
	left := &model.Left{Task: task}
	switch a := action.(type) {
	case model.Destroy:
		if errors.As(failure, &failed) {
			warnings = failed.Warnings() // it may be gone all the same
		}
		left.Node, left.VMID, left.Volumes = a.Node, a.VMID, pve.LeftDisks(warnings)
		if len(left.Volumes) > 0 {
			return left
		}
	case model.MoveDisk:
		// Proxmox says that the task is OK whether or not it could remove the old volume.
		if failure == nil && a.From != "" {
			left.Node, left.VMID, left.Volumes, left.Moved = a.Node, a.VMID, []string{a.From}, true
			return left
		}
	case model.Migrate:
		// The volume of a cloud-init drive that an earlier guest with the VMID has left: Proxmox gives others a free name.
		if errors.As(failure, &failed) && strings.HasPrefix(model.VolumeName(failed.InTheWay()), fmt.Sprintf("vm-%d-cloudinit", a.VMID)) {
			left.Node, left.VMID, left.Volumes, left.Blocks = a.To, a.VMID, []string{failed.InTheWay()}, true
			return left
		}
	case model.Clone:
		if errors.As(failure, &failed) && failed.Messy() {
			left.Node, left.VMID, left.Since = a.To.Node, a.To.VMID, upid.StartTime()
			return left
		}
	case model.Create:
		if errors.As(failure, &failed) && failed.Messy() {
			left.Node, left.VMID, left.Since = a.Node, a.VMID, upid.StartTime()
			return left
		}
	}
	return nil
}

// ByOthers is like [By], for a destruction that somebody else has begun.
func ByOthers(task string, warnings []string) *model.Left {
	upid, err := pve.ParseUPID(task)
	if err != nil || upid.Type != "qmdestroy" {
		return nil
	}
	vmid, err := strconv.Atoi(upid.ID)
	if err != nil {
		return nil
	}
	return By(model.Destroy{Target: model.Target{VMID: vmid, Node: upid.Node}}, task, warnings, nil)
}

// Recall returns what an ended task that nobody has followed may have left, by its log; nil:
// nothing.
func Recall(ctx context.Context, c *pve.Client, task model.Task) (*model.Left, error) {
	upid, err := pve.ParseUPID(task.UPID)
	if err != nil {
		return nil, err
	}
	log, err := readLog(ctx, c, upid)
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
	left := By(action, task.UPID, nil, failed)
	if left != nil {
		left.Ended = task.Ended
	}
	return left, nil
}

// On finds what destructions of anybody's machines have left on a node since a time, and no guest
// uses. It is for people to judge.
func On(ctx context.Context, c *pve.Client, node string, since time.Time) (all []model.Left, err error) {
	tasks, _, err := c.Node(node).Tasks(ctx, pve.TaskFilter{Type: "qmdestroy", Status: []string{"warning", "error"}, Since: since})
	if err != nil {
		return nil, err
	}
	var guests Guests
	for _, t := range tasks {
		vmid, err := strconv.Atoi(t.ID)
		if err != nil {
			continue
		}
		left, err := Recall(ctx, c, model.Task{UPID: t.UPID.String(), Node: node, Type: t.Type, VMID: vmid, Ended: t.EndTime, Exit: t.Status})
		if err == nil && left != nil {
			left.Found, err = Find(ctx, c, *left, &guests, time.Minute)
		}
		switch {
		case err != nil:
			return all, err
		case left != nil && len(left.Removable()) > 0:
			all = append(all, *left)
		}
	}
	return all, nil
}

// readLog reads what matters of a log: its beginning, and its end.
func readLog(ctx context.Context, c *pve.Client, upid pve.UPID) ([]string, error) {
	const begin, end = 500, 50
	lines, total, err := c.Task(upid).Log(ctx, pve.LogOptions{Limit: begin})
	if err == nil && total > begin {
		var tail []string
		tail, _, err = c.Task(upid).Log(ctx, pve.LogOptions{Start: max(begin, total-end), Limit: end})
		lines = append(lines, tail...)
	}
	if err != nil {
		return nil, fmt.Errorf("read the log of task %s: %w", upid, err)
	}
	return lines, nil
}
