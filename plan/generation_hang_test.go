package plan

import (
	"testing"

	"github.com/proxplane/proxplane/model"
)

func TestWhichDisksNeedATemplate(t *testing.T) {
	template := &model.Guest{VMID: 5000, Config: &model.Config{Disks: []model.Disk{{Slot: "scsi0", Volume: "lvm:base-5000-disk-1"}}}}
	unread := &model.Guest{VMID: 5000}
	for _, c := range []struct {
		reason   string
		template *model.Guest
		volume   string
		want     bool
	}{
		{"a linked clone in a directory", template, "local:5000/base-5000-disk-1.qcow2/101/vm-101-disk-0.qcow2", true},
		{"a linked clone of a volume", template, "zfs:base-5000-disk-1/vm-101-disk-0", true},
		{"a linked clone of another template", template, "zfs:base-50001-disk-1/vm-101-disk-0", false},
		{"a disk of its own", template, "lvm:vm-101-disk-0", false},
		{"the disk of the template, which somebody has attached", template, "lvm:base-5000-disk-1", true},
		{"the disk of an earlier template, which Proxmox has left", template, "lvm:base-5000-disk-0", false},
		{"the same, while nobody knows the template's disks", unread, "lvm:base-5000-disk-0", true},
	} {
		if got := hangsOn(c.template, c.volume); got != c.want {
			t.Errorf("%s: %t", c.reason, got)
		}
	}
}
