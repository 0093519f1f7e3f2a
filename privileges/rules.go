package privileges

import (
	"maps"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// rules are the checks that Proxmox makes in code, by call.
var rules = map[string]func(*book, call){
	"POST /nodes/{node}/qemu":              (*book).creating,
	"POST /nodes/{node}/qemu/{vmid}/clone": (*book).cloning,
	"PUT /nodes/{node}/qemu/{vmid}/config": (*book).configuring,
	"PUT /nodes/{node}/qemu/{vmid}/resize": (*book).resizing,
	"PUT /pools":                           (*book).pooling,

	"POST /nodes/{node}/qemu/{vmid}/move_disk": func(b *book, c call) {
		b.all(c.why, c.on["storage"], newDiskPriv)
	},

	"DELETE /nodes/{node}/storage/{storage}/content/{volume}": func(b *book, c call) {
		b.all(c.why, c.on["storage"], removeFilePriv)
	},
	// The list of everything leaves out what one may not see.
	"GET /cluster/resources": func(b *book, c call) {
		for parameter, priv := range map[string]string{"vmid": "VM.Audit", "node": "Sys.Audit", "storage": seeStoragePriv, "pool": "Pool.Audit"} {
			if path := c.on[parameter]; path != "" {
				b.all(c.why, path, priv)
			}
		}
	},
}

// creating: a new guest's options are checked on its pool, if it has one, since
// the guest is about to be in it; but tags are checked on the guest alone.
func (b *book) creating(c call) {
	create := c.deed.action.(model.Create)
	n := need{why: c.why}
	for _, path := range []string{c.on["pool"], c.on["newid"]} {
		if path != "" {
			n.any = append(n.any, []claim{{path, "VM.Allocate"}})
		}
	}
	b.add(n)
	b.option(c, "name", create.Name)
	b.option(c, "description", create.Description)
	for _, key := range slices.Sorted(maps.Keys(create.Options)) {
		b.option(c, key, create.Options[key])
	}
	for _, nic := range create.NICs {
		b.option(c, nic.Slot, "")
		b.bridge(c.why, nic)
	}
	for _, d := range create.Disks {
		b.volume(d)
	}
	if len(create.Tags) > 0 {
		b.all("set tags", c.on["newid"], "VM.Config.Options")
		b.freeTags()
	}
}

// configuring: each option has its privilege; what is changed is checked as it
// was and as it will be.
func (b *book) configuring(c call) {
	change := c.deed.action.(model.Configure)
	for _, key := range slices.Sorted(maps.Keys(change.Set)) {
		b.option(c, key, change.Set[key])
		b.oldDevice(c, key)
	}
	for _, key := range change.Delete {
		b.remove(c, key)
	}
	for _, d := range change.Disks {
		b.all("change drives", c.on["vmid"], drivePrivs[kindOf(d.Disk)]...)
		b.oldDrive(c, d.Slot)
		b.volume(d)
	}
	for _, nic := range change.NICs {
		b.option(c, nic.Slot, "")
		b.bridge("plug into "+nic.Bridge, nic)
		b.oldDevice(c, nic.Slot)
	}
	if change.Description != nil {
		b.option(c, "description", *change.Description)
	}
	if change.Tags != nil {
		b.option(c, "tags", "")
		b.freeTags()
	}
}

// remove notes what it takes to take an option or a device away.
func (b *book) remove(c call, key string) {
	if d, ok := b.oldDrive(c, key); ok {
		if kindOf(d) == disk {
			b.all("remove disks", storagePath(storageOf(d)), newDiskPriv)
		}
		return
	}
	b.option(c, key, "")
	b.oldDevice(c, key)
}

// oldDrive notes what it takes to change a drive that is there already.
func (b *book) oldDrive(c call, slot string) (model.Disk, bool) {
	if c.deed.had == nil {
		return model.Disk{}, false
	}
	d, ok := c.deed.had.DiskAt(slot)
	if ok {
		b.all("change drives", c.on["vmid"], drivePrivs[kindOf(d)]...)
	}
	return d, ok
}

// oldDevice notes what it takes to change a device that is there already.
func (b *book) oldDevice(c call, key string) {
	if c.deed.had == nil {
		return
	}
	if nic, ok := c.deed.had.NICAt(key); ok {
		b.bridge("unplug from "+nic.Bridge, nic)
	}
	if value, ok := c.deed.had.Options[key]; ok && value != someValue {
		b.device(c, key, value)
	}
}

// cloning: the copy gets everything that the source has, so all of it is checked.
func (b *book) cloning(c call) {
	clone := c.deed.action.(model.Clone)
	had := c.deed.had
	if had == nil {
		b.all("copy disks", storagePath(clone.Storage), newDiskPriv)
		return
	}
	for _, d := range had.Disks {
		switch {
		case d.Volume == "cdrom":
			b.all("use the node's own drive", "/", "Sys.Console")
		case kindOf(d) != disk || d.Volume == "none":
		case clone.Full && clone.Storage != "":
			b.all("copy disks", storagePath(clone.Storage), newDiskPriv)
		default:
			b.all("copy disks", storagePath(storageOf(d)), newDiskPriv)
		}
	}
	if storage := had.Options["vmstatestorage"]; storage != "" {
		b.all("copy vmstatestorage", storagePath(storage), newDiskPriv)
	}
	for _, nic := range had.NICs {
		b.bridge("copy "+nic.Slot, nic)
	}
	for _, key := range slices.Sorted(maps.Keys(had.Options)) {
		if name := family(key); name != "serial[n]" {
			b.copied(c, key, had.Options[key])
		}
	}
}

// copied notes what a device takes that a clone inherits. The guest itself isn't
// asked for then.
func (b *book) copied(c call, key, value string) {
	inherited := &book{at: b.at, schema: b.schema}
	inherited.device(c, key, value)
	for _, n := range inherited.needs {
		if !slices.ContainsFunc(n.any, func(all []claim) bool { return all[0].path == c.on["vmid"] }) {
			b.add(n)
		}
	}
	for _, r := range inherited.root {
		b.onlyRoot(r.Object, r.Option, r.Why)
	}
}

func (b *book) resizing(c call) {
	resize := c.deed.action.(model.Resize)
	if c.deed.had == nil {
		return
	}
	if d, ok := c.deed.had.DiskAt(resize.Slot); ok {
		b.all(c.why, storagePath(storageOf(d)), newDiskPriv)
	}
}

func (b *book) pooling(c call) {
	b.any(c.why, c.on["vmid"], "VM.Allocate", "Permissions.Modify")
	if from := c.on["from"]; from != "" {
		b.all(c.why, from, "Pool.Allocate")
	}
}

// freeTags: where the data centre doesn't let everybody make up tags, ours take
// more.
func (b *book) freeTags() {
	if b.at.TagsRestricted {
		b.all("make up tags, which the data centre's options restrict", "/", "Sys.Modify")
	}
}
