package act

import (
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// Storage returns the storage that an action uses; the client limits how many use it at
// once.
type Storage struct {
	Name   string
	Shared bool
}

func (s Storage) client(c *pve.Client) *pve.Client {
	if s.Name == "" {
		return c
	}
	return c.With(pve.OnStorage(s.Name, s.Shared))
}

// On returns the storage that an action uses, as far as it is known.
func On(action model.Action, have *model.Observed) Storage {
	name := busyStorage(action, have)
	s := Storage{Name: name}
	if known := have.Storages[name]; known != nil {
		s.Shared = known.Shared
	}
	return s
}

// busyStorage names that storage.
func busyStorage(action model.Action, have *model.Observed) string {
	switch model.FactsOf(action).Busy {
	case model.BusyNamed:
		return namedStorage(action, have)
	case model.BusyGuest:
		return storageOf(have.Guests[action.Guest()], "")
	case model.BusyResize:
		return resizedStorage(have, action)
	}
	return ""
}

// namedStorage returns the storage that an action names. A copy that names none goes to the storage of its
// source.
func namedStorage(action model.Action, have *model.Observed) string {
	switch act := action.(type) {
	case model.Clone:
		if act.Full && act.Storage != "" {
			return act.Storage
		}
		return storageOf(have.Guests[act.From.VMID], "")
	case model.Create:
		return newStorage(act.Disks)
	case model.Configure:
		return newStorage(act.Disks)
	case model.MoveDisk:
		return act.Storage
	case model.Download:
		return act.Storage
	case model.Unpack:
		return act.Storage
	case model.UploadSeed:
		return act.Storage
	case model.RemoveFile:
		return model.StorageOf(act.Volume)
	case model.RemoveDisk:
		return model.StorageOf(act.Volume)
	}
	return ""
}

// resizedStorage returns the storage of a disk that grows, if that needs the lock of the storage: volume groups
// need it, others grow their volumes side by side.
func resizedStorage(have *model.Observed, action model.Action) string {
	r, ok := action.(model.Resize)
	if !ok {
		return ""
	}
	name := storageOf(have.Guests[r.VMID], r.Slot)
	if s := have.Storages[name]; s != nil && s.Type != "lvm" && s.Type != "lvmthin" {
		return ""
	}
	return name
}

// storageOf returns the storage of a guest's disk in a slot, or of its first disk.
func storageOf(g *model.Guest, slot string) string {
	if g == nil || g.Config == nil {
		return ""
	}
	for _, d := range g.Config.Disks {
		if (slot == "" || d.Slot == slot) && !d.CDROM && d.Storage != "" {
			return d.Storage
		}
	}
	return ""
}

func newStorage(disks []model.NewDisk) string {
	for _, d := range disks {
		if d.Volume == "" && d.Storage != "" {
			return d.Storage
		}
	}
	return ""
}
