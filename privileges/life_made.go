package privileges

import (
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// made is how a guest comes to be.
func (l *life) made(v model.VM, s source) {
	d := deed{of: v.Owner.Key, guest: guestPath(v), newID: vmPath(v.VMID), source: s.path, had: s.config}
	if s.blank {
		create := model.Create{Name: v.Name, Description: v.Description, NICs: v.NICs, Pool: v.Pool}
		if v.Pool == "" {
			create.Tags = []string{model.Tag} // in a pool they are set when it is there
		}
		create.Options, create.Disks = set(v.Options), newDisks(v.Disks, s.storage)
		d.action = create
		l.deeds = append(l.deeds, d)
		if s.storage != "" {
			l.seeStorage(s.storage)
		}
		return
	}
	l.see("see what guests are made from", s.path)
	d.action = model.Clone{Name: v.Name, Full: s.full(v), Storage: v.Source.Storage, Pool: v.Pool, Snapshot: v.Source.Snapshot}
	l.deeds = append(l.deeds, d)
	if s.config == nil {
		return
	}
	for _, disk := range s.config.Disks {
		if storage := storageOf(disk); storage != "" {
			l.seeStorage(storage)
		}
	}
}

// configured is how a guest is brought to what is wanted, and kept there: all
// that the manifest says may have to be set, and what its source has beyond that
// may have to go.
func (l *life) configured(v model.VM, s source) {
	had := s.config
	text := v.Description
	change := model.Configure{Set: maps.Clone(v.Options), NICs: v.NICs, Description: &text, Tags: &[]string{model.Tag}}
	if change.Set == nil {
		change.Set = map[string]string{}
	}
	if v.Name != "" {
		change.Set["name"] = v.Name
	}
	change.Disks = newDisks(further(v.Disks), rootStorage(had))
	l.firstBoot(v, had, &change)
	if had != nil && len(v.NICs) > 0 {
		for _, nic := range had.NICs {
			if !slices.ContainsFunc(v.NICs, func(n model.NIC) bool { return n.Slot == nic.Slot }) {
				change.Delete = append(change.Delete, nic.Slot)
			}
		}
	}
	d := deed{action: change, of: v.Owner.Key, guest: guestPath(v), newID: vmPath(v.VMID), had: had}
	l.deeds = append(l.deeds, d)
	after := l.after(v, s)
	for _, disk := range v.Disks {
		if disk.CDROM {
			l.seeStorage(storageOf(disk))
			continue
		}
		if storage := storageOf(disk); storage != "" {
			l.seeStorage(storage)
		}
		if slot := disk.Slot; disk.Size > 0 {
			if disk.Root() {
				slot = bootSlot(after)
			}
			d.action, d.had = model.Resize{Slot: slot, Size: disk.Size}, after
			l.deeds = append(l.deeds, d)
		}
	}
}

// firstBoot plans the drive that the guest reads at its first boot: ours, or the
// one that Proxmox fills.
func (l *life) firstBoot(v model.VM, had *model.Config, change *model.Configure) {
	hasDrive := had != nil && slices.ContainsFunc(had.Disks, func(d model.Disk) bool { return d.CloudInit })
	switch {
	case v.Seed != nil && !v.Seed.Apart && len(v.Seed.Snippets) == 0:
		change.Disks = append(change.Disks, model.NewDisk{Disk: model.Disk{Slot: "ide2", CDROM: true, Volume: v.Seed.Storage + ":iso/seed.iso"}})
		if had == nil {
			return
		}
		for _, d := range had.Disks {
			if d.CloudInit && d.Slot != "ide2" {
				change.Delete = append(change.Delete, d.Slot)
			}
		}
	case !hasDrive && slices.ContainsFunc(slices.Collect(maps.Keys(set(v.Options))), isCloudInit):
		change.Disks = append(change.Disks, model.NewDisk{Disk: model.Disk{Slot: "ide2", CDROM: true, CloudInit: true}})
	}
}

func isCloudInit(key string) bool { return slices.Contains(cloudInitOptions, family(key)) }

// seeded is the life of a file with first-boot data.
func (l *life) seeded(v model.VM) {
	if v.Seed == nil {
		return
	}
	l.seeStorage(v.Seed.Storage)
	d := deed{of: v.Owner.Key, guest: guestPath(v)}
	d.action = model.UploadSeed{Storage: v.Seed.Storage}
	if len(v.Seed.Snippets) > 0 {
		d.action = model.UploadSnippets{Volumes: map[string]string{"user": v.Seed.Storage + ":snippets/seed"}}
	}
	l.deeds = append(l.deeds, d)
	d.action = model.RemoveFile{Volume: v.Seed.Storage + ":iso/seed.iso"}
	l.deeds = append(l.deeds, d)
}

// set are the options that aren't to be absent.
func set(options map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range options {
		if v != "" {
			out[k] = v
		}
	}
	return out
}

func further(disks []model.Disk) []model.Disk {
	return slices.DeleteFunc(slices.Clone(disks), model.Disk.Root)
}

// newDisks are disks to be made; those that name no storage go to the one given.
func newDisks(disks []model.Disk, storage string) []model.NewDisk {
	var out []model.NewDisk
	for _, d := range disks {
		if d.Storage == "" && d.Volume == "" {
			d.Storage = storage
		}
		d.Slot = strings.Replace(d.Slot, model.RootSlot, "scsi0", 1)
		out = append(out, model.NewDisk{Disk: d})
	}
	return out
}
