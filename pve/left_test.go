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
