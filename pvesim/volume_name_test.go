package pvesim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVolumeIDsAreTakenApartByTheirStorage(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		for volid, want := range map[string]volName{
			"local:100/vm-100-disk-1.qcow2": {kind: "images", name: "vm-100-disk-1.qcow2", vmid: 100, format: "qcow2"},
			"local:100/base-100-disk-1.raw": {kind: "images", name: "base-100-disk-1.raw", vmid: 100, isBase: true, format: "raw"},
			"local:100/odd.vmdk":            {kind: "images", name: "odd.vmdk", vmid: 100, format: "vmdk"},
			"local:102/base-102-disk-0.raw/120/vm-120-disk-0.qcow2": {
				kind: "images", name: "vm-120-disk-0.qcow2", vmid: 120, base: "102/base-102-disk-0.raw", format: "qcow2"},
			"local:iso/a b.ISO":         {kind: "iso", name: "a b.ISO", format: "raw"},
			"local:iso/x.img":           {kind: "iso", name: "x.img", format: "raw"},
			"local:vztmpl/d_12.tar.zst": {kind: "vztmpl", name: "d_12.tar.zst", format: "raw"},
			"local:backup/vzdump-qemu-101-2024_01_02-03_04_05.vma": {kind: "backup", name: "vzdump-qemu-101-2024_01_02-03_04_05.vma", vmid: 101, format: "raw"},
			"local:backup/kept.tar.gz":                             {kind: "backup", name: "kept.tar.gz", format: "raw"},
			"local:snippets/user.yml":                              {kind: "snippets", name: "user.yml", format: "raw"},
			"local:import/os.qcow2":                                {kind: "import", name: "os.qcow2", format: "qcow2"},
			"local:import/app.ova":                                 {kind: "import", name: "app.ova", format: "ova"},
			"local:import/app.ova/disk 1.vmdk":                     {kind: "import", name: "app.ova/disk 1.vmdk", format: "ova+vmdk"},
			"thick:vm-100-disk-0":                                  {kind: "images", name: "vm-100-disk-0", vmid: 100, format: "raw"},
			"thick:vm-100-disk-0.qcow2":                            {kind: "images", name: "vm-100-disk-0.qcow2", vmid: 100, format: "qcow2"},
			"thin:base-100-disk-0":                                 {kind: "images", name: "base-100-disk-0", vmid: 100, isBase: true, format: "raw"},
			"tank:base-9-disk-0/vm-100-disk-0":                     {kind: "images", name: "vm-100-disk-0", vmid: 100, base: "base-9-disk-0", format: "raw"},
			"tank:subvol-100-disk-0":                               {kind: "images", name: "subvol-100-disk-0", vmid: 100, format: "subvol"},
			"tank:basevol-100-disk-0":                              {kind: "images", name: "basevol-100-disk-0", vmid: 100, isBase: true, format: "subvol"},
			"ceph:base-9-disk-0/base-100-disk-0":                   {kind: "images", name: "base-100-disk-0", vmid: 100, base: "base-9-disk-0", isBase: true, format: "raw"},
		} {
			got, err := l.sim.parseVolID(volid)
			if err != nil {
				t.Errorf("%s: %v", volid, err)
				continue
			}
			if got.String() != volid {
				t.Errorf("%s comes back as %s", volid, got)
			}
			got.storage, got.volname = "", ""
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(volName{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", volid, diff)
			}
		}
	})
}

func TestNamesThatNoStorageHasAreRefused(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		for volid, want := range map[string]string{
			"nothing":                   "unable to parse volume ID 'nothing'",
			"/dev/sdb":                  "unable to parse volume ID '/dev/sdb'",
			"nope:100/vm-100-disk.raw":  "storage 'nope' does not exist",
			"local:100/vm-100.iso":      "unable to parse volume filename 'vm-100.iso'",
			"local:100/snap-a-vm.qcow2": "'snap-a-vm.qcow2' is a snapshot filename, not a volume!",
			"local:iso/x.txt":           "unable to parse directory volume name 'iso/x.txt'",
			"local:iso/a/b.iso":         "unable to parse directory volume name 'iso/a/b.iso'",
			"local:import/x.txt":        "unable to parse directory volume name 'import/x.txt'",
			"local:vztmpl/x.tar.lz4":    "unable to parse directory volume name 'vztmpl/x.tar.lz4'",
			"thick:base-100-disk-0":     "unable to parse lvm volume name 'base-100-disk-0'",
			"thin:disk":                 "unable to parse lvm volume name 'disk'",
			"thin:vm/1":                 "lvm name 'vm/1' contains illegal characters",
			"tank:disk":                 "unable to parse zfs volume name 'disk'",
			"ceph:disk":                 "unable to parse rbd volume name 'disk'",
		} {
			if _, err := l.sim.parseVolID(volid); errorText(err) != want {
				t.Errorf("%s: %q, want %q", volid, errorText(err), want)
			}
		}
	})
}

func TestPathsAreWhereTheHostSeesVolumes(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		l.must("POST", "/storage", "storage", "odd", "type", "dir", "path", "/odd/", "content", "iso,images", "content-dirs", "iso=discs")
		for volid, want := range map[string]string{
			"local:100/vm-100-disk-0.raw":                            "/var/lib/vz/images/100/vm-100-disk-0.raw",
			"local:9/base-9-disk-0.qcow2/100/vm-100-disk-0.qcow2":    "/var/lib/vz/images/100/vm-100-disk-0.qcow2",
			"local:iso/x.iso":                                        "/var/lib/vz/template/iso/x.iso",
			"local:import/x.raw":                                     "/var/lib/vz/import/x.raw",
			"local:vztmpl/x.tar.gz":                                  "/var/lib/vz/template/cache/x.tar.gz",
			"local:snippets/x":                                       "/var/lib/vz/snippets/x",
			"local:backup/vzdump-qemu-1-2024_01_02-03_04_05.vma.zst": "/var/lib/vz/dump/vzdump-qemu-1-2024_01_02-03_04_05.vma.zst",
			"odd:iso/x.iso":                                          "/odd/discs/x.iso",
			"nas:100/vm-100-disk-0.raw":                              "/mnt/pve/nas/images/100/vm-100-disk-0.raw",
			"btr:100/vm-100-disk-0.raw":                              "/btr/images/100/vm-100-disk-0/disk.raw",
			"thick:vm-100-disk-0":                                    "/dev/vg0/vm-100-disk-0",
			"thin:vm-100-disk-0":                                     "/dev/pve/vm-100-disk-0",
			"tank:base-9-disk-0/vm-100-disk-0":                       "/dev/zvol/tank/vm-100-disk-0",
			"tank:subvol-100-disk-0":                                 "/tank/subvol-100-disk-0",
			"ceph:vm-100-disk-0":                                     "rbd:vms/vm-100-disk-0:conf=/etc/pve/ceph.conf:id=admin:keyring=/etc/pve/priv/ceph/ceph.keyring",
		} {
			if got := l.sim.volumePath(volid); got != want {
				t.Errorf("%s is at %s, want %s", volid, got, want)
			}
		}
	})
}

func TestWhatCanBeDoneWithAVolumeDependsOnTypeFormatAndState(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		for _, c := range []struct {
			volid, snap string
			can         string
		}{
			{"local:1/vm-1-disk-0.qcow2", "", "snapshot template copy sparseinit rename"},
			{"local:1/vm-1-disk-0.qcow2", "s", "snapshot copy"},
			{"local:1/vm-1-disk-0.raw", "", "template copy sparseinit rename"},
			{"local:1/vm-1-disk-0.raw", "s", ""},
			{"local:1/base-1-disk-0.raw", "", "clone copy sparseinit"},
			{"btr:1/vm-1-disk-0.raw", "", "snapshot clone template copy sparseinit rename"},
			{"thick:vm-1-disk-0", "", "copy rename"},
			{"thin:vm-1-disk-0", "", "snapshot template copy sparseinit rename"},
			{"thin:vm-1-disk-0", "s", "clone copy"},
			{"thin:base-1-disk-0", "", "clone copy sparseinit"},
			{"tank:vm-1-disk-0", "", "snapshot template copy sparseinit replicate rename"},
			{"tank:vm-1-disk-0", "s", "snapshot"},
			{"tank:base-1-disk-0", "", "clone copy sparseinit replicate"},
			{"ceph:vm-1-disk-0", "s", "snapshot clone copy"},
		} {
			can := ""
			for _, f := range []string{"snapshot", "clone", "template", "copy", "sparseinit", "replicate", "rename"} {
				if l.sim.volumeFeature(c.volid, f, c.snap) {
					can += " " + f
				}
			}
			if can != "" {
				can = can[1:]
			}
			if can != c.can {
				t.Errorf("%s@%s: %q, want %q", c.volid, c.snap, can, c.can)
			}
		}
	})
}
