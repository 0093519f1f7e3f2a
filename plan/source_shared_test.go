package plan

import (
	"testing"

	"github.com/proxplane/proxplane/model"
)

// Proxmox copies a guest as it runs: a drive that is taken out at the next start holds it on its node until then.
func TestAGuestIsCopiedAsItRuns(t *testing.T) {
	p := &planner{have: &model.Observed{Storages: map[string]*model.Storage{"nfs": {Shared: true}, "local": {}}}}
	nfs, local := model.Disk{Slot: "scsi0", Volume: "nfs:vm-1-disk-0"}, model.Disk{Slot: "ide2", Volume: "local:iso/seed.iso", CDROM: true}
	for _, c := range []struct {
		reason string
		config model.Config
		want   bool
	}{
		{"all its disks are shared", model.Config{Disks: []model.Disk{nfs}}, true},
		{"one is local", model.Config{Disks: []model.Disk{nfs, local}}, false},
		{"one is local until it restarts", model.Config{Disks: []model.Disk{nfs}, Running: &model.Config{Disks: []model.Disk{local}}}, false},
		{"something else changes when it restarts", model.Config{Disks: []model.Disk{nfs}, Running: &model.Config{}}, true},
	} {
		if got := p.allShared(&c.config); got != c.want {
			t.Errorf("%s: %v", c.reason, got)
		}
	}
}
