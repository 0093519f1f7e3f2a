package plan

import (
	"maps"
	"testing"

	"github.com/proxplane/proxplane/model"
)

func TestDisksGoToASharedStorageWhenNobodySaysWhere(t *testing.T) {
	owner := func(kind, name string) model.Owner {
		return model.Owner{Door: "vm", Key: model.Key{Kind: kind, Name: name}}
	}
	want := model.Desired{
		Images: []model.Image{{Owner: owner("VMImage", "cloud"), URL: "https://images.example.com/cloud.qcow2", Range: model.Range{First: 6000, Last: 6999}}},
		VMs: []model.VM{{
			Owner: owner("VirtualMachine", "empty"), Name: "empty", Range: model.Range{First: 5000, Last: 5999}, Source: model.Source{Blank: true},
			Disks: []model.Disk{{Slot: model.RootSlot, Name: "root", Size: 8 << 30}},
		}},
	}
	for _, c := range []struct {
		reason  string
		storage string // "": nothing takes disks
		change  func(*world)
		rights  map[string]map[string]bool // nil: everything
	}{
		{"all nodes reach what is shared", "nfs", func(*world) {}, nil},
		{"what takes no disks isn't chosen", "local-lvm", func(w *world) { w.Storages["nfs"].Content["images"] = false }, nil},
		{"nothing takes disks", "", func(w *world) {
			w.Storages["nfs"].Content["images"], w.Storages["local-lvm"].Content["images"] = false, false
		}, nil},
		{"the credentials may use one storage only", "local-lvm", func(*world) {}, map[string]map[string]bool{
			"/storage/nfs": {mayFetch: true, "Datastore.Audit": true}, "/storage/local-lvm": {mayAllocate: true},
		}},
		{"the credentials may use none", "", func(*world) {}, map[string]map[string]bool{"/storage/nfs": {"Datastore.Audit": true}, "/storage/local-lvm": {"Datastore.Audit": true}}},
	} {
		w := newWorld()
		c.change(w)
		have := w.observe(Look{})
		have.Files, have.Rights = map[string]model.File{}, allRights(model.Desired{})
		maps.Copy(have.Rights, c.rights)
		have.URLs = allURLs(want, have.Nodes)
		for _, o := range For(want, have).Objects {
			if c.storage == "" {
				if o.Wait == nil || o.Wait.Reason != model.WaitUnfit {
					t.Errorf("%s: %s waits for %+v", c.reason, o.Owner.Key, o.Wait)
				}
				continue
			}
			for _, s := range o.Steps {
				if create, ok := s.Action.(model.Create); ok && create.Disks[0].Storage != c.storage {
					t.Errorf("%s: %s goes to %q", c.reason, o.Owner.Key, create.Disks[0].Storage)
				}
			}
			if len(o.Steps) == 0 && (o.Wait == nil || o.Wait.Reason != model.WaitSource) { // its template has them
				t.Errorf("%s: nothing is planned for %s: %+v", c.reason, o.Owner.Key, o)
			}
		}
	}
}

func TestNewDisksCanBeSnapshotted(t *testing.T) {
	p := newPlanner(model.Desired{}, newWorld().observe(Look{}))
	for _, c := range []struct {
		reason string
		disk   model.Disk
		format string
	}{
		{"files are raw unless told", model.Disk{Slot: "scsi1", Storage: "nfs"}, "qcow2"},
		{"an EFI disk is a disk, too", model.Disk{Slot: "efidisk0", Storage: "nfs"}, "qcow2"},
		{"the manifest says so", model.Disk{Slot: "scsi1", Storage: "nfs", Format: "raw"}, "raw"},
		{"block devices have no format", model.Disk{Slot: "scsi1", Storage: "local-lvm"}, ""},
		{"nor can the manifest give them one", model.Disk{Slot: "scsi1", Storage: "local-lvm", Format: "qcow2"}, ""},
		{"not all releases can", model.Disk{Slot: "tpmstate0", Storage: "nfs"}, ""},
	} {
		if got := p.formatted(c.disk).Format; got != c.format {
			t.Errorf("%s: %q, want %q", c.reason, got, c.format)
		}
	}
}
