package pvesim

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestNewVMsGetWhatNobodyAskedFor(t *testing.T) {
	bothReleases(t, func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1", "ide2", "local:iso/tiny.iso,media=cdrom", "net3", "virtio,bridge=vmbr0", "machine", "type=q35")
		l.holds("boot", "order=scsi0;ide2;net3", "machine", "q35", "scsi0", "local:100/vm-100-disk-0.raw,size=1G",
			"ide2", "local:iso/tiny.iso,media=cdrom,size=64K")
		c := l.config()
		for key, pattern := range map[string]string{
			"smbios1": `^uuid=[0-9a-f-]{36}$`, "vmgenid": `^[0-9a-f-]{36}$`, "net3": `^virtio=BC:24:11(:[0-9A-F]{2}){3},bridge=vmbr0$`,
			"meta": `^creation-qemu=\d+\.\d+\.\d+,ctime=\d+$`, "digest": `^[0-9a-f]{40}$`,
		} {
			if text, _ := c[key].(string); !regexp.MustCompile(pattern).MatchString(text) {
				t.Errorf("%s is %q", key, c[key])
			}
		}
	})
}

func TestWindowsIsTiedToAMachineVersion(t *testing.T) {
	for release, want := range map[string]string{"9.2": "pc-i440fx-11.0+pve2", "8.4": "pc-i440fx-9.2+pve1"} {
		inLab(t, release, func(t *testing.T, l *lab) {
			log := l.create("ostype", "win11")
			l.holds("machine", want)
			if line := "pinning machine type to '" + want + "' for Windows guest OS"; !slices.Contains(log, line) {
				t.Errorf("log %q lacks %q", log, line)
			}
		})
	}
}

func TestDisksAreMadeInTheOrderOfTheirNames(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		log := l.create("bios", "ovmf", "scsi1", "thin:0.5,ssd=on,backup=no", "scsi0", "local:2,format=qcow2", "ide0", "local:cloudinit",
			"efidisk0", "local:1,efitype=4m,pre-enrolled-keys=1", "tpmstate0", "thin:1,version=v2.0", "ide3", "none")
		l.holds("efidisk0", "local:100/vm-100-disk-0.raw,efitype=4m,ms-cert=2023k,pre-enrolled-keys=1,size=528K",
			"scsi0", "local:100/vm-100-disk-1.qcow2,size=2G", "scsi1", "thin:vm-100-disk-0,backup=0,size=512M,ssd=1",
			"tpmstate0", "thin:vm-100-disk-1,size=4M,version=v2.0", "ide0", "local:100/vm-100-cloudinit.qcow2,media=cdrom",
			"ide3", "none,media=cdrom", "boot", "order=scsi0;ide0")
		if last := log[len(log)-1]; last != "TASK OK" {
			t.Errorf("last line %q", last)
		}
		if line := "ide0: successfully created disk 'local:100/vm-100-cloudinit.qcow2,media=cdrom'"; !slices.Contains(log, line) {
			t.Errorf("log %q lacks %q", log, line)
		}
	})
}

func TestAFailedCreationLeavesNothing(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		for _, c := range []struct {
			reason, text string
			options      []string
		}{
			{"the second disk doesn't fit", "unable to create VM 100 - unable to create image:", []string{
				"scsi0", "local:1", "scsi1", "local:200,format=raw"}},
			{"an existing volume isn't there", "unable to create VM 100 - volume 'local:100/vm-100-disk-7.raw' does not exist", []string{
				"scsi0", "local:1", "scsi1", "local:100/vm-100-disk-7.raw"}},
			{"the image isn't there", "unable to create VM 100 - failed to stat '/var/lib/vz/import/none.qcow2'", []string{
				"scsi0", "local:1", "scsi1", "local:0,import-from=local:import/none.qcow2"}},
			{"the file isn't there", "unable to create VM 100 - can't find file '/root/disk.img'", []string{
				"scsi0", "local:0,import-from=/root/disk.img"}},
			{"a value can't be stored", "unable to create VM 100 - unable to parse value of 'cpulimit' - type check ('number') failed - got '1e1'", []string{
				"scsi0", "local:1", "cpulimit", "1e1"}},
			{"the display can't do it", "unable to create VM 100 - vga type none is not compatible with VNC clipboard", []string{
				"scsi0", "local:1", "vga", "none,clipboard=vnc"}},
			{"the machine can't do it", "unable to create VM 100 - to use Intel vIOMMU please set the machine type to q35", []string{
				"scsi0", "local:1", "machine", "pc,viommu=intel"}},
			{"there are two cloud-init drives", "unable to create VM 100 - ide0 - cloud-init drive is already attached at 'ide1'", []string{
				"ide0", "local:cloudinit", "ide1", "thin:cloudinit"}},
		} {
			if c.reason == "the second disk doesn't fit" {
				l.must("PUT", "/storage/local", "preallocation", "full")
			} else {
				l.must("PUT", "/storage/local", "delete", "preallocation")
			}
			exit, _ := l.ended(l.must("POST", "/nodes/pve1/qemu", append([]string{"vmid", "100"}, c.options...)...))
			if !strings.HasPrefix(exit, c.text) {
				t.Errorf("%s: %q, want %q", c.reason, exit, c.text)
			}
			if left := l.volumes("local") + l.volumes("thin"); left != "" {
				t.Errorf("%s: %s left", c.reason, left)
			}
			l.expect(l.get(labVM+"/config"), 500, "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist")
		}
	})
}

func TestCreationIsRefusedBeforeAnythingIsDone(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		for _, c := range []struct {
			reason        string
			status        int
			phrase, field string
			text          string
			options       []string
		}{
			{"no such storage", 500, "storage 'nope' does not exist", "", "", []string{"scsi0", "nope:1"}},
			{"storage without images", 400, "Parameter verification failed.", "storage", "storage 'isos' does not support vm images", []string{"scsi0", "isos:1"}},
			{"size beside import", 400, "Parameter verification failed.", "scsi0", "'import-from' requires special syntax - use <storage ID>:0,import-from=<source>",
				[]string{"scsi0", "local:5,import-from=local:import/disk.qcow2"}},
			{"an ISO can't be imported", 400, "Parameter verification failed.", "scsi0", "local:iso/tiny.iso has wrong type 'iso' - needs to be 'images' or 'import'",
				[]string{"scsi0", "local:0,import-from=local:iso/tiny.iso"}},
			{"EFI import without type", 400, "Parameter verification failed.", "efidisk0", "need to specify 'efitype' when using 'import-from'",
				[]string{"efidisk0", "local:0,import-from=local:import/disk.qcow2"}},
			{"TPM import without version", 400, "Parameter verification failed.", "tpmstate0", "need to specify 'version' when using 'import-from'",
				[]string{"tpmstate0", "local:0,import-from=local:import/disk.qcow2"}},
			{"an ISO as a disk", 400, "Parameter verification failed.", "sata0", "explicit 'media=cdrom' is required for iso images", []string{"sata0", "local:iso/tiny.iso"}},
			{"a snippet as a disk", 400, "Parameter verification failed.", "sata0", "content type needs to be 'images' or 'iso'", []string{"sata0", "local:snippets/hook.sh"}},
			{"virtio has no CD-ROM drives", 400, "Parameter verification failed.", "virtio0", "unable to parse drive options", []string{"virtio0", "local:iso/tiny.iso,media=cdrom"}},
			{"limits that exclude one another", 400, "Parameter verification failed.", "scsi0", "unable to parse drive options", []string{"scsi0", "local:1,mbps=5,mbps_rd=3"}},
			{"a file nowhere", 400, "Parameter verification failed.", "scsi0", "unable to associate path '/srv/x.raw' to any storage", []string{"scsi0", "/srv/x.raw"}},
			{"a unit", 500, "unable to parse directory volume name '1G'", "", "", []string{"scsi0", "local:1G"}},
			{"no such pool", 403, "Permission check failed (pool 'nope' does not exist)", "", "", []string{"pool", "nope"}},
			{"a key that is none", 500, "SSH public key validation error", "", "", []string{"sshkeys", "ssh-rsa%20AAAA%20x"}},
			{"disks beside an archive", 400, "Parameter verification failed.", "scsi0", "option conflicts with option 'archive'",
				[]string{"archive", "local:backup/x.vma", "scsi0", "local:1"}},
			{"no such archive", 500, "volume 'local:backup/x.vma' does not exist", "", "", []string{"archive", "local:backup/x.vma"}},
		} {
			r := l.post("/nodes/pve1/qemu", append([]string{"vmid", "100"}, c.options...)...)
			if r.status != c.status || r.reason != c.phrase || c.field != "" && r.errors[c.field] != c.text {
				t.Errorf("%s: %d %q %v", c.reason, r.status, r.reason, r.errors)
			}
			l.expect(l.get(labVM+"/config"), 500, "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist")
		}
	})
}

func TestAVMIDIsTakenInTheWholeCluster(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create()
		l.expect(l.post("/nodes/pve2/qemu", "vmid", "100"), 500, "unable to create VM 100 - VM 100 already exists on node 'pve1'")
		l.expect(l.get("/nodes/pve2/qemu/100/config"), 500, "Configuration file 'nodes/pve2/qemu-server/100.conf' does not exist")
	})
}

func TestImagesAndDisksAreImported(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("scsi0", "thin:0,import-from=local:import/disk.qcow2", "scsi1", "local:0,import-from=local:import/os.qcow2",
			"scsi2", "local:0,import-from=/var/lib/vz/import/disk.qcow2,format=qcow2", "scsi3", "/var/lib/vz/template/iso/tiny.iso")
		l.holds("scsi0", "thin:vm-100-disk-0,size=64M", "scsi1", "local:100/vm-100-disk-0.qcow2,size=1G",
			"scsi2", "local:100/vm-100-disk-1.qcow2,size=64M", "scsi3", "local:iso/tiny.iso,media=cdrom,size=64K")
		log := l.run("POST", "/nodes/pve1/qemu", "vmid", "101", "virtio0", "local:0,import-from=local:100/vm-100-disk-0.qcow2,format=raw")
		if line := "create full clone of drive scsi1 (local:100/vm-100-disk-0.qcow2)"; !slices.Contains(log, line) {
			t.Errorf("log %q lacks %q", log, line)
		}
		l.sim.Do(func(*State) {
			if v, _ := l.sim.volume("pve1", "local:101/vm-101-disk-0.raw"); v == nil || v.System != WithAgent {
				t.Errorf("the copy of a disk holds %+v, not what the disk held", v)
			}
		})
	})
}

func TestAnInterruptedCreationLeavesNothing(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.sim.Do(func(*State) { l.sim.world.Timing.ClonePerGiB = Duration(60e9) })
		upid := l.must("POST", "/nodes/pve1/qemu", "vmid", "100", "scsi0", "local:1", "scsi1", "local:0,import-from=local:import/os.qcow2").(string)
		l.must("DELETE", "/nodes/pve1/tasks/"+upid)
		if exit, _ := l.ended(upid); exit != "unable to create VM 100 - cannot import from 'local:import/os.qcow2' - received interrupt" {
			t.Errorf("task ended with %q", exit)
		}
		if left := l.volumes("local"); left != "" {
			t.Errorf("%s left", left)
		}
		l.expect(l.get(labVM+"/config"), 500, "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist")
	})
}

func TestCreationStartsJoinsAndRegisters(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		log := l.create("start", "1", "pool", "team", "ha-managed", "1", "tags", "b;A;b")
		if !slices.Contains(log, "Add as HA resource") || !slices.Contains(log, "Execute autostart") {
			t.Errorf("log %q", log)
		}
		l.holds("tags", "a;b")
		l.sim.Do(func(s *State) {
			if l.sim.poolOf(100) != "team" || s.HA.Resources["vm:100"]["state"] != "started" {
				t.Errorf("pool %q, HA %v", l.sim.poolOf(100), s.HA.Resources)
			}
		})
	})
}

func TestDisksInsideArchivesAreUnpackedFirst(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.sim.Do(func(*State) {
			if err := l.sim.addWorldVolume("pve1", "local", WorldVolume{Name: "import/box.ova", Size: 32 << 20}); err != nil {
				t.Error(err)
			}
		})
		log := l.create("scsi0", "thin:0,import-from=local:import/box.ova/disk.vmdk")
		l.holds("scsi0", "thin:vm-100-disk-0,size=32M")
		for _, line := range []string{
			"extracting local:import/box.ova/disk.vmdk", "finished extracting to local:100/vm-100-disk-0.vmdk",
			"cleaned up extracted image local:100/vm-100-disk-0.vmdk",
		} {
			if !slices.Contains(log, line) {
				t.Errorf("log %q lacks %q", log, line)
			}
		}
		if left := l.volumes("local"); left != "" {
			t.Errorf("%s left", left)
		}
		r := l.post("/nodes/pve1/qemu", "vmid", "101", "scsi0", "thin:0,import-from=local:import/box.ova/disk.vmdk", "import-working-storage", "thin")
		if want := "import working storage 'thin' does not support 'images' content type or is not file based."; r.errors["import-working-storage"] != want {
			t.Errorf("%d %s %v", r.status, r.reason, r.errors)
		}
	})
}
