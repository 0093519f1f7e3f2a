package pvesim

import (
	"slices"
	"strings"
	"testing"
)

func TestValuesComeBackAsTheConfigFileGivesThem(t *testing.T) {
	bothReleases(t, func(t *testing.T, l *lab) {
		l.create()
		for _, c := range []struct {
			reason, key, given string
			want               any
		}{
			{"whole numbers are numbers", "cores", "004", 4},
			{"booleans are numbers", "onboot", "1", 1},
			{"fractions are texts", "cpulimit", "1.50", "1.50"},
			{"memory is a text", "memory", "2048", "2048"},
			{"blanks around a value go", "ciuser", "  a b\t", "a b"},
			{"quotes around a value go, twice", "searchdomain", `""x""`, "x"},
			{"nothing is read as a blank", "ciuser", "", " "},
			{"a property string stays as given", "agent", "enabled=on,fstrim_cloned_disks=1", "enabled=on,fstrim_cloned_disks=1"},
			{"the end of a description goes", "description", "a\n b \n\n \n", "a\n b"},
			{"the start of a description stays", "description", "\n  # x: 5%", "\n  # x: 5%"},
			{"an empty description is none", "description", "", nil},
			{"nor is a false one", "description", "0", nil},
			{"nor are blanks", "description", " \n ", nil},
			{"weights have an upper limit", "cpuunits", "20000", 10000},
			{"tags are a sorted set", "tags", "b, A;c a", "a;b;c"},
			{"no tags are a blank", "tags", "", " "},
			{"arguments keep their quotes", "args", `-name "a b"`, `-name "a b"`},
		} {
			l.set(c.key, c.given)
			want := c.want
			if n, ok := want.(int); ok {
				want = float64(n)
			}
			if got := l.config()[c.key]; got != want {
				t.Errorf("%s: %s %q is %#v, want %#v", c.reason, c.key, c.given, got, want)
			}
		}
	})
}

func TestValuesThatCannotBeStoredAreRefused(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create()
		l.refuses(500, "unable to parse value of 'cpulimit' - type check ('number') failed - got '.5'", "cpulimit", ".5")
		l.refuses(500, "unable to parse value of 'cores' - type check ('integer') failed - got '+2'", "cores", "+2")
		l.refuses(500, "unable to parse value of 'ciuser' - property contains a line feed", "ciuser", "a\nb")
		l.refuses(500, "balloon value too large (must be smaller than assigned memory)", "balloon", "600")
		l.set("memory", "1024", "balloon", "600")
		l.refuses(500, "balloon value too large (must be smaller than assigned memory)", "memory", "512")
		l.refuses(500, "vga type serial0 is not compatible with VNC clipboard", "vga", "serial0,clipboard=vnc")
		l.refuses(500, "Intel vIOMMU supports only 39 or 48 bits as address width", "machine", "q35,viommu=intel,aw-bits=40")
		l.refuses(500, "cannot set aw-bits if no vIOMMU is configured", "machine", "q35,aw-bits=39")
		l.holds("cpulimit", nil, "cores", nil, "ciuser", nil, "vga", nil, "machine", nil, "memory", "1024")
	})
}

func TestDrivesAreStoredInOneForm(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1")
		for given, want := range map[string]string{
			"none":                              "none,media=cdrom",
			"cdrom":                             "cdrom,media=cdrom",
			"local:iso/tiny.iso,media=cdrom":    "local:iso/tiny.iso,media=cdrom,size=64K",
			"media=cdrom,file=none":             "none,media=cdrom",
			"/var/lib/vz/template/iso/tiny.iso": "local:iso/tiny.iso,media=cdrom,size=64K",
		} {
			l.set("ide2", given)
			l.holds("ide2", want)
		}
		l.set("cdrom", "local:iso/other.iso")
		l.holds("ide2", "local:iso/other.iso,media=cdrom,size=1M", "cdrom", nil)
		l.set("delete", "cdrom")
		l.holds("ide2", nil)
		l.set("scsi0", "volume=local:100/vm-100-disk-0.raw,ssd=on,discard=on,cache=none,iops_rd=100,size=7G")
		l.holds("scsi0", "local:100/vm-100-disk-0.raw,cache=none,discard=on,iops_rd=100,size=1G,ssd=1", "unused0", nil)
		l.set("scsi1", "local:1,bps_rd=1000000")
		l.holds("scsi1", "local:100/vm-100-disk-1.raw,mbps_rd=0.000,size=1G")
		l.refuses(500, "volume /dev/sdb does not exist", "scsi2", "/dev/sdb")
		l.refuses(500, "drive 'scsi2' - volume 'local:100/vm-100-disk-0.raw' - 'format=qcow2' option different from storage format 'raw'",
			"scsi2", "local:100/vm-100-disk-0.raw,format=qcow2")
		l.refuses(500, "volume 'local:100/vm-100-disk-9.raw' does not exist", "scsi2", "local:100/vm-100-disk-9.raw")
	})
}

func TestDetachedDisksAreKeptUntilTheyAreDeleted(t *testing.T) {
	bothReleases(t, func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1", "scsi1", "local:2", "net0", "virtio,bridge=vmbr0")
		l.set("delete", "scsi1,scsi0")
		l.holds("scsi0", nil, "scsi1", nil, "unused0", "local:100/vm-100-disk-0.raw", "unused1", "local:100/vm-100-disk-1.raw", "boot", "order=net0")
		l.set("virtio3", "local:100/vm-100-disk-0.raw")
		l.holds("virtio3", "local:100/vm-100-disk-0.raw,size=1G", "unused0", nil)
		l.set("delete", "unused1")
		l.holds("unused1", nil)
		if got := l.volumes("local"); got != "100/vm-100-disk-0.raw" {
			t.Errorf("volumes %s", got)
		}
		l.set("virtio3", "local:1") // another disk in its place
		l.holds("virtio3", "local:100/vm-100-disk-1.raw,size=1G", "unused0", "local:100/vm-100-disk-0.raw")
		l.set("delete", "virtio3", "force", "1")
		l.holds("virtio3", nil, "unused1", nil)
		if got := l.volumes("local"); got != "100/vm-100-disk-0.raw" {
			t.Errorf("volumes %s", got)
		}
		l.set("protection", "1")
		l.refuses(500, "can't remove unused disk 'local:100/vm-100-disk-0.raw' - protection mode enabled", "delete", "unused0")
	})
}

func TestDisksOfSnapshotsAreNotDeleted(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1,format=qcow2")
		l.run("POST", labVM+"/snapshot", "snapname", "before")
		l.set("delete", "scsi0")
		l.refuses(500, "unable to delete 'local:100/vm-100-disk-0.qcow2' - volume is still in use (snapshot?)", "delete", "unused0")
		l.holds("unused0", "local:100/vm-100-disk-0.qcow2", "parent", "before")
		snap := l.config("snapshot", "before")
		if snap["scsi0"] != "local:100/vm-100-disk-0.qcow2,size=1G" || snap["snaptime"] == nil {
			t.Errorf("config at the snapshot: %v", snap)
		}
		if _, isNumber := snap["snaptime"].(float64); !isNumber {
			t.Errorf("snaptime is %T", snap["snaptime"])
		}
		l.expect(l.get(labVM+"/config", "snapshot", "none"), 500, "snapshot 'none' does not exist")
		r := l.get(labVM+"/config", "snapshot", "before", "current", "1")
		if r.status != 400 || len(r.errors) != 2 {
			t.Errorf("snapshot and current: %d %v", r.status, r.errors)
		}
	})
}

func TestTheBootOrderFollowsTheDevices(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1", "net0", "virtio,bridge=vmbr0", "bootdisk", "scsi0")
		l.set("ide2", "local:iso/tiny.iso,media=cdrom")
		l.holds("boot", "order=scsi0;net0;ide2")
		l.set("ide0", "local:cloudinit")
		l.holds("boot", "order=scsi0;net0;ide2")
		l.set("delete", "net0")
		l.holds("boot", "order=scsi0;ide2")
		l.refuses(500, "invalid bootorder: device 'net0' does not exist'", "boot", "order=net0")
		l.refuses(500, "invalid bootorder: device 'ide2' does not exist'", "boot", "order=ide2", "delete", "ide2")
		l.set("boot", "order=net0;scsi0", "net0", "virtio")
		l.holds("boot", "order=net0;scsi0", "bootdisk", nil)
		l.set("boot", "cdn")
		l.holds("boot", "cdn")
	})
}

func TestChangesThatContradictThemselvesAreRefused(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("name", "a")
		l.invalid("delete", "unknown option 'foo'", "delete", "foo")
		l.invalid("delete", "unknown option 'digest'", "delete", "digest")
		l.invalid("revert", "unknown option 'foo'", "revert", "foo")
		l.invalid("delete", "you can't use '-name' and -delete name' at the same time", "name", "b", "delete", "name")
		l.invalid("delete", "you can't use '-name' and -revert name' at the same time", "name", "b", "revert", "name")
		l.invalid("revert", "you can't use '-delete name' and -revert name' at the same time", "delete", "name", "revert", "name")
		l.refuses(500, "no options specified")
		l.refuses(500, "checksum mismatch (file change by other user?)", "name", "b", "digest", strings.Repeat("0", 40))
		l.set("name", "b", "digest", l.config()["digest"].(string))
		l.holds("name", "b")
		l.invalid("hookscript", "script 'local:snippets/none.sh' does not exist\n", "hookscript", "local:snippets/none.sh")
		l.invalid("hookscript", "'local:iso/tiny.iso' is not in the snippets directory\n", "hookscript", "local:iso/tiny.iso")
		l.invalid("hookscript", "script 'local:snippets/user.yml' is not executable\n", "hookscript", "local:snippets/user.yml")
		l.set("hookscript", "local:snippets/hook.sh")
	})
}

func TestATPMKeepsItsVersion(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("tpmstate0", "local:1,version=v2.0")
		l.refuses(500, "cannot change TPM state version after creation", "tpmstate0", "local:100/vm-100-disk-0.raw")
		l.set("tpmstate0", "local:1,version=v1.2")
		l.holds("tpmstate0", "local:100/vm-100-disk-1.raw,size=4M,version=v1.2", "unused0", "local:100/vm-100-disk-0.raw")
	})
}

func TestPasswordsAreNotShown(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("cipassword", "hush")
		l.holds("cipassword", "**********")
		if got := l.pending("cipassword")["value"]; got != "**********" {
			t.Errorf("pending shows %v", got)
		}
		l.set("cipassword", "hush2")
		user := l.must("GET", labVM+"/cloudinit/dump", "type", "user").(string)
		if !strings.Contains(user, "password: $5$") {
			t.Errorf("a password that is set later isn't hashed:\n%s", user)
		}
		_, log := l.ended(l.must("POST", labVM+"/config", "cipassword", "hush3", "ciuser", "x"))
		if log[0] != "update VM 100: -cipassword <hidden> -ciuser x" {
			t.Errorf("log %q", log)
		}
	})
}

func TestAsyncChangesAnswerOnceDone(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create()
		if got := l.must("POST", labVM+"/config", "name", "a", "background_delay", "5"); got != nil {
			t.Errorf("a change that is done in time answers %v", got)
		}
		l.expect(l.post(labVM+"/config", "scsi0", "local:100/vm-100-disk-3.raw", "background_delay", "5"), 500,
			"failed to update VM 100: volume 'local:100/vm-100-disk-3.raw' does not exist")
		l.sim.Do(func(*State) { l.sim.world.Timing.Config = Duration(20e9) })
		upid := l.must("POST", labVM+"/config", "name", "b", "background_delay", "5")
		if exit, _ := l.ended(upid); exit != "OK" {
			t.Errorf("task ended with %q", exit)
		}
		l.holds("name", "b")
	})
}

func TestALockKeepsAVMAsItIs(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create()
		l.set("lock", "backup")
		l.refuses(500, "VM is locked (backup)", "name", "a")
		l.expect(l.post(labVM+"/config", "name", "a"), 500, "VM is locked (backup)")
		l.expect(l.put(labVM+"/cloudinit"), 500, "VM is locked (backup)")
		l.set("name", "a", "skiplock", "1")
		l.set("delete", "lock", "skiplock", "1")
		l.holds("lock", nil, "name", "a")
	})
}

func TestListsShowWhatTheCallerMaySee(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create()
		l.run("POST", "/nodes/pve1/qemu", "vmid", "101")
		l.run("POST", "/nodes/pve2/qemu", "vmid", "102")
		l.must("PUT", "/access/acl", "path", "/vms/101", "roles", "PVEAuditor", "users", "ann@pve")
		ids := func(v *visitor, node string) (list []float64) {
			for _, vm := range v.must("GET", "/nodes/"+node+"/qemu").([]any) {
				list = append(list, vm.(map[string]any)["vmid"].(float64))
			}
			return list
		}
		ann := l.login("ann@pve", "secret")
		if got := ids(l.visitor, "pve1"); !slices.Equal(got, []float64{100, 101}) {
			t.Errorf("root sees %v", got)
		}
		if got := ids(ann, "pve1"); !slices.Equal(got, []float64{101}) {
			t.Errorf("ann sees %v", got)
		}
		if got := ids(ann, "pve2"); len(got) != 0 {
			t.Errorf("ann sees %v", got)
		}
	})
}

func TestNewDisksOfTemplatesAreBases(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1")
		l.run("POST", labVM+"/template")
		l.set("scsi1", "local:1", "scsi2", "thin:1", "scsi3", "local:0,import-from=/var/lib/vz/import/disk.qcow2")
		l.holds("scsi0", "local:100/base-100-disk-0.raw,size=1G", "scsi1", "local:100/base-100-disk-1.raw,size=1G",
			"scsi2", "thin:base-100-disk-0,size=1G", "scsi3", "local:100/base-100-disk-2.raw,size=64M")
	})
}

func TestSavedMemoryIsDiscarded(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1,format=qcow2")
		l.start()
		l.run("POST", labVM+"/status/suspend", "todisk", "1")
		if c := l.config(); c["lock"] != "suspended" || c["vmstate"] == nil {
			t.Fatalf("suspended VM: %v", c)
		}
		l.refuses(500, "VM is locked (suspended)", "name", "x")
		l.set("delete", "vmstate")
		l.holds("lock", nil, "vmstate", nil, "runningmachine", nil, "runningcpu", nil)
		if got := l.volumes("local"); got != "100/vm-100-disk-0.qcow2" {
			t.Errorf("volumes %s", got)
		}
	})
}

func TestEFICertificatesAreEnrolledOnce(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("bios", "ovmf", "efidisk0", "local:1,efitype=4m")
		l.holds("efidisk0", "local:100/vm-100-disk-0.raw,efitype=4m,size=528K")
		l.set("efidisk0", "local:100/vm-100-disk-0.raw,efitype=4m,pre-enrolled-keys=1")
		log := l.run("POST", labVM+"/config", "efidisk0", "local:100/vm-100-disk-0.raw,efitype=4m,pre-enrolled-keys=1,ms-cert=2023")
		if !slices.Contains(log, "efidisk0: enrolling Microsoft UEFI CA 2023") {
			t.Errorf("log %q", log)
		}
		l.holds("efidisk0", "local:100/vm-100-disk-0.raw,efitype=4m,ms-cert=2023k,pre-enrolled-keys=1,size=528K")
	})
}
