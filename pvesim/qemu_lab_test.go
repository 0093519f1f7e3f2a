package pvesim

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// lab is a simulator for tests of VMs, in virtual time, and root as its
// client.
type lab struct{ *visitor }

// labWorld has two nodes, storages of several types and some images.
func labWorld(release string) *World {
	return &World{
		Release: release, Cluster: "lab",
		Nodes: []WorldNode{
			{Name: "pve1", CPUs: 8, Memory: 32 << 30, Bridges: []WorldBridge{{Name: "vmbr0"}, {Name: "vmbr1"}}},
			{Name: "pve2", CPUs: 8, Memory: 32 << 30, Bridges: []WorldBridge{{Name: "vmbr0"}}},
		},
		Storages: []WorldStorage{
			{
				Name: "local", Type: "dir", Path: "/var/lib/vz", Size: 100 << 30,
				Content: []string{"images", "iso", "import", "snippets", "vztmpl", "backup"},
				Volumes: []WorldVolume{
					{Name: "iso/tiny.iso", Size: 64 << 10}, {Name: "iso/other.iso", Size: 1 << 20},
					{Name: "import/disk.qcow2", Size: 64 << 20}, {Name: "import/os.qcow2", Size: 1 << 30, System: WithAgent},
					{Name: "snippets/hook.sh", Text: "#!/bin/sh\nexit 0\n"}, {Name: "snippets/user.yml", Text: "#cloud-config\n{}\n"},
				},
			},
			{Name: "thin", Type: "lvmthin", Size: 100 << 30, Content: []string{"images"}, Options: map[string]string{"vgname": "pve", "thinpool": "data"}},
			{Name: "isos", Type: "dir", Path: "/isos", Size: 10 << 30, Content: []string{"iso"}},
		},
		Users: []WorldUser{{ID: "root@pam", Password: "secret"}, {ID: "ann@pve", Password: "secret"}},
		Pools: []WorldPool{{ID: "team"}},
	}
}

// inLab runs a test in a lab of the release.
func inLab(t *testing.T, release string, test func(t *testing.T, l *lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim, err := New(labWorld(release))
		if err != nil {
			t.Fatal(err)
		}
		tr, stop := sim.Transport()
		defer sim.Close()
		defer stop()
		o := &office{t: t, sim: sim, http: &http.Client{Transport: tr}}
		test(t, &lab{o.root()})
	})
}

// ended waits for a task and returns how it ended and what it logged.
func (l *lab) ended(upid any) (exit string, log []string) {
	l.t.Helper()
	id, ok := upid.(string)
	if !ok {
		l.t.Fatalf("%v is no UPID", upid)
	}
	l.sim.mu.Lock()
	running := l.sim.running[id]
	l.sim.mu.Unlock()
	if running != nil {
		<-running.ended
	}
	l.sim.Do(func(s *State) {
		info := l.sim.byUPID[id]
		exit, log = info.Exit, info.Log
	})
	return exit, log
}

// run makes a request whose task must end well, and returns its log.
func (l *lab) run(method, path string, params ...string) []string {
	l.t.Helper()
	exit, log := l.ended(l.must(method, path, params...))
	if exit != "OK" {
		l.t.Fatalf("%s %s %v: task ended with %q", method, path, params, exit)
	}
	return log
}

// fails makes a request whose task must fail with the text.
func (l *lab) fails(text, method, path string, params ...string) {
	l.t.Helper()
	if exit, _ := l.ended(l.must(method, path, params...)); exit != text {
		l.t.Errorf("%s %s %v: task ended with %q, want %q", method, path, params, exit, text)
	}
}

// create makes VM 100 with the options.
func (l *lab) create(options ...string) []string {
	l.t.Helper()
	return l.run("POST", "/nodes/pve1/qemu", append([]string{"vmid", "100"}, options...)...)
}

const labVM = "/nodes/pve1/qemu/100"

func (l *lab) set(options ...string) {
	l.t.Helper()
	l.must("PUT", labVM+"/config", options...)
}

// refuses changes the config in a way that must be refused.
func (l *lab) refuses(status int, reason string, options ...string) reply {
	l.t.Helper()
	r := l.put(labVM+"/config", options...)
	if r.status != status || r.reason != reason {
		l.t.Errorf("PUT %v: %d %q %v, want %d %q", options, r.status, r.reason, r.errors, status, reason)
	}
	return r
}

// invalid is refuses for one parameter.
func (l *lab) invalid(field, text string, options ...string) {
	l.t.Helper()
	r := l.refuses(400, "Parameter verification failed.", options...)
	if len(r.errors) != 1 || r.errors[field] != text {
		l.t.Errorf("PUT %v: errors %q, want %s: %q", options, r.errors, field, text)
	}
}

func (l *lab) config(query ...string) map[string]any {
	l.t.Helper()
	return l.must("GET", labVM+"/config", query...).(map[string]any)
}

// holds compares options of the config; nil is an option that isn't there.
func (l *lab) holds(pairs ...any) {
	l.t.Helper()
	have := l.config()
	for i := 0; i < len(pairs); i += 2 {
		key, want := pairs[i].(string), pairs[i+1]
		if n, ok := want.(int); ok {
			want = float64(n)
		}
		if have[key] != want {
			l.t.Errorf("%s is %#v, want %#v", key, have[key], want)
		}
	}
}

// pending is what GET pending says of an option.
func (l *lab) pending(key string) map[string]any {
	l.t.Helper()
	for _, item := range l.must("GET", labVM+"/pending").([]any) {
		if m := item.(map[string]any); m["key"] == key {
			return m
		}
	}
	return nil
}

// waits reports whether a change of the option is pending.
func (l *lab) waits(key string) bool {
	l.t.Helper()
	item := l.pending(key)
	return item["pending"] != nil || item["delete"] != nil
}

// volumes lists the volumes of VM 100 on a storage.
func (l *lab) volumes(storage string) string {
	var names []string
	l.sim.Do(func(*State) { names = sortedKeys(l.sim.space(storage, "pve1").ofVM(100)) })
	return strings.Join(names, " ")
}

func (l *lab) start() {
	l.t.Helper()
	l.run("POST", labVM+"/status/start")
}

// both runs a test on both releases.
func bothReleases(t *testing.T, test func(t *testing.T, l *lab)) {
	t.Helper()
	for _, release := range []string{"9.2", "8.4"} {
		t.Run(release, func(t *testing.T) { inLab(t, release, test) })
	}
}
