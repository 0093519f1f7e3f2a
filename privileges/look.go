package privileges

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// read notes a call that changes nothing.
func (l *life) read(why, path string, on map[string]string) {
	c := call{method: "GET", path: path, on: on, why: why}
	if !slices.ContainsFunc(l.reads, c.same) {
		l.reads = append(l.reads, c)
	}
}

// see notes what it takes to find a guest and read its config.
func (l *life) see(why, guest string) {
	l.read(why, "/cluster/resources", map[string]string{"vmid": guest})
	l.read(why, vmCall+"/pending", map[string]string{"vmid": guest})
	l.read(why, vmCall+"/status/current", map[string]string{"vmid": guest})
}

// seeStorage notes what it takes to know a storage: its space, whether it is
// shared, the files on it.
func (l *life) seeStorage(name string) {
	on := map[string]string{"storage": storagePath(name)}
	l.read("see storages and their space", "/cluster/resources", on)
	l.read("see the files on storages", storageCall+"/content", on)
}

// listed notes what the list of everything has to show for a guest.
func (l *life) listed(v model.VM) {
	l.see("see guests and read their configs", guestPath(v))
	nodes := v.Place.Nodes
	if len(nodes) == 0 {
		nodes = []string{""}
	}
	for _, node := range nodes {
		l.read("see how much room nodes have", "/cluster/resources", map[string]string{"node": nodePath(node)})
	}
	if len(v.Leases) > 0 {
		l.leased()
	}
	if v.Pool != "" {
		l.read("see which pool guests are in", "/cluster/resources", map[string]string{"pool": poolPath(v.Pool)})
	}
}

// leased notes what it takes to know which addresses are taken: all guests may have some, containers
// too.
func (l *life) leased() {
	const why = "see which addresses are taken"
	for _, path := range []string{"/cluster/resources", vmCall + "/pending", containerCall + "/config"} {
		l.read(why, path, map[string]string{"vmid": allGuests})
	}
}

// looked notes what it takes to read what a plan asks for. What isn't here needs no
// privilege, or plans do without where it can't be read.
func (l *life) looked(look model.Look) {
	each := func(ids []int, why string, calls ...string) {
		for _, vmid := range ids {
			for _, path := range calls {
				l.read(why, vmCall+path, map[string]string{"vmid": l.pathOf(vmid)})
			}
		}
	}
	each(look.Snapshots, "see snapshots", "/snapshot")
	each(look.Agents, "ask guest agents for addresses", "/agent/network-get-interfaces")
	each(look.Ready, "ask guest agents for addresses", "/agent/network-get-interfaces")
	each(look.Firewalls, "read the firewall of guests", "/firewall/options", "/firewall/rules")
	if look.HA {
		l.read("read the HA configuration", "/cluster/ha/resources", nil)
		l.read("read the HA configuration", "/cluster/ha/rules", nil)
	}
}

// storagesOf returns the storages that have to be seen for a deed: those that it uses, and those
// of what it copies.
func storagesOf(d deed) []string {
	var all []string
	disks := func(list ...model.Disk) {
		for _, one := range list {
			if name := storageOf(one); name != "" {
				all = append(all, name)
			}
		}
	}
	made := func(list []model.NewDisk) {
		for _, one := range list {
			if disks(one.Disk); one.Import != "" {
				all = append(all, model.StorageOf(one.Import))
			}
		}
	}
	switch a := d.action.(type) {
	case model.Clone:
		disks(d.had.Disks...)
	case model.Create:
		made(a.Disks)
	case model.Configure:
		made(a.Disks)
	case model.Resize:
		if one, ok := d.had.DiskAt(a.Slot); ok {
			disks(one)
		}
	case model.MoveDisk:
		all = append(all, a.Storage)
	case model.Download:
		all = append(all, a.Storage)
	case model.Unpack:
		all = append(all, a.Storage)
	case model.UploadSeed:
		all = append(all, a.Storage)
	case model.UploadSnippets:
		for _, volume := range a.Volumes {
			all = append(all, model.StorageOf(volume))
		}
	case model.RemoveFile:
		all = append(all, model.StorageOf(a.Volume))
	}
	return all
}
