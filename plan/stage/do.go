package stage

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// Do carries out an action, as Proxmox would.
func (w *World) Do(action model.Action) {
	w.Log = append(w.Log, fmt.Sprintf("%T %d", action, action.Guest()))
	switch a := action.(type) {
	case model.Clone:
		w.clone(a)
	case model.Create:
		w.create(a)
	case model.Destroy:
		w.destroy(a)
	case model.Migrate:
		w.Guests[a.VMID].Node = a.To
	case model.MakeTemplate:
		w.makeTemplate(a)
	case model.Configure:
		w.configure(a)
	case model.Release:
		g := w.Guests[a.VMID]
		g.Tags, g.Config.Tags, g.Config.Text, g.Config.Marker = a.Tags, a.Tags, a.Description, nil
	case model.Detach:
		for _, k := range a.Options {
			delete(w.Guests[a.VMID].Config.Options, k)
		}
	case model.Resize:
		w.resize(a)
	case model.MoveDisk:
		w.moveDisk(a)
	case model.Start:
		w.Start(w.Guests[a.VMID])
	case model.Reboot:
		w.Start(w.Guests[a.VMID])
	case model.Resume:
		w.Guests[a.VMID].Status = model.StatusRunning
	case model.Shutdown:
		w.stop(w.Guests[a.VMID])
	case model.Stop:
		w.stop(w.Guests[a.VMID])
	case model.Snap:
		w.snap(a)
	case model.Unsnap:
		w.unsnap(a)
	case model.Rollback:
		w.rollBack(a)
	case model.SetHA:
		w.setHA(a)
	case model.KeepApart:
		w.Rules[a.Rule] = a.Resources
	case model.SetFirewall:
		w.setFirewall(a)
	case model.SetPool:
		w.Guests[a.VMID].Pool = a.Pool
	case model.Download:
		w.put(a.Storage+":import/"+a.File, a.Node, "import")
	case model.Unpack:
		w.put(a.Storage+":import/"+a.File, a.Node, "import")
	case model.UploadSeed:
		w.put(a.Storage+":iso/"+a.File, a.Node, "iso")
	case model.UploadSnippets:
		w.putSnippets(a)
	case model.RemoveFile:
		w.removeFile(a)
	case model.RemoveDisk: // what was left isn't part of it
	case model.MakeShare:
		w.makeShare(a)
	case model.RemoveShare:
		delete(w.Dirs, a.Name)
	default:
		panic(fmt.Sprintf("%T isn't known", a))
	}
}

// put puts a file onto a storage.
func (w *World) put(volume, node, content string) {
	w.Files[volume] = model.File{Volume: volume, Node: node, Content: content}
}

// putSnippets puts snippets onto a node, beside those of other nodes.
func (w *World) putSnippets(a model.UploadSnippets) {
	for _, volume := range a.Volumes {
		f, there := w.Snippets[volume]
		if there {
			f.Also = append(f.Also, a.Node)
		} else {
			f = model.File{Volume: volume, Node: a.Node, Content: "snippets"}
		}
		w.Snippets[volume] = f
	}
}

func (w *World) removeFile(a model.RemoveFile) {
	delete(w.Files, a.Volume)
	f, there := w.Snippets[a.Volume]
	if !there {
		return
	}
	nodes := slices.DeleteFunc(append([]string{f.Node}, f.Also...), func(n string) bool { return n == a.Node })
	delete(w.Snippets, a.Volume)
	if len(nodes) > 0 {
		f.Node, f.Also = nodes[0], nodes[1:]
		w.Snippets[a.Volume] = f
	}
}

func (w *World) makeShare(a model.MakeShare) {
	d := model.Dir{Made: true, Maker: a.Maker, Paths: map[string]string{}}
	for _, node := range a.Nodes {
		d.Paths[node] = a.Path
	}
	w.Dirs[a.Name] = d
}
