package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/model"
)

// No manifest says where firmware is, so that it moves with the root disk only: the TPM of
// an adopted machine may be anywhere.
func TestFirmwareMovesAlongWithTheRootDisk(t *testing.T) {
	for name, c := range inOrder(map[string]struct {
		root, tpm string // where they are
		want      []string
	}{
		"both are elsewhere":             {"local-lvm", "local-lvm", []string{"tpmstate0", "scsi0"}},
		"the TPM has been moved already": {"local-lvm", "nfs", []string{"scsi0"}},
		"the root disk is where it is wanted, and the TPM isn't beside it": {"nfs", "local-lvm", nil},
	}) {
		t.Run(name, func(t *testing.T) {
			on := func(slot, storage string) model.Disk {
				return model.Disk{Slot: slot, Storage: storage, Volume: storage + ":vm-100-" + slot}
			}
			ch := &change{
				p:     newPlanner(model.Desired{}, newWorld().observe(Look{})),
				v:     model.VM{Disks: []model.Disk{{Slot: model.RootSlot, Name: "root", Storage: "nfs"}, {Slot: "tpmstate0", Name: "tpm", Storage: "nfs"}}},
				have:  &model.Config{Disks: []model.Disk{on("scsi0", c.root), on("tpmstate0", c.tpm)}},
				slots: map[string]string{},
			}
			for i, d := range ch.v.Disks {
				ch.slots[diskName(d)] = ch.have.Disks[i].Slot
			}
			var got []string
			for _, m := range ch.misplaced() {
				got = append(got, m.slot)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
		})
	}
}
