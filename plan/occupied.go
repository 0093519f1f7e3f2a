package plan

import (
	"fmt"

	"github.com/proxplane/proxplane/model"
)

// busy makes an object wait while its guest can't be changed: its node is offline, a task works on it, or it
// is locked.
func (p *planner) busy(o *Object, g *model.Guest) bool { return p.occupied(o, g, false) }

// occupied does the same for a guest that may be going: then a shutdown that is under way isn't waited for.
func (p *planner) occupied(o *Object, g *model.Guest, going bool) bool {
	if n := p.have.Nodes[g.Node]; n == nil || !n.Online {
		o.wait(model.WaitNode, fmt.Sprintf("node %s, which has VM %d, is offline", g.Node, g.VMID))
		return true
	}
	for _, t := range p.have.TasksOf(g.VMID) {
		if blocks(t.Type) && !(going && shutsDown(t.Type)) {
			o.Wait = &Wait{Reason: model.WaitTask, Text: fmt.Sprintf("%s of VM %d is running", taskName(t.Type), g.VMID), Task: t.UPID}
			return true
		}
	}
	switch {
	case g.Lock == "", g.Hibernated() && going:
	case g.Hibernated():
		o.awaitResume(g)
		return true
	default:
		o.wait(model.WaitLock, fmt.Sprintf("VM %d is locked (%s); if no task works on it, qm unlock %d on %s takes the lock away", g.VMID, g.Lock, g.VMID, g.Node))
		return true
	}
	return p.backOff(o)
}

// shutsDown reports whether tasks of that type wait for a guest to shut down.
func shutsDown(task string) bool { return task == "qmshutdown" || task == "qmreboot" }

// shutdowns returns the tasks that wait for a guest to shut down.
func (p *planner) shutdowns(vmid int) []string {
	var tasks []string
	for _, t := range p.have.TasksOf(vmid) {
		if shutsDown(t.Type) {
			tasks = append(tasks, t.UPID)
		}
	}
	return tasks
}

// backOff makes an object wait after a failure, before the retry.
func (p *planner) backOff(o *Object) bool {
	fail, ok := p.have.Failed[o.Owner.Key]
	if !ok || fail.Again(p.have) {
		return false
	}
	o.advise(model.WaitFailed, fmt.Sprintf("%s failed: %s", fail.What, fail.Text), fail.Hint)
	return true
}

// blocks reports whether a task of that type keeps others from a guest. Clones
// are filed under their source, which goes on being usable.
func blocks(task string) bool {
	switch task {
	case "qmclone", "vncproxy", "vncshell", "spiceproxy", "imgcopy", "download":
		return false
	}
	return true
}
