package observe

import (
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// Our own changes needn't be found by reading lists: they are recorded here.

// ownTask is a task that we started.
type ownTask struct {
	task    model.Task
	started time.Time
	ended   bool
}

// Made records a new guest that no list shows yet.
func (o *Observer) Made(g model.Guest) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if rec := o.records[g.VMID]; rec != nil && !rec.listedAt.IsZero() {
		// A list has it already, but not yet what comes with it.
		rec.forgetConfig()
		rec.forgetFirewall()
		rec.listed.Pool = g.Pool
		rec.born, rec.stray = time.Now(), false
		rec.believe(model.StatusStopped)
		o.put(g.VMID)
		return
	}
	delete(o.gone, g.VMID)
	g.Config, g.Snapshots = nil, nil
	rec := &record{listed: g, made: time.Now(), born: time.Now()}
	rec.believe(model.StatusStopped)
	o.records[g.VMID] = rec
	o.put(g.VMID)
}

// Gone records that a guest was destroyed.
func (o *Observer) Gone(vmid int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gone[vmid] = time.Now()
	o.have.Volumes, o.have.Disks = nil, nil // its disks have gone with it, and linked clones of others' are no more
	o.noteID(vmid, false, time.Now())
	delete(o.records, vmid)
	o.put(vmid)
}

// Changed records that a guest's config or snapshots have to be read again.
func (o *Observer) Changed(vmid int) {
	o.change(vmid, func(r *record) { r.forgetConfig() })
}

// Powered records that a guest was started or stopped. Its pending changes have been
// applied then.
func (o *Observer) Powered(vmid int, now model.Status) {
	o.change(vmid, func(r *record) {
		r.believe(now)
		r.forgetAgent()
		r.started = time.Time{}
		r.born, r.stray = time.Time{}, false // from now on what runs is its own process
		if now == model.StatusRunning {
			r.started, r.unseen = time.Now(), true
		}
		if r.config != nil && len(r.config.Pending) > 0 {
			r.forgetConfig()
		}
	})
}

// ownProcess notes that what runs under a VMID from now on is the guest's own process: Proxmox
// doesn't start a guest under whose VMID another process runs.
func (o *Observer) ownProcess(vmid int) {
	o.change(vmid, func(r *record) { r.born, r.stray = time.Time{}, false })
}

// Unsure records that a guest's power state isn't known.
func (o *Observer) Unsure(vmid int) {
	o.change(vmid, func(r *record) { r.believe(model.StatusUnknown) })
}

// AgentUnsure records that a guest may have other addresses than its agent has reported.
func (o *Observer) AgentUnsure(vmid int) {
	o.change(vmid, func(r *record) { r.forgetAgent() })
}

// Pooled records the pool that a guest was put into.
func (o *Observer) Pooled(vmid int, pool string) {
	o.change(vmid, func(r *record) {
		r.listed.Pool = pool
		r.answered |= model.AspectPool
	})
}

// FileMade records a new file.
func (o *Observer) FileMade(f model.File) {
	o.mu.Lock()
	defer o.mu.Unlock()
	files := o.have.FilesLike(f.Volume)
	if files == nil {
		return
	}
	if !o.shares(f.Volume) {
		f = also(files[f.Volume], f)
	}
	files[f.Volume] = f
}

// FileGone records that a file was removed from a node's storage.
func (o *Observer) FileGone(node, volume string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	files := o.have.FilesLike(volume)
	known, listed := files[volume]
	if !listed {
		return // a newer list knows already
	}
	left, there := without(known, node)
	if there && !o.shares(volume) {
		files[volume] = left
	} else {
		delete(files, volume)
	}
}

// shares reports whether a volume is on a storage that all nodes share.
func (o *Observer) shares(volume string) bool {
	s := o.have.Storages[model.StorageOf(volume)]
	return s != nil && s.Shared
}

// FilesUnsure records that files have to be read again.
func (o *Observer) FilesUnsure() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.have.Files, o.have.Snippets = nil, nil
}

// DirsUnsure records that directory mappings have to be read again.
func (o *Observer) DirsUnsure() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.have.Dirs = nil
}

// HASet records the HA resource of a guest after a change: its requested state, or none.
func (o *Observer) HASet(vmid int, state string) {
	o.HAUnsure()
	o.change(vmid, func(r *record) {
		r.haState, r.haAt = state, time.Now()
		r.answered |= model.AspectHA
	})
}

// HACleared records that the HA manager clears the error of a guest in its next round.
func (o *Observer) HACleared(vmid int) {
	o.HAUnsure()
	o.change(vmid, func(r *record) { r.haCleared = time.Now() })
}

// HAMoving records that the HA manager, if it manages the guest, was asked to migrate it,
// which it begins in its next round.
func (o *Observer) HAMoving(vmid int) {
	o.change(vmid, func(r *record) { r.haMoving = time.Now() })
}

// HAUnsure records that HA resources have to be read again.
func (o *Observer) HAUnsure() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.have.HA, o.have.Rules, o.have.HAGroups, o.have.HALimits = nil, nil, nil, nil
}

// TaskStarted records a task of ours.
func (o *Observer) TaskStarted(upid string) {
	id, err := pve.ParseUPID(upid)
	if err != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	task := taskOf(id)
	o.ours[task.UPID] = &ownTask{task: task, started: time.Now()}
	o.have.AddTask(task)
}

// TaskEnded records that a task, ours or not, has ended.
func (o *Observer) TaskEnded(upid string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if own := o.ours[upid]; own != nil {
		own.ended = true
	} else if id, err := pve.ParseUPID(upid); err == nil {
		// Lists that are under way may still show it as running.
		o.ours[upid] = &ownTask{task: taskOf(id), started: time.Now(), ended: true}
	}
	o.have.DropTask(upid)
}

func (o *Observer) change(vmid int, fn func(*record)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r := o.records[vmid]; r != nil {
		fn(r)
		o.put(vmid)
	}
}

func (r *record) believe(s model.Status) {
	r.status, r.statusAt, r.unseen = s, time.Now(), false
	if s != model.StatusUnknown {
		r.power = s
	}
}
