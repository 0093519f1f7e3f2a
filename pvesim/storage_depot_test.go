package pvesim

import (
	"net/http"
	"testing"
	"testing/synctest"
)

// depotWorld has two nodes and a storage of each type that keeps disks.
func depotWorld(release string) *World {
	opts := func(kv ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	images := []string{"images"}
	return &World{
		Release: release, Cluster: "depot",
		Nodes: []WorldNode{
			{Name: "pve1", IP: "10.0.0.1", Bridges: []WorldBridge{{Name: "vmbr0"}}},
			{Name: "pve2", IP: "10.0.0.2", Bridges: []WorldBridge{{Name: "vmbr0"}}},
		},
		Storages: []WorldStorage{
			{Name: "local", Type: "dir", Path: "/var/lib/vz", Size: 100 << 30, Content: []string{"images", "iso", "import", "snippets", "vztmpl", "backup"}},
			{Name: "btr", Type: "btrfs", Path: "/btr", Size: 10 << 30, Content: images},
			{Name: "nas", Type: "nfs", Size: 10 << 30, Content: []string{"images", "iso"}, Options: opts("server", "10.0.0.9", "export", "/x")},
			{Name: "thick", Type: "lvm", Size: 10 << 30, Content: images, Options: opts("vgname", "vg0")},
			{Name: "thin", Type: "lvmthin", Size: 10 << 30, Content: images, Options: opts("vgname", "pve", "thinpool", "data")},
			{Name: "tank", Type: "zfspool", Size: 10 << 30, Content: images, Options: opts("pool", "tank", "sparse", "1")},
			{Name: "tankfull", Type: "zfspool", Size: 10 << 30, Content: images, Options: opts("pool", "tankfull")},
			{Name: "ceph", Type: "rbd", Size: 10 << 30, Content: images, Options: opts("pool", "vms")},
		},
		Users: []WorldUser{{ID: "root@pam", Password: "secret"}, {ID: "ann@pve", Password: "secret"}},
	}
}

// inDepot runs a test on a world in virtual time, as root.
func inDepot(t *testing.T, w *World, test func(t *testing.T, l *lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { depot(t, w, test) })
}

// depot runs a test on a world, as root.
func depot(t *testing.T, w *World, test func(t *testing.T, l *lab)) {
	t.Helper()
	sim, err := New(w)
	if err != nil {
		t.Fatal(err)
	}
	tr, stop := sim.Transport()
	defer sim.Close()
	defer stop()
	o := &office{t: t, sim: sim, http: &http.Client{Transport: tr}}
	test(t, &lab{o.root()})
}

// act runs fn as a task of the simulator does, and waits for it.
func (l *lab) act(fn func(a *actor) error) error {
	l.t.Helper()
	l.sim.mu.Lock()
	defer l.sim.mu.Unlock()
	return fn(&actor{Sim: l.sim})
}

// volume is a volume as it is now; a copy, nil when there is none.
func (l *lab) volume(volid string) *Volume {
	l.sim.mu.Lock()
	defer l.sim.mu.Unlock()
	v, _ := l.sim.volume("pve1", volid)
	if v == nil {
		return nil
	}
	c := *v
	return &c
}

// used is what volumes take of a storage.
func (l *lab) used(storage string) int64 {
	l.sim.mu.Lock()
	defer l.sim.mu.Unlock()
	return l.sim.space(storage, "pve1").Used
}

// errorText is the text of an error, "" when there is none.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
