package prop_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/proxplane/proxplane/pve/prop"
)

func TestNamesOfVolumesTellWhatTheyAre(t *testing.T) {
	cases := []struct {
		id, kind string
		want     prop.Volume
	}{
		{"local:100/vm-100-disk-0.raw", "dir", prop.Volume{Content: "images", File: "vm-100-disk-0.raw", Owner: 100, Format: "raw"}},
		{"local:102/base-102-disk-0.qcow2", "dir, template", prop.Volume{Content: "images", File: "base-102-disk-0.qcow2", Owner: 102, Format: "qcow2", IsBase: true}},
		{"local:102/base-102-disk-0.qcow2/120/vm-120-disk-0.qcow2", "dir, linked clone", prop.Volume{Content: "images", File: "vm-120-disk-0.qcow2", Owner: 120, Format: "qcow2", Base: "102/base-102-disk-0.qcow2"}},
		{"local:400/vm-400-cloudinit.qcow2", "dir", prop.Volume{Content: "images", File: "vm-400-cloudinit.qcow2", Owner: 400, Format: "qcow2"}},
		{"local:7/my-disk.vmdk", "dir, odd name", prop.Volume{Content: "images", File: "my-disk.vmdk", Owner: 7, Format: "vmdk"}},
		{"local-lvm:vm-100-disk-0", "lvmthin", prop.Volume{Content: "images", File: "vm-100-disk-0", Owner: 100, Format: "raw"}},
		{"local-lvm:base-100-disk-0", "lvmthin, template", prop.Volume{Content: "images", File: "base-100-disk-0", Owner: 100, Format: "raw", IsBase: true}},
		{"san:vm-100-disk-0.qcow2", "lvm with volume chains", prop.Volume{Content: "images", File: "vm-100-disk-0.qcow2", Owner: 100, Format: "qcow2"}},
		{"tank:base-9000-disk-0/vm-101-disk-0", "zfs, linked clone", prop.Volume{Content: "images", File: "vm-101-disk-0", Owner: 101, Format: "raw", Base: "base-9000-disk-0"}},
		{"tank:subvol-200-disk-0", "zfs, container", prop.Volume{Content: "images", File: "subvol-200-disk-0", Owner: 200, Format: "subvol"}},
		{"tank:basevol-200-disk-0", "zfs, container template", prop.Volume{Content: "images", File: "basevol-200-disk-0", Owner: 200, Format: "subvol", IsBase: true}},
		{"local:iso/tiny.iso", "iso", prop.Volume{Content: "iso", File: "tiny.iso", Format: "raw"}},
		{"local:import/disk.qcow2", "import", prop.Volume{Content: "import", File: "disk.qcow2", Format: "qcow2"}},
		{"local:import/a b.ova/disk1.vmdk", "import from an archive", prop.Volume{Content: "import", File: "a b.ova/disk1.vmdk", Format: "ova+vmdk"}},
		{"local:snippets/user.yml", "snippet", prop.Volume{Content: "snippets", File: "user.yml", Format: "raw"}},
		{"local:vztmpl/debian-12.tar.zst", "container image", prop.Volume{Content: "vztmpl", File: "debian-12.tar.zst", Format: "raw"}},
		{"local:backup/vzdump-qemu-100-2026_01_01-00_00_00.vma.zst", "backup", prop.Volume{Content: "backup", File: "vzdump-qemu-100-2026_01_01-00_00_00.vma.zst", Owner: 100}},
		{"pbs:backup/vm/100/2026-01-01T00:00:00Z", "backup server", prop.Volume{Content: "backup", File: "vm/100/2026-01-01T00:00:00Z", Owner: 100}},
		{"lun:lun3", "iscsi", prop.Volume{File: "lun3"}},
	}
	for _, c := range cases {
		id, err := prop.ParseVolumeID(c.id)
		if err != nil || id.String() != c.id {
			t.Errorf("%s: got %s, %v", c.id, id, err)
		}
		if diff := cmp.Diff(c.want, id.Volume()); diff != "" {
			t.Errorf("%s (%s): (-want +got)\n%s", c.id, c.kind, diff)
		}
	}
	for _, bad := range []string{"", "x", "local", "l:x", "1local:x", "local-:x", "local:", "/dev/sda", "local:a\nb"} {
		if got, err := prop.ParseVolumeID(bad); err == nil {
			t.Errorf("%q: got %+v, want an error", bad, got)
		}
	}
}
