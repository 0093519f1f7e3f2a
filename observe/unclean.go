package observe

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// Unclean are the tasks of ours in the last list that have ended otherwise than well,
// and may have left disks of a guest that isn't there. Ours are those that we have
// started, and those that were started with our token, perhaps by a process of ours
// that was killed since. Of users with a password nobody knows that: a person may have
// used the web interface.
func (o *Observer) Unclean() []model.Task {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.unclean
}

// UncleanBefore are those of a node that are too old for the list, but younger than age;
// none, if the last list shows all tasks of the node.
func (o *Observer) UncleanBefore(ctx context.Context, node string, age time.Duration) ([]model.Task, error) {
	token := o.client.TokenID()
	user, _, _ := strings.Cut(token, "!")
	if token == "" || !o.crowd(node) {
		return nil, nil
	}
	tasks, _, err := o.client.Node(node).Tasks(ctx, pve.TaskFilter{User: user, Status: []string{"warning", "error"}, Since: time.Now().Add(-age), Limit: uncleanTasks})
	if err != nil {
		return nil, fmt.Errorf("list the tasks of %s: %w", node, err)
	}
	var unclean []model.Task
	for _, t := range tasks {
		if t.UPID.User == token && t.Unclean() {
			unclean = append(unclean, endedTask(t))
		}
	}
	return unclean, nil
}

// uncleanTasks bounds how many tasks are asked for that ended otherwise than well.
const uncleanTasks = 100

func (o *Observer) crowd(node string) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.crowded[node]
}

func endedTask(t pve.TaskInfo) model.Task {
	task := taskOf(t.UPID)
	task.Ended, task.Exit = t.EndTime, t.Status
	return task
}

// listedTasks is how many tasks of a node Proxmox lists for the cluster, at most, unless
// more of them are running.
const listedTasks = 25

func (o *Observer) noticeUnclean(token string, tasks []pve.TaskInfo) {
	var unclean []model.Task
	crowded := map[string]bool{}
	shown := map[string]int{}
	for _, t := range tasks {
		if shown[t.UPID.Node]++; shown[t.UPID.Node] == listedTasks {
			crowded[t.UPID.Node] = true
		}
		ours := o.ours[t.UPID.String()] != nil || token != "" && t.UPID.User == token
		if ours && t.Unclean() {
			unclean = append(unclean, endedTask(t))
		}
	}
	o.unclean, o.crowded = unclean, crowded
}
