package status

import (
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/test/kit/golden"
)

func TestDescriptionsReadWell(t *testing.T) {
	g := lab().Guests[101]
	two := "2"
	g.Config = &model.Config{
		Options: map[string]string{"name": "web-1", "cores": "2", "memory": "4096", "sshkeys": "ssh-ed25519 AAAA a\nssh-ed25519 BBBB b\n", "cipassword": "**********"},
		Disks: []model.Disk{
			{Slot: "scsi0", Volume: "local-lvm:vm-101-disk-0", Size: 40 * gib, Options: map[string]string{"discard": "on", "ssd": "1"}},
			{Slot: "ide2", Volume: "local-lvm:vm-101-cloudinit", Size: 4 << 20, CloudInit: true},
		},
		NICs:    []model.NIC{{Slot: "net0", Model: "virtio", MAC: "BC:24:11:00:00:01", Bridge: "vmbr0", VLAN: 100}},
		Text:    "The shop's\nfirst server.",
		Marker:  &model.Marker{Owner: owner("VirtualMachine", "web-1")},
		Pending: map[string]*string{"cores": &two},
	}
	g.Snapshots = []model.SnapshotInfo{
		{Name: "current", Parent: "later"},
		{Name: "later", Parent: "clean", Time: now.Add(-time.Hour).Unix(), Memory: true},
		{Name: "clean", Time: now.Add(-50 * time.Hour).Unix(), Description: "just installed"},
	}
	tasks := []Task{
		{UPID: "UPID:pve1:2", Node: "pve1", Type: "qmsnapshot", ID: "101", User: "root@pam", Started: now.Add(-time.Hour), Ended: now.Add(-time.Hour + 2*time.Second), Status: "OK"},
	}
	golden.Compare(t, "describe.txt", Page{}.Describe(About{Guest: g, Tasks: tasks, Now: now}))
	object := everything().Objects[2]
	golden.Compare(t, "describe-wanted.txt", Page{Width: 80}.Describe(About{Guest: g, Want: &object, Tasks: tasks, Now: now}))
	missing := everything().Objects[6]
	golden.Compare(t, "describe-absent.txt", Page{Width: 80}.Describe(About{Want: &missing, Now: now}))
}
