package privileges

import (
	"cmp"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// deed is an action that manifests may lead to, with what permissions depend on
// and the action doesn't say.
type deed struct {
	action model.Action
	of     model.Key     // whose manifest it is for
	guest  string        // path of the guest: /vms/100, /vms for any, /pool/web for any of the pool
	newID  string        // path of a guest that isn't in its pool yet
	source string        // path of what is cloned
	had    *model.Config // the guest's config before, or that of what is cloned; nil: not known
}

const (
	vmCall      = model.VMPath
	storageCall = model.StoragePath

	containerCall = "/nodes/{node}/lxc/{vmid}"
)

// calls returns the requests to Proxmox that a deed takes. Parameters that permissions
// don't depend on are left out.
func calls(d deed, at Facts) []call {
	change, configures := changeOf(d.action)
	var list []call
	for _, c := range model.FactsOf(d.action).Calls {
		if !made(d.action, c, at) {
			continue
		}
		next := call{method: c.Method, path: c.Path, on: parameters(d), deed: d, why: cmp.Or(c.Why, reason(d))}
		if configures && c == model.ConfigCall {
			next.deed.action = change
		}
		list = append(list, next)
	}
	return list
}

// changeOf returns what an action changes in a guest's config, if it does so in a call of its
// own.
func changeOf(action model.Action) (c model.Configure, ok bool) {
	switch a := action.(type) {
	case model.Configure:
		return a, true
	case model.Release:
		return model.Configure{Target: a.Target, Description: &a.Description, Tags: &a.Tags}, true
	case model.Detach:
		return model.Configure{Target: a.Target, Delete: a.Options}, true
	case model.Rollback:
		return model.Configure{Target: a.Target, Description: &a.Note}, true
	}
	return c, false
}

// made reports whether an action makes this one of its calls. The change of a config that
// is a task takes what the one that isn't does.
func made(action model.Action, c model.Call, at Facts) bool {
	switch a := action.(type) {
	case model.Configure:
		return c == model.ConfigCall
	case model.MakeShare:
		return a.New == (c.Method == "POST")
	case model.KeepApart:
		return a.New == (c.Method == "POST")
	case model.SetHA:
		return madeForHA(a, c, at)
	}
	return !c.Optional
}

// madeForHA: from 9 on, rules stand for the groups that there were before.
func madeForHA(a model.SetHA, c model.Call, at Facts) bool {
	switch {
	case a.HA == nil || c.Method == "DELETE":
		return a.HA == nil && c.Method == "DELETE"
	case strings.Contains(c.Path, "/rules"):
		return at.Release >= 9 && a.HA.Group != ""
	}
	return a.New == (c.Method == "POST")
}

// parameters returns the paths of the access tree that the parameters of a deed's calls stand
// for.
func parameters(d deed) map[string]string {
	file := func(node, storage string) map[string]string {
		return map[string]string{"storage": storagePath(storage), "node": nodePath(node)}
	}
	switch a := d.action.(type) {
	case model.Clone:
		return map[string]string{"vmid": d.source, "newid": d.newID, "pool": poolPath(a.Pool), "node": nodePath(a.From.Node)}
	case model.Create:
		return map[string]string{"vmid": d.guest, "newid": d.newID, "pool": poolPath(a.Pool), "node": nodePath(a.Node)}
	case model.MoveDisk:
		return map[string]string{"vmid": d.guest, "node": "/nodes", "storage": storagePath(a.Storage)}
	case model.SetPool:
		return map[string]string{"vmid": d.guest, "poolid": poolPath(a.Pool), "from": poolPath(a.From)}
	case model.Download:
		return file(a.Node, a.Storage)
	case model.Unpack:
		return file(a.Node, a.Storage)
	case model.UploadSeed:
		return file(a.Node, a.Storage)
	case model.UploadSnippets:
		return map[string]string{"storage": storagePath(model.StorageOf(a.Volumes["user"]))}
	case model.RemoveFile:
		return file(a.Node, model.StorageOf(a.Volume))
	case model.RemoveDisk:
		return file(a.Left.Node, model.StorageOf(a.Volume))
	case model.MakeShare:
		return map[string]string{"id": "/mapping/dir/" + a.Name}
	case model.RemoveShare:
		return map[string]string{"id": "/mapping/dir/" + a.Name}
	}
	return map[string]string{"vmid": d.guest, "node": "/nodes"}
}

// reason says what a call is for, where that depends on what it is about.
func reason(d deed) string {
	switch a := d.action.(type) {
	case model.RemoveFile:
		if d.guest != "" {
			return "remove first-boot data"
		}
		return "remove fetched images"
	case model.MakeShare:
		return "change the directory mapping " + a.Name
	case model.RemoveShare:
		return "see the directory mapping " + a.Name
	case model.SetPool:
		if a.Pool == "" {
			return "take guests out of pool " + a.From
		}
		return "put guests into pool " + a.Pool
	}
	return ""
}
