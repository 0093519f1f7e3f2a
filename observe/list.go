package observe

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pve/prop"
)

// merge takes over lists that were asked for at a time.
func (o *Observer) merge(at time.Time, list []pve.Resource, tasks []pve.TaskInfo) {
	o.begun, o.have.Listed = at, at
	o.have.Nodes, o.have.Storages, o.have.Pools = nodesOf(list), storagesOf(list), poolsOf(list)
	o.forgetFacts(at)
	o.have.Volumes, o.have.Disks = nil, nil // they matter to the plan that asks for them
	o.fillRooms()
	o.doubtFiles()
	o.lateFiles(at, tasks)
	seen := make(map[int]bool, len(list))
	for _, r := range list {
		if r.Type != "qemu" && r.Type != "lxc" {
			continue
		}
		if went, ok := o.gone[r.VMID]; ok && !at.After(went) {
			continue // the list is older than its end
		}
		seen[r.VMID] = true
		rec := o.records[r.VMID]
		if rec == nil {
			rec = &record{heard: o.created}
			o.records[r.VMID] = rec
		}
		rec.list(guestOf(r), r.Uptime, at)
		if r.Type == "lxc" {
			// Containers take VMIDs and addresses, and are never ours.
			if rec.config == nil { // its options are read by those who need its addresses
				rec.config, rec.configAt = &model.Config{Tags: rec.listed.Tags}, at
				rec.name, rec.lock, rec.template = rec.listed.Name, rec.listed.Lock, rec.listed.Template
			}
		}
	}
	for vmid, rec := range o.records {
		if !seen[vmid] && !rec.made.After(at) {
			delete(o.records, vmid)
		}
	}
	for vmid, went := range o.gone {
		if at.After(went.Add(time.Minute)) {
			delete(o.gone, vmid)
		}
	}
	o.expireIDs(at)
	o.noticeTasks(at, tasks)
	o.have.Guests = make(map[int]*model.Guest, len(o.records))
	for vmid, rec := range o.records {
		o.have.Guests[vmid] = rec.guest()
	}
	o.have.Index()
}

// noticeTasks keeps the tasks that run, and forgets what was read of guests
// that somebody else's tasks have worked on since the last list.
func (o *Observer) noticeTasks(at time.Time, tasks []pve.TaskInfo) {
	shown := make(map[string]bool, len(tasks))
	var running []model.Task
	for _, t := range tasks {
		upid := t.UPID.String()
		shown[upid] = true
		task, own := taskOf(t.UPID), o.ours[upid]
		switch {
		case own != nil && !t.Running():
			own.ended = true
		case own == nil && t.Running():
			running = append(running, task)
		}
		rec := o.records[task.VMID]
		if rec == nil || own != nil {
			continue
		}
		if !o.tasks[upid] && changesGuest(task.Type) {
			rec.forgetSince(at)
			rec.touch(at)
		}
		if ended := o.client.Local(t.EndTime); changesPower(task.Type) && time.Since(ended) < 2*lag {
			rec.shaky = at
			if ended.Add(time.Second).After(rec.statusAt) {
				rec.status = "" // it was read before that
			}
		}
	}
	for upid, own := range o.ours {
		if !shown[upid] && at.After(own.started.Add(time.Minute)) {
			delete(o.ours, upid)
		} else if !own.ended {
			running = append(running, own.task)
		}
	}
	o.tasks = shown
	o.have.Tasks = running
}

// changesGuest reports whether a task changes the guest that it is filed under.
func changesGuest(task string) bool {
	switch task {
	case "qmclone", "vncproxy", "vncshell", "spiceproxy", "vzdump", "qmstart", "imgcopy", "download", "imgdel":
		return false
	}
	return true
}

// changesPower reports whether a guest may run after a task that didn't before, or
// the other way round.
func changesPower(task string) bool {
	switch task {
	case "qmstart", "qmstop", "qmshutdown", "qmreboot", "qmsuspend", "qmresume", "qmrollback", "qmcreate", "qmrestore", "qmdestroy":
		return true
	}
	return false
}

func taskOf(upid pve.UPID) model.Task {
	vmid, err := strconv.Atoi(upid.ID)
	if err != nil {
		vmid = 0
	}
	return model.Task{UPID: upid.String(), Node: upid.Node, Type: upid.Type, ID: upid.ID, VMID: vmid, Since: upid.StartTime()}
}

// maintenance is the state of a node that the HA manager empties, until somebody ends that.
const maintenance = "maintenance"

func nodesOf(list []pve.Resource) map[string]*model.Node {
	nodes := map[string]*model.Node{}
	for _, r := range list {
		if r.Type == "node" {
			nodes[r.Node] = &model.Node{Name: r.Node, Online: r.Status == "online", CPUs: int(r.MaxCPU), Memory: r.MaxMemory, Used: r.Memory, Maintenance: r.HAState == maintenance}
		}
	}
	return nodes
}

func poolsOf(list []pve.Resource) map[string]bool {
	pools := map[string]bool{}
	for _, r := range list {
		if r.Type == "pool" {
			pools[r.Pool] = true
		}
	}
	return pools
}

func storagesOf(list []pve.Resource) map[string]*model.Storage {
	storages := map[string]*model.Storage{}
	for _, r := range list {
		if r.Type != "storage" {
			continue
		}
		s := storages[r.Storage]
		if s == nil {
			s = &model.Storage{Name: r.Storage, Type: r.PluginType, Shared: r.Shared, Content: map[string]bool{}, OnNode: map[string]model.Room{}, Late: map[string]bool{}}
			storages[r.Storage] = s
		}
		for _, c := range r.Content {
			s.Content[c] = true
		}
		if r.Status == "available" {
			s.OnNode[r.Node] = model.Room{Total: r.MaxDisk, Used: r.Disk}
		} else {
			s.Late[r.Node] = true
		}
	}
	return storages
}

// queued is the state of a guest that the HA manager hasn't taken up yet.
const queued = "queued"

func guestOf(r pve.Resource) model.Guest {
	g := model.Guest{
		VMID: r.VMID, Node: r.Node, Name: r.Name, Status: statusOf(r.Status, ""), Template: r.Template,
		Container: r.Type == "lxc", Tags: tagsOf(r.Tags), Lock: r.Lock, Pool: r.Pool,
		CPUs: int(r.MaxCPU), Memory: r.MaxMemory, Disk: r.MaxDisk,
	}
	if r.HAManaged {
		g.HAState = cmp.Or(r.HAState, queued)
	}
	return g
}

func statusOf(status, qmp string) model.Status {
	switch {
	case status == "running" && (qmp == "paused" || qmp == "suspended" || qmp == "io-error"):
		return model.StatusPaused
	case status == "running", status == "paused", status == "stopped":
		return model.Status(status)
	}
	return model.StatusUnknown
}

func tagsOf(text string) []string {
	tags, err := prop.ParseTags(text)
	if err != nil || len(tags) == 0 {
		return nil
	}
	return slices.Clone([]string(tags))
}
