package pvesim

import (
	"strings"
	"testing"
	"time"
)

// moves migrates VM 100 to pve2 and returns how the task ended.
func (l *lab) moves(params ...string) (exit, log string) {
	l.t.Helper()
	exit, lines := l.ended(l.must("POST", labVM+"/migrate", append([]string{"target", "pve2"}, params...)...))
	return exit, strings.Join(lines, "\n")
}

func TestAStoppedVMTakesItsLocalDisksAlong(t *testing.T) {
	for _, release := range []string{"9.2", "8.4"} {
		t.Run(release, func(t *testing.T) {
			inTown(t, release, nil, func(t *testing.T, l *lab) {
				l.create("scsi0", "local:1,format=qcow2", "scsi1", "share:1,format=raw", "scsi2", "thin:1", "ide2", "local:cloudinit")
				l.run("POST", labVM+"/move_disk", "disk", "scsi1", "storage", "local", "format", "qcow2")
				upid := l.must("POST", labVM+"/migrate", "target", "pve2")
				time.Sleep(time.Second)
				l.answers(500, "VM is locked (migrate)", "PUT", labVM+"/config", "name", "x")
				if exit, log := l.ended(upid); exit != "OK" {
					t.Fatalf("ended with %q: %q", exit, log)
				}
				c := l.configOf("/nodes/pve2/qemu/100")
				want := map[string]any{"scsi0": "local:100/vm-100-disk-0.qcow2,size=1G", "scsi2": "thin:vm-100-disk-0,size=1G", "lock": nil}
				for key, value := range want {
					if c[key] != value {
						t.Errorf("%s is %v, want %v", key, c[key], value)
					}
				}
				l.answers(500, "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist", "GET", labVM+"/config")
				if left := l.volumes("local") + l.volumes("thin"); left != "" {
					t.Errorf("left on the source: %s", left)
				}
				l.run("POST", "/nodes/pve2/qemu/100/status/start")
			})
		})
	}
}

func TestARunningVMMovesWithItsMemory(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.linux()
		l.start()
		time.Sleep(20 * time.Second)
		l.agent("POST", "file-write", "file", "/tmp/x", "content", "here")
		l.answers(500, "can't migrate running VM without --online", "POST", labVM+"/migrate", "target", "pve2")
		exit, log := l.moves("online", "1")
		if exit != "migration aborted" || !strings.Contains(log, "can't live migrate attached local disks without with-local-disks option") {
			t.Errorf("ended with %q: %s", exit, log)
		}
		l.holds("lock", nil)
		if exit, log = l.moves("online", "1", "with-local-disks", "1", "targetstorage", "thin"); exit != "OK" {
			t.Fatalf("ended with %q: %s", exit, log)
		}
		got := l.must("GET", "/nodes/pve2/qemu/100/agent/file-read", "file", "/tmp/x").(map[string]any)["content"]
		if got != "here" {
			t.Errorf("the file holds %v", got)
		}
		if c := l.configOf("/nodes/pve2/qemu/100"); c["scsi0"] != "thin:vm-100-disk-0,size=1G" {
			t.Errorf("scsi0 is %v", c["scsi0"])
		}
	})
}

func TestWhatKeepsAVMFromMoving(t *testing.T) {
	for _, c := range []struct {
		reason, log string
		options     []string
		start       bool
	}{
		{"a local disc", "can't migrate local disk 'local:iso/tiny.iso': local cdrom image", []string{"ide2", "local:iso/tiny.iso,media=cdrom"}, false},
		{"a device of the host", "can't migrate VM which uses local devices: usb0", []string{"usb0", "host=1-1"}, false},
		{"a directory that isn't mapped there", "can't migrate to 'pve2': missing mapped devices virtiofs0", []string{"virtiofs0", "share"}, false},
		{"a bridge that isn't there", "online migrate failure - remote command failed with exit code 255", []string{"net0", "virtio,bridge=vmbr1"}, true},
		{"disk images that the storage can't take", "cannot migrate from storage type 'dir' to 'lvmthin'", []string{"scsi0", "local:1,format=qcow2"}, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
				l.create(c.options...)
				var params []string
				if c.start {
					l.start()
					params = []string{"online", "1"}
				}
				if strings.Contains(c.log, "lvmthin") {
					params = []string{"targetstorage", "thin"}
				}
				exit, log := l.moves(params...)
				if exit == "OK" || !strings.Contains(log, c.log) {
					t.Errorf("ended with %q: %s", exit, log)
				}
				l.holds("lock", nil)
			})
		})
	}
}

func TestAMigrationToANodeThatIsDownFails(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.create()
		exit, log := l.ended(l.must("POST", labVM+"/migrate", "target", "pve3"))
		if exit != "migration aborted" || !strings.Contains(strings.Join(log, "\n"), "Can't connect to destination address using public key") {
			t.Errorf("ended with %q: %q", exit, log)
		}
		l.answers(500, "storage 'here' is not available on node 'pve2'", "POST", labVM+"/migrate", "target", "pve2", "targetstorage", "here")
	})
}

func TestALinkedCloneStaysOnItsNode(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1,format=qcow2")
		l.run("POST", labVM+"/template")
		l.run("POST", labVM+"/clone", "newid", "200")
		exit, log := l.ended(l.must("POST", clonePath+"/migrate", "target", "pve2"))
		if text := strings.Join(log, "\n"); exit != "migration aborted" || !strings.Contains(text, "as it's a clone of '100/base-100-disk-0.qcow2'") {
			t.Errorf("ended with %q: %s", exit, text)
		}
		exit, text := l.moves()
		if exit != "migration aborted" || !strings.Contains(text, "referenced by linked clone(s)") {
			t.Errorf("ended with %q: %s", exit, text)
		}
	})
}

func TestPreconditionsTellWhereAVMCanGo(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.create("scsi0", "here:1", "scsi1", "share:1", "serial0", "/dev/ttyS0")
		got := l.must("GET", labVM+"/migrate").(map[string]any)
		others := got["not_allowed_nodes"].(map[string]any)
		if others["pve2"].(map[string]any)["unavailable_storages"].([]any)[0] != "here" || len(got["allowed_nodes"].([]any)) != 0 {
			t.Errorf("nodes: %v, %v", got["allowed_nodes"], others)
		}
		if disks := got["local_disks"].([]any); len(disks) != 1 || disks[0].(map[string]any)["volid"] != "here:100/vm-100-disk-0.raw" {
			t.Errorf("disks: %v", got["local_disks"])
		}
		if res := got["local_resources"].([]any); len(res) != 1 || res[0] != "serial0" {
			t.Errorf("resources: %v", res)
		}
	})
}

func TestTheManagerMovesAManagedVM(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.create("scsi0", "share:1")
		l.must("POST", "/cluster/ha/resources", "sid", "vm:100", "state", "started")
		time.Sleep(time.Minute)
		_, log := l.moves("online", "1")
		if !strings.HasPrefix(log, "Requesting HA migration for VM 100 to node pve2") {
			t.Errorf("log: %s", log)
		}
		time.Sleep(time.Minute)
		got := l.must("GET", "/nodes/pve2/qemu/100/status/current").(map[string]any)
		if got["status"] != "running" {
			t.Errorf("status: %v", got)
		}
	})
}
