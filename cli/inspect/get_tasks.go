package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/status"
)

// taskViews are the newest tasks first, of all guests or of one.
func taskViews(tasks []pve.TaskInfo, keep func(pve.TaskInfo) bool) []status.Task {
	slices.SortStableFunc(tasks, func(a, b pve.TaskInfo) int { return b.StartTime.Compare(a.StartTime) })
	var list []status.Task
	for _, t := range tasks {
		if !keep(t) {
			continue
		}
		v := status.Task{
			UPID: t.UPID.String(), Node: t.Node, Type: t.Type, ID: t.ID, User: t.User, Started: t.StartTime, Ended: t.EndTime,
			Running: t.Running(), Status: t.Status,
		}
		if v.Running {
			v.Status = "running"
		}
		list = append(list, v)
	}
	return list
}

func listTasks(ctx context.Context, g *Get, names []string) (listing, error) {
	ids := map[string]bool{}
	have, err := g.c.Look(ctx)
	if err != nil {
		return listing{}, err
	}
	if len(names) > 0 {
		guests, err := g.c.Guests(ctx, names...)
		if err != nil {
			return listing{}, err
		}
		for _, guest := range guests {
			ids[strconv.Itoa(guest.VMID)] = true
		}
	}
	tasks, err := tasksOf(ctx, g.c, have)
	if err != nil {
		return listing{}, g.c.Fail(err)
	}
	rows := taskViews(tasks, func(t pve.TaskInfo) bool { return len(ids) == 0 || ids[t.ID] })
	var l listing
	for _, t := range rows {
		l.add(t.UPID, t)
	}
	l.table = status.TaskTable(rows, g.c.Client.Now())
	return l, nil
}

// tasksOfNode is how many of the last tasks of each node are listed.
const tasksOfNode = 50

// tasksOf lists the last tasks: those of the whole cluster, and those that each node shows.
// The former are shown to tokens only with Sys.Audit on /, the latter also without, as far
// as they are the token's own.
func tasksOf(ctx context.Context, c *target.Site, have *model.Observed) ([]pve.TaskInfo, error) {
	all, err := c.Client.Cluster().Tasks(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the tasks of the cluster: %w", err)
	}
	var mu sync.Mutex
	var readers errgroup.Group
	readers.SetLimit(target.ReadsAtOnce)
	for name, n := range have.Nodes {
		if !n.Online {
			continue
		}
		readers.Go(func() error {
			list, _, err := c.Client.Node(name).Tasks(ctx, pve.TaskFilter{Source: "all", Limit: tasksOfNode})
			if errors.Is(err, pve.ErrForbidden) || errors.Is(err, pve.ErrNodeUnreachable) {
				return nil
			} else if err != nil {
				return fmt.Errorf("list the tasks of %s: %w", name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, t := range list {
				if !slices.ContainsFunc(all, func(o pve.TaskInfo) bool { return o.UPID == t.UPID }) {
					all = append(all, t)
				}
			}
			return nil
		})
	}
	return all, readers.Wait()
}
