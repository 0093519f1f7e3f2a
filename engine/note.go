package engine

import (
	"context"

	"github.com/proxplane/proxplane/model"
)

// note tells the observer what a step that succeeded has changed. Where that is
// only what Proxmox says of it, the observer is told to doubt, so that it looks
// again; answers says that its agent is going to be asked anyway.
func (e *Engine) note(action model.Action, answers bool) {
	seen := e.observer
	vmid := action.Guest()
	switch a := action.(type) {
	case model.Clone:
		seen.Made(model.Guest{VMID: a.To.VMID, Node: a.To.Node, Name: a.Name, Pool: a.Pool})
	case model.Create:
		seen.Made(model.Guest{VMID: a.VMID, Node: a.Node, Name: a.Name, Pool: a.Pool})
	case model.Start, model.Reboot:
		// The answer of its agent will prove it; who doesn't wait for that looks.
		if answers {
			seen.Powered(vmid, model.StatusRunning)
		} else {
			seen.Unsure(vmid)
		}
	case model.Resume:
		seen.Unsure(vmid)
	case model.Stop, model.Shutdown:
		seen.Powered(vmid, model.StatusStopped)
		seen.Unsure(vmid)
	case model.Rollback, model.Migrate:
		if _, moves := a.(model.Migrate); moves {
			seen.HAMoving(vmid)
		}
		seen.Changed(vmid)
		seen.Unsure(vmid)
		seen.AgentUnsure(vmid)
	case model.SetHA:
		switch {
		case a.HA == nil:
			seen.HATold(vmid, "")
		case a.Disable:
			seen.HACleared(vmid)
		case !a.New:
			seen.HAUnsure()
		case a.Off:
			seen.HATold(vmid, "stopped")
		default:
			seen.HATold(vmid, "queued")
		}
	case model.KeepApart:
		seen.HAUnsure()
	case model.SetPool:
		seen.Pooled(vmid, a.Pool)
	case model.Download:
		seen.FileMade(model.File{Volume: a.Storage + ":" + a.Content + "/" + a.File, Node: a.Node, Content: a.Content})
	case model.UploadSeed:
		seen.FileMade(model.File{Volume: a.Storage + ":iso/" + a.File, Node: a.Node, Content: "iso"})
	case model.UploadSnippets:
		for _, volume := range a.Volumes {
			seen.FileMade(model.File{Volume: volume, Node: a.Node, Content: "snippets"})
		}
	case model.RemoveFile, model.Destroy:
		// See verify.
	case model.MakeShare, model.RemoveShare:
		seen.DirsUnsure() // what the nodes make of it is to be seen
	default: // Configure, Resize, MoveDisk, Release, MakeTemplate, Snap, Unsnap
		seen.Changed(vmid)
	}
}

// verify looks at what an action has done where the next plan wouldn't: a task
// that says OK may have done nothing, and what is believed to be gone would be
// made a second time. What can't be seen now is looked for by the next plan.
func (e *Engine) verify(ctx context.Context, action model.Action) {
	switch a := action.(type) {
	case model.RemoveFile:
		_ = e.observer.CheckFile(ctx, a.Node, a.Volume)
	case model.Destroy:
		_ = e.observer.CheckGone(ctx, a.VMID)
	case model.Migrate:
		_ = e.observer.Refresh(ctx, 0) // the list says where it is
	}
}

// doubt tells the observer that an action may have been done or not.
func (e *Engine) doubt(action model.Action) {
	seen := e.observer
	switch action.(type) {
	case model.Download, model.UploadSeed, model.UploadSnippets, model.RemoveFile:
		seen.FilesUnsure()
	case model.SetHA, model.KeepApart:
		seen.HAUnsure()
	case model.MakeShare, model.RemoveShare:
		seen.DirsUnsure()
	}
	if vmid := action.Guest(); vmid != 0 {
		seen.Changed(vmid)
		seen.Unsure(vmid)
	}
}
