package privs

import (
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
	vmCall      = "/nodes/{node}/qemu/{vmid}"
	storageCall = "/nodes/{node}/storage/{storage}"
)

// calls are the requests to Proxmox that a deed takes. Parameters that permissions
// don't depend on are left out.
func calls(d deed, at Site) []call {
	guest := func(method, path, why string) []call {
		return []call{{method: method, path: vmCall + path, on: map[string]string{"vmid": d.guest, "node": "/nodes"}, deed: d, why: why}}
	}
	file := func(method, path, node, storage, why string) []call {
		on := map[string]string{"storage": storagePath(storage), "node": nodePath(node)}
		return []call{{method: method, path: storageCall + path, on: on, deed: d, why: why}}
	}
	switch a := d.action.(type) {
	case model.Clone:
		on := map[string]string{"vmid": d.source, "newid": d.newID, "pool": poolPath(a.Pool), "node": nodePath(a.From.Node)}
		return []call{{method: "POST", path: vmCall + "/clone", on: on, deed: d, why: "clone"}}
	case model.Create:
		on := map[string]string{"vmid": d.guest, "newid": d.newID, "pool": poolPath(a.Pool), "node": nodePath(a.Node)}
		return []call{{method: "POST", path: "/nodes/{node}/qemu", on: on, deed: d, why: "create guests"}}
	case model.Configure:
		return guest("PUT", "/config", "configure guests")
	case model.Detach:
		d.action = model.Configure{Target: a.Target, Delete: a.Options}
		return calls(d, at)
	case model.MakeShare:
		on := map[string]string{"id": "/mapping/dir/" + a.Name}
		if a.New {
			return []call{{method: "POST", path: "/cluster/mapping/dir", on: on, deed: d, why: "make directory mappings"}}
		}
		return []call{{method: "PUT", path: "/cluster/mapping/dir/{id}", on: on, deed: d, why: "change the directory mapping " + a.Name}}
	case model.RemoveShare:
		on := map[string]string{"id": "/mapping/dir/" + a.Name}
		return []call{
			{method: "GET", path: "/cluster/mapping/dir/{id}", on: on, deed: d, why: "see the directory mapping " + a.Name},
			{method: "DELETE", path: "/cluster/mapping/dir/{id}", on: on, deed: d, why: "remove directory mappings"},
		}
	case model.Release:
		d.action = model.Configure{Target: a.Target, Description: &a.Description, Tags: &a.Tags}
		return calls(d, at)
	case model.Resize:
		return guest("PUT", "/resize", "grow disks")
	case model.MoveDisk:
		list := guest("POST", "/move_disk", "move disks to other storages")
		list[0].on["storage"] = storagePath(a.Storage)
		return list
	case model.Migrate:
		return guest("POST", "/migrate", "move guests to other nodes")
	case model.Start:
		return guest("POST", "/status/start", "start and stop guests")
	case model.Shutdown:
		return guest("POST", "/status/shutdown", "start and stop guests")
	case model.Resume:
		return guest("POST", "/status/resume", "start and stop guests")
	case model.Stop:
		return guest("POST", "/status/stop", "start and stop guests")
	case model.Reboot:
		return guest("POST", "/status/reboot", "start and stop guests")
	case model.Destroy:
		return append(guest("GET", "/config", "read configs"), guest("DELETE", "", "destroy guests")...)
	case model.MakeTemplate:
		return guest("POST", "/template", "make templates")
	case model.Snap:
		return guest("POST", "/snapshot", "take snapshots")
	case model.Unsnap:
		return guest("DELETE", "/snapshot/{snapname}", "delete snapshots")
	case model.Rollback:
		return append(guest("PUT", "/snapshot/{snapname}/config", "go back to snapshots"),
			guest("POST", "/snapshot/{snapname}/rollback", "go back to snapshots")...)
	case model.Download:
		return file("POST", "/download-url", a.Node, a.Storage, "fetch images")
	case model.UploadSeed:
		return file("POST", "/upload", a.Node, a.Storage, "upload first-boot data")
	case model.UploadSnippets:
		// The copy itself goes by SSH.
		storage := map[string]string{"storage": storagePath(model.StorageOf(a.Volumes["user"]))}
		return []call{
			{method: "GET", path: "/storage/{storage}", on: storage, deed: d, why: "know where snippets are"},
			{method: "GET", path: "/cluster/status", deed: d, why: "know the addresses of nodes"},
		}
	case model.RemoveFile:
		why := "remove fetched images"
		if d.guest != "" {
			why = "remove first-boot data"
		}
		return file("DELETE", "/content/{volume}", a.Node, model.StorageOf(a.Volume), why)
	case model.SetHA:
		return haCalls(a, d, at)
	case model.KeepApart:
		return []call{{method: "POST", path: "/cluster/ha/rules", deed: d, why: "keep guests under HA apart"}}
	case model.SetPool:
		on := map[string]string{"vmid": d.guest, "poolid": poolPath(a.Pool), "from": poolPath(a.From)}
		why := "put guests into pool " + a.Pool
		if a.Pool == "" {
			why = "take guests out of pool " + a.From
		}
		return []call{{method: "PUT", path: "/pools", on: on, deed: d, why: why}}
	}
	return nil
}

// haCalls: from 9 on, rules stand for the groups that there were before.
func haCalls(a model.SetHA, d deed, at Site) []call {
	resource := func(method, path string) call {
		return call{method: method, path: "/cluster/ha/" + path, deed: d, why: "put guests under HA"}
	}
	if a.HA == nil {
		return []call{resource("DELETE", "resources/{sid}")}
	}
	list := []call{resource("PUT", "resources/{sid}")}
	if a.New {
		list = []call{resource("POST", "resources")}
	}
	if at.Release >= 9 && a.HA.Group != "" {
		list = append(list, resource("GET", "rules"), resource("PUT", "rules/{rule}"))
	}
	return list
}
