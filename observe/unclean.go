package observe

import (
	"maps"
	"slices"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

func endedTask(t pve.TaskInfo) model.Task {
	task := taskOf(t.UPID)
	task.Ended, task.Exit = t.EndTime, t.Status
	return task
}

// listedTasks is how many tasks of a node Proxmox lists for the cluster, at most, unless
// more of them are running.
const listedTasks = 25

// noticeUnclean records our tasks in a list that have ended with an error or a warning, and may have
// left disks of a guest that doesn't exist. Ours are those that we have started, and those that were
// started with our token, perhaps by a process of ours that was killed since. Of users with a password
// nobody knows that: a person may have used the web interface.
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
	o.noticeLeft(unclean)
	if o.merged == 0 && token != "" {
		for _, node := range slices.Sorted(maps.Keys(crowded)) {
			if n := o.have.Nodes[node]; n != nil && n.Online {
				o.elder = append(o.elder, node)
			}
		}
	}
}
