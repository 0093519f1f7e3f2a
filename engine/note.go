package engine

import (
	"context"

	"github.com/proxplane/proxplane/model"
)

// note tells the observer what a step that succeeded has changed. Where that is
// only what Proxmox says of it, the observer is told to doubt, so that it looks
// again; answers says that its agent is going to be asked anyway.
func (e *Engine) note(action model.Action, answers bool) {
	seen, vmid, facts := e.observer, action.Guest(), model.FactsOf(action)
	switch {
	case facts.Tells:
		e.believe(action)
		return
	case facts.Checked:
		return // see verify
	case facts.Boots && answers:
		seen.Powered(vmid, model.StatusRunning) // the answer of its agent will prove it; who doesn't wait for that looks
		return
	case facts.Power == model.StatusStopped:
		seen.Powered(vmid, model.StatusStopped)
	case facts.Moves:
		seen.HAMoving(vmid)
	}
	if facts.Changes.Has(model.AspectConfig) {
		seen.Changed(vmid)
	}
	if facts.Changes.Has(model.AspectPower) {
		seen.Unsure(vmid)
	}
	if facts.Changes.Has(model.AspectAgent) {
		seen.AgentUnsure(vmid)
	}
	e.doubtLists(facts.Changes)
}

// believe tells the observer what there is now, as the action itself says.
func (e *Engine) believe(action model.Action) {
	seen := e.observer
	switch a := action.(type) {
	case model.Clone:
		seen.Made(model.Guest{VMID: a.To.VMID, Node: a.To.Node, Name: a.Name, Pool: a.Pool})
	case model.Create:
		seen.Made(model.Guest{VMID: a.VMID, Node: a.Node, Name: a.Name, Pool: a.Pool})
	case model.SetHA:
		e.believeHA(a)
	case model.SetPool:
		seen.Pooled(a.VMID, a.Pool)
	case model.Download:
		seen.FileMade(model.File{Volume: a.Storage + ":" + a.Content + "/" + a.File, Node: a.Node, Content: a.Content})
	case model.UploadSeed:
		seen.FileMade(model.File{Volume: a.Storage + ":iso/" + a.File, Node: a.Node, Content: "iso"})
	case model.RemoveDisk:
		seen.LeftRemoved(a.Left.Task, a.Volume)
	case model.UploadSnippets:
		for _, volume := range a.Volumes {
			seen.FileMade(model.File{Volume: volume, Node: a.Node, Content: "snippets"})
		}
	}
}

func (e *Engine) believeHA(a model.SetHA) {
	seen := e.observer
	switch {
	case a.HA == nil:
		seen.HATold(a.VMID, "")
	case a.Disable:
		seen.HACleared(a.VMID)
	case !a.New:
		seen.HAUnsure()
	case a.Off:
		seen.HATold(a.VMID, "stopped")
	default:
		seen.HATold(a.VMID, "queued")
	}
}

// verify looks at what an action has done where the next plan wouldn't: a task
// that says OK may have done nothing, and what is believed to be gone would be
// made a second time. What can't be seen now is looked for by the next plan.
func (e *Engine) verify(ctx context.Context, action model.Action) {
	if model.FactsOf(action).Moves {
		_ = e.observer.Refresh(ctx, 0) // the list says where it is
	}
	switch a := action.(type) {
	case model.RemoveFile:
		_ = e.observer.CheckFile(ctx, a.Node, a.Volume)
	case model.Destroy:
		_ = e.observer.CheckGone(ctx, a.VMID)
	}
}

// doubt tells the observer that an action may have been done or not.
func (e *Engine) doubt(action model.Action) {
	e.doubtLists(model.FactsOf(action).Changes)
	if vmid := action.Guest(); vmid != 0 {
		e.observer.Changed(vmid)
		e.observer.Unsure(vmid)
	}
}

// doubtLists tells the observer which of the things that it has lists of may have changed.
func (e *Engine) doubtLists(changed model.Aspect) {
	if changed.Has(model.AspectFiles) {
		e.observer.FilesUnsure()
	}
	if changed.Has(model.AspectLeft) {
		e.observer.LeftUnsure()
	}
	if changed.Has(model.AspectHA) {
		e.observer.HAUnsure()
	}
	if changed.Has(model.AspectDirs) {
		e.observer.DirsUnsure() // what the nodes make of them is to be seen
	}
}
