package leftover

import (
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

func TestOnlyGuestsThatCanUseADiskAreAsked(t *testing.T) {
	left := model.Left{Node: "pve1", VMID: 100}
	storages := []pve.Resource{
		{Type: "storage", Storage: "local-lvm", Node: "pve1"},
		{Type: "storage", Storage: "ceph", Node: "pve1", Shared: true},
		{Type: "node", Node: "pve1"},
	}
	guest := func(kind, node string, vmid int) pve.Resource {
		return pve.Resource{Type: kind, Node: node, VMID: vmid}
	}
	for _, c := range []struct {
		reason string
		guests []pve.Resource
		volume string
		want   []int
		known  bool
	}{
		{"one on the same node", []pve.Resource{guest("qemu", "pve1", 7), guest("qemu", "pve2", 8)}, "local-lvm:vm-100-disk-0", []int{7}, true},
		{"all, of a storage that all have", []pve.Resource{guest("qemu", "pve1", 7), guest("qemu", "pve2", 8)}, "ceph:vm-100-disk-0", []int{7, 8}, true},
		{"the one with the VMID, wherever it is", []pve.Resource{guest("qemu", "pve2", 100)}, "local-lvm:vm-100-disk-0", []int{100}, true},
		{"nobody knows of containers", []pve.Resource{guest("qemu", "pve1", 7), guest("lxc", "pve1", 8)}, "local-lvm:vm-100-disk-0", nil, false},
		{"nor of those with the VMID", []pve.Resource{guest("lxc", "pve2", 100)}, "local-lvm:vm-100-disk-0", nil, false},
		{"containers elsewhere don't matter", []pve.Resource{guest("lxc", "pve2", 8)}, "local-lvm:vm-100-disk-0", nil, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			all := slices.Concat(storages, c.guests)
			guests, unknown := mayUse(all, left, []string{c.volume}, sharedStorages(all))
			var ids []int
			for _, g := range guests {
				ids = append(ids, g.VMID)
			}
			if !slices.Equal(ids, c.want) || (unknown == "") != c.known {
				t.Errorf("%v, %q; want %v, known: %v", ids, unknown, c.want, c.known)
			}
		})
	}
}

func TestALocalVolumeOfAnotherNodeIsAnotherOne(t *testing.T) {
	left := model.Left{Node: "pve1", VMID: 100}
	shared := sharedStorages([]pve.Resource{{Type: "storage", Storage: "lvm", Node: "pve1"}, {Type: "storage", Storage: "ceph", Node: "pve1", Shared: true}})
	for _, c := range []struct {
		node, volume string
		want         bool
	}{
		{"pve1", "lvm:vm-100-disk-0", true},
		{"pve2", "lvm:vm-100-disk-0", false},
		{"pve2", "ceph:vm-100-disk-0", true},
	} {
		if got := reaches(pve.Resource{Node: c.node, VMID: 100}, left, c.volume, shared); got != c.want {
			t.Errorf("VM 100 on %s reaches %s: %v", c.node, c.volume, got)
		}
	}
}
