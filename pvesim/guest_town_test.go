package pvesim

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// town is a lab in which things take time: a cluster of three nodes with a
// shared storage, and guests that boot.
func town(release string) *World {
	w := labWorld(release)
	w.Nodes = append(w.Nodes, WorldNode{Name: "pve3", CPUs: 2, Memory: 4 << 30, State: Offline})
	w.Storages = append(w.Storages,
		WorldStorage{Name: "share", Type: "nfs", Path: "/mnt/pve/share", Size: 100 << 30, Content: []string{"images", "iso"},
			Options: map[string]string{"server": "192.168.77.9", "export": "/x"}},
		WorldStorage{Name: "here", Type: "dir", Path: "/here", Size: 10 << 30, Content: []string{"images"}, Nodes: []string{"pve1"}},
	)
	w.Timing = Timing{
		Clone: Duration(2 * time.Second), ClonePerGiB: Duration(10 * time.Second), Start: Duration(time.Second), Stop: Duration(time.Second),
		Shutdown: Duration(3 * time.Second), Boot: Duration(10 * time.Second), Agent: Duration(15 * time.Second),
		Snapshot: Duration(2 * time.Second), SnapshotPerGiB: Duration(8 * time.Second), Migrate: Duration(2 * time.Second),
		MigratePerGiB: Duration(4 * time.Second), Template: Duration(time.Second),
	}
	w.Load.AgentWait = Duration(3 * time.Second)
	return w
}

// inTown runs a test in a town, after changes of it.
func inTown(t *testing.T, release string, change func(*World), test func(t *testing.T, l *lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := town(release)
		if change != nil {
			change(w)
		}
		depot(t, w, test)
	})
}

// linux makes VM 100 with a system that boots and has an agent.
func (l *lab) linux(options ...string) {
	l.t.Helper()
	for i := 0; i < len(defaultLinux); i += 2 {
		if !slices.Contains(options, defaultLinux[i]) {
			options = append(options, defaultLinux[i:i+2]...)
		}
	}
	l.create(options...)
}

var defaultLinux = []string{
	"memory", "1024", "agent", "1", "net0", "virtio,bridge=vmbr0", "scsi0", "local:0,import-from=local:import/os.qcow2,format=qcow2",
}

// status is a key of status/current.
func (l *lab) status(key string) any {
	l.t.Helper()
	return l.must("GET", labVM+"/status/current").(map[string]any)[key]
}

// is compares the VM's state.
func (l *lab) is(want string) {
	l.t.Helper()
	if have := l.status("qmpstatus"); have != want {
		l.t.Errorf("the VM is %v, want %s", have, want)
	}
}

// answers compares the answer to a request that must be refused.
func (l *lab) answers(status int, reason, method, path string, params ...string) {
	l.t.Helper()
	l.expect(l.do(method, path, params...), status, reason)
}

// agent asks the guest agent.
func (l *lab) agent(method, command string, params ...string) any {
	l.t.Helper()
	data, _ := l.must(method, labVM+"/agent/"+command, params...).(map[string]any)
	if res, ok := data["result"]; ok {
		return res
	}
	return data
}
