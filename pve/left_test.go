package pve

import (
	"slices"
	"testing"
)

func TestDisksThatCouldNotBeRemovedAreNamed(t *testing.T) {
	got := LeftDisks([]string{
		"Could not remove disk 'nfs:5004/vm-5004-disk-0.qcow2', check manually: can't lock file '/var/lock/pve-manager/pve-storage-nfs' - got timeout",
		"something else", "Could not remove disk 'lvm:vm-5004-cloudinit', check manually: x",
	})
	if want := []string{"nfs:5004/vm-5004-disk-0.qcow2", "lvm:vm-5004-cloudinit"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestTasksThatMayHaveLeftDisksAreToldFromOthers(t *testing.T) {
	for text, want := range map[string]bool{
		"clone failed: can't lock file '/var/lock/pve-manager/pve-storage-nfs' - got timeout":                                   true,
		"clone failed: disk image '/var/lib/vz/images/5/vm-5-cloudinit.qcow2' already exists":                                   true,
		"clone failed: unable to create image: qemu-img: x: Could not resize image: No space left on device":                    false,
		"clone failed: lvcreate 'pve/vm-5-cloudinit' error:   Logical Volume \"vm-5-cloudinit\" already exists in volume group": true,
		"interrupted by signal": true,
		"received interrupt":    true,
		"command failed":        true,
	} {
		if got := exitError(UPID{}, text, nil).Messy(); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if !exitError(UPID{}, "clone failed: No space left on device", []string{"cfs-lock 'storage-nfs' error: got lock request timeout"}).Messy() {
		t.Error("the log isn't looked at")
	}
}
