package pvesim

import (
	"strings"
	"testing"
	"time"
)

// snapshots lists the VM's snapshots as "name<parent", and the current
// state last.
func (l *lab) snapshots() string {
	l.t.Helper()
	var out []string
	for _, item := range l.must("GET", labVM+"/snapshot").([]any) {
		m := item.(map[string]any)
		text := m["name"].(string)
		if p, ok := m["parent"].(string); ok {
			text += "<" + p
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func TestSnapshotsAreATree(t *testing.T) {
	bothReleases(t, func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1,format=qcow2", "memory", "256")
		for _, name := range []string{"aa", "bb", "cc"} {
			l.run("POST", labVM+"/snapshot", "snapname", name)
		}
		l.run("POST", labVM+"/snapshot/aa/rollback")
		l.run("POST", labVM+"/snapshot", "snapname", "dd")
		if got := l.snapshots(); got != "aa bb<aa cc<bb dd<aa current<dd" {
			t.Errorf("snapshots: %s", got)
		}
		l.run("DELETE", labVM+"/snapshot/aa")
		if got := l.snapshots(); got != "bb cc<bb dd current<dd" {
			t.Errorf("snapshots: %s", got)
		}
		l.run("DELETE", labVM+"/snapshot/dd")
		if got := l.snapshots(); got != "bb cc<bb current" {
			t.Errorf("snapshots: %s", got)
		}
	})
}

func TestARollbackBringsConfigAndDisksBack(t *testing.T) {
	bothReleases(t, func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1,format=qcow2", "memory", "256", "description", "before")
		before := l.config()
		l.run("POST", labVM+"/snapshot", "snapname", "one", "description", "the first\n")
		if l.sim.atLeast(9) { // before, disks with snapshots couldn't grow
			l.run("PUT", labVM+"/resize", "disk", "scsi0", "size", "+1G")
		}
		l.set("memory", "512", "scsi1", "local:1,format=qcow2", "description", "after", "delete", "boot")
		l.run("POST", labVM+"/snapshot/one/rollback")
		l.holds("memory", "256", "scsi0", "local:100/vm-100-disk-0.qcow2,size=1G", "scsi1", nil,
			"unused0", "local:100/vm-100-disk-1.qcow2", "description", "after", "parent", "one", "boot", before["boot"])
		if l.config()["vmgenid"] == before["vmgenid"] {
			t.Error("the generation id is still the same")
		}
		var size int64
		l.sim.Do(func(*State) {
			v, _ := l.sim.volume("pve1", "local:100/vm-100-disk-0.qcow2")
			size = v.Size
		})
		if size != 1<<30 {
			t.Errorf("the disk has %d bytes", size)
		}
		snap := l.must("GET", labVM+"/snapshot/one/config").(map[string]any)
		if snap["description"] != "the first" || snap["digest"] != nil || snap["memory"] != "256" {
			t.Errorf("snapshot: %v", snap)
		}
	})
}

func TestARollbackToASnapshotWithMemoryGoesOnFromThere(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.linux()
		l.start()
		time.Sleep(20 * time.Second)
		l.agent("POST", "file-write", "file", "/tmp/x", "content", "one")
		log := l.run("POST", labVM+"/snapshot", "snapname", "ram", "vmstate", "1")
		if log[0] != "saving VM state and RAM using storage 'local'" && !strings.HasPrefix(log[1], "saving") {
			t.Errorf("log: %q", log)
		}
		if !strings.Contains(l.volumes("local"), "vm-100-state-ram.raw") {
			t.Errorf("volumes: %s", l.volumes("local"))
		}
		snap := l.must("GET", labVM+"/snapshot/ram/config").(map[string]any)
		if snap["vmstate"] != "local:100/vm-100-state-ram.raw" || snap["running-nets-host-mtu"] != "net0=1500" {
			t.Errorf("snapshot: %v", snap)
		}
		l.agent("POST", "file-write", "file", "/tmp/x", "content", "two")
		l.run("POST", labVM+"/status/stop")
		l.run("POST", labVM+"/snapshot/ram/rollback")
		l.is("running")
		if got := l.agent("GET", "file-read", "file", "/tmp/x").(map[string]any)["content"]; got != "one" {
			t.Errorf("the file holds %v", got)
		}
		l.holds("vmstate", nil, "runningmachine", nil, "lock", nil)
		l.run("DELETE", labVM+"/snapshot/ram")
		if strings.Contains(l.volumes("local"), "state") {
			t.Errorf("volumes: %s", l.volumes("local"))
		}
	})
}

func TestAVMIsLockedWhileASnapshotIsTaken(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1,format=qcow2")
		upid := l.must("POST", labVM+"/snapshot", "snapname", "one")
		time.Sleep(time.Second)
		l.answers(500, "VM is locked (snapshot)", "PUT", labVM+"/config", "memory", "256")
		l.fails("VM is locked (snapshot)", "POST", labVM+"/snapshot", "snapname", "two")
		l.fails("VM is locked (snapshot)", "POST", labVM+"/status/start")
		l.fails("unable to rollback to incomplete snapshot (snapstate = prepare)", "POST", labVM+"/snapshot/one/rollback")
		if exit, _ := l.ended(upid); exit != "OK" {
			t.Errorf("the snapshot ended with %q", exit)
		}
		l.run("POST", labVM+"/status/start")
	})
}

func TestASnapshotThatIsInterruptedLeavesNothing(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.linux()
		l.start()
		upid := l.must("POST", labVM+"/snapshot", "snapname", "one", "vmstate", "1").(string)
		time.Sleep(3 * time.Second)
		l.sim.mu.Lock()
		l.sim.kill(upid)
		l.sim.mu.Unlock()
		if exit, log := l.ended(upid); exit != "received interrupt" {
			t.Errorf("ended with %q: %q", exit, log)
		}
		if got := l.snapshots(); got != "current" {
			t.Errorf("snapshots: %s", got)
		}
		l.holds("lock", nil)
		if strings.Contains(l.volumes("local"), "state") {
			t.Errorf("volumes: %s", l.volumes("local"))
		}
	})
}

func TestWhatCannotBeInASnapshot(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("virtiofs0", "share")
		l.answers(500, "Cannot live-migrate, snapshot (with RAM), or hibernate a VM with: virtiofs", "POST", labVM+"/snapshot", "snapname", "one", "vmstate", "1")
		l.answers(500, "unable to use snapshot name 'pending' (reserved name)", "POST", labVM+"/snapshot", "snapname", "Pending")
		l.answers(500, "snapshot 'no' does not exist", "PUT", labVM+"/snapshot/no/config", "description", "x")
		l.run("POST", labVM+"/snapshot", "snapname", "disks")
	})
}

func TestARollbackMayStartTheVM(t *testing.T) {
	inTown(t, "9.2", nil, func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1,format=qcow2")
		l.run("POST", labVM+"/snapshot", "snapname", "one")
		l.start()
		l.run("POST", labVM+"/snapshot/one/rollback")
		l.is("stopped")
		l.run("POST", labVM+"/snapshot/one/rollback", "start", "1")
		time.Sleep(5 * time.Second)
		l.is("running")
	})
}
