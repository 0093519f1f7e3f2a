package observe

import (
	"context"

	"github.com/proxplane/proxplane/model"
)

// Done records the changes of a successful action. Facts that only Proxmox knows are marked
// as in doubt and read again; answers: the guest's agent will be asked anyway.
func (o *Observer) Done(action model.Action, answers bool) {
	vmid, facts := action.Guest(), model.FactsOf(action)
	if facts.Boots {
		o.woken(vmid)
	}
	switch {
	case facts.Tells:
		o.believe(action)
		return
	case facts.Checked:
		return // see Check
	case facts.Boots && answers:
		o.Powered(vmid, model.StatusRunning) // the answer of its agent will prove it; who doesn't wait for that looks, see model.Guest.Unseen
		return
	case facts.Power == model.StatusStopped:
		o.Powered(vmid, model.StatusStopped)
	case facts.Boots:
		o.ownProcess(vmid)
	case facts.Moves:
		o.HAMoving(vmid)
	}
	if facts.Changes.Has(model.AspectConfig) {
		o.Changed(vmid)
	}
	if facts.Changes.Has(model.AspectPower) {
		o.Unsure(vmid)
	}
	if facts.Changes.Has(model.AspectAgent) {
		o.AgentUnsure(vmid)
	}
	o.doubtLists(facts.Changes)
}

// woken doubts the config of a guest that was suspended to disk and has been started: it has no lock any more.
func (o *Observer) woken(vmid int) {
	o.mu.RLock()
	r := o.records[vmid]
	asleep := r != nil && r.guest().Lock == model.Hibernated
	o.mu.RUnlock()
	if asleep {
		o.change(vmid, func(r *record) {
			r.forgetConfig()
			if r.listed.Lock == model.Hibernated {
				r.listed.Lock = ""
			}
		})
	}
}

// believe records the state that a successful action leads to.
func (o *Observer) believe(action model.Action) {
	switch a := action.(type) {
	case model.Clone:
		o.Made(model.Guest{VMID: a.To.VMID, Node: a.To.Node, Name: a.Name, Pool: a.Pool})
	case model.Create:
		o.Made(model.Guest{VMID: a.VMID, Node: a.Node, Name: a.Name, Pool: a.Pool})
	case model.SetHA:
		o.believeHA(a)
	case model.SetPool:
		o.Pooled(a.VMID, a.Pool)
	case model.SetFirewall:
		o.FirewallSet(a.VMID, a.To)
	case model.Download:
		o.FileMade(model.File{Volume: a.Storage + ":" + a.Content + "/" + a.File, Node: a.Node, Content: a.Content})
	case model.Unpack:
		o.FileMade(model.File{Volume: a.Storage + ":import/" + a.File, Node: a.Node, Content: "import"})
	case model.UploadSeed:
		o.FileMade(model.File{Volume: a.Storage + ":iso/" + a.File, Node: a.Node, Content: "iso"})
	case model.RemoveDisk:
		o.LeftRemoved(a.Left.Task, a.Volume)
	case model.UploadSnippets:
		for _, volume := range a.Volumes {
			o.FileMade(model.File{Volume: volume, Node: a.Node, Content: "snippets"})
		}
	}
}

func (o *Observer) believeHA(a model.SetHA) {
	switch {
	case a.HA == nil:
		o.HASet(a.VMID, "")
	case a.Disable:
		o.HACleared(a.VMID)
	case !a.New:
		o.HAUnsure()
	case a.Off:
		o.HASet(a.VMID, "stopped")
	default:
		o.HASet(a.VMID, "queued")
	}
}

// Check reads the result of an action if the next plan wouldn't: a task with status OK may
// have done nothing, and a guest that is wrongly believed to be gone would be created a
// second time. If the result can't be read now, the next plan reads it. The error is that
// the task's status is wrong.
func (o *Observer) Check(ctx context.Context, action model.Action) error {
	if model.FactsOf(action).Moves {
		_ = o.Refresh(ctx, 0) // the list says where it is
	}
	switch a := action.(type) {
	case model.RemoveFile:
		_ = o.CheckFile(ctx, a.Node, a.Volume)
	case model.Destroy:
		_ = o.CheckGone(ctx, a.VMID)
	case model.RemoveDisk:
		return o.checkRemoved(ctx, a)
	}
	return nil
}

// Doubt records that it isn't known whether an action was done.
func (o *Observer) Doubt(action model.Action) {
	facts := model.FactsOf(action)
	o.doubtLists(facts.Changes)
	if vmid := action.Guest(); vmid != 0 {
		o.Changed(vmid)
		o.Unsure(vmid)
		if facts.Boots || facts.Changes.Has(model.AspectAgent) {
			o.AgentUnsure(vmid) // the guest may have restarted: what its agent reported before says nothing
		}
		o.change(vmid, func(r *record) { r.forgetFirewall() })
	}
}

// doubtLists marks the lists that an action may have changed as in doubt.
func (o *Observer) doubtLists(changed model.Aspect) {
	if changed.Has(model.AspectFiles) {
		o.FilesUnsure()
	}
	if changed.Has(model.AspectLeft) {
		o.LeftUnsure()
	}
	if changed.Has(model.AspectHA) {
		o.HAUnsure()
	}
	if changed.Has(model.AspectDirs) {
		o.DirsUnsure() // what the nodes make of them is to be seen
	}
}
