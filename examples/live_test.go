package examples_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/imagefile"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/status"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// edit is a change that people typically make: in a file, a text becomes another.
type edit struct{ file, old, new string }

// second is the second act of an example: what becomes of it after it was applied.
type second struct {
	first string // the folder that is applied first, when the example itself is the change
	edits []edit
	allow model.Allow // what has to be allowed
}

var seconds = map[string]second{
	"fields": {edits: []edit{
		{"machines.yaml", "size: 64Gi", "size: 80Gi"},
		{"machines.yaml", "  pool: team\n  ha: {maxRestart: 2, maxRelocate: 1}\n", ""},
		{"machines.yaml", `"2001:db8::25/64"`, `"2001:db8::26/64"`},
		{"machines.yaml", "startup: {order: 2", "startup: {order: 3"},
	}},
	"first-boot/debian":        {edits: []edit{{"debian.yaml", "count: 3", "count: 4"}, {"debian.yaml", "s3cret", "other"}}},
	"first-boot/fedora-coreos": {allow: model.Allow{Replace: true}, edits: []edit{{"fedora-coreos.yaml", "192.168.1.70/24", "192.168.1.71/24"}}},
	"first-boot/flatcar":       {edits: []edit{{"flatcar.yaml", "count: 2", "count: 2\n  tags: [herd]"}}},
	"first-boot/host-side":     {allow: model.Allow{Restart: true}, edits: []edit{{"host-side.yaml", "tag: out, via: hook", "tag: out, via: hook, cache: never"}, {"host-side.yaml", "    - local:snippets/notify.sh\n", ""}}},
	"first-boot/shares":        {allow: model.Allow{Restart: true}, edits: []edit{{"shares.yaml", "cache: auto", "cache: never"}}},
	"first-boot/talos":         {edits: []edit{{"talos.yaml", "size: 20Gi", "size: 24Gi"}}},
	"first-boot/ubuntu":        {edits: []edit{{"ubuntu.yaml", "nginx", "apache2"}}},
	"images":                   {edits: []edit{{"machines.yaml", "count: 2", "count: 3"}, {"images.yaml", "24.10.4", "24.10.5"}}},
	"quickstart": {edits: []edit{
		{"classes.yaml", "cpus: 1\n", "cpus: 2\n"},
		{"classes.yaml", "memory: 1Gi", "memory: 2Gi"},
		{"machines.yaml", "size: 8Gi\n  tags: [quickstart]", "size: 10Gi\n  tags: [quickstart, larger]"},
		{"snapshot.yaml", "name: before-upgrade", "name: after-upgrade"},
	}},
	"seed/web-server": {allow: model.Allow{Restart: true}, edits: []edit{
		{"small.yaml", "cpus: 2", "cpus: 4"},
		{"web-server.yaml", `size: "40Gi"`, `size: "50Gi"`},
		{"web-server.yaml", "  userData:", "  tags: [web, nginx]\n  userData:"},
		{"web-server.yaml", "- nginx", "- apache2"},
	}},
	"seed/password":        {edits: []edit{{"web-server.yaml", `size: "40Gi"`, `size: "41Gi"`}}},
	"seed/custom-ca":       {edits: []edit{{"web-server.yaml", "powerState: On", "powerState: Off"}}},
	"seed/insecure":        {edits: []edit{{"web-server.yaml", "  powerState: On", "  powerState: OffGraceful\n  description: at rest"}}},
	"seed/reconfigure":     {first: "seed/web-server", allow: model.Allow{Restart: true}},
	"seed/snapshot":        {edits: []edit{{"before-upgrade.yaml", "name: before-upgrade", "name: before-reboot"}}},
	"seed/snapshot-memory": {edits: []edit{{"web-server.yaml", "  powerState: On", "  powerState: On\n  tags: [safe]"}}},
	"seed/multi-nic": {edits: []edit{
		{"multi-nic-vm.yaml", "vlan: 100", "vlan: 101"},
		{"multi-nic-vm.yaml", `mac: "02:00:00:aa:bb:cc"`, "mac: \"02:00:00:aa:bb:cc\"\n      firewall: true"},
	}},
	"seed/static-ip":  {edits: []edit{{"static-ip.yaml", "  networks:", "  disks:\n    - name: root\n      size: 12Gi\n  networks:"}}},
	"seed/clone":      {edits: []edit{{"web-clone.yaml", "linkedClone: true", "powerState: Off\n  linkedClone: true"}}},
	"seed/full-clone": {edits: []edit{{"web-clone.yaml", "linkedClone: false", "linkedClone: false\n  tags: [copy]\n  disks:\n    - {name: root, size: 10Gi}"}}},
	"seed/storage": {edits: []edit{
		{"machines.yaml", `size: "200Gi"`, `size: "250Gi"`},
		{"machines.yaml", "ssd: true", "ssd: true\n    - name: logs\n      size: 10Gi"},
	}},
	"seed/placement":  {allow: model.Allow{Restart: true}, edits: []edit{{"small.yaml", `memory: "4Gi"`, `memory: "6Gi"`}}},
	"seed/nodes":      {edits: []edit{{"web-server.yaml", "  powerState: On", "  powerState: On\n  onBoot: true"}}},
	"seed/multi-node": {edits: []edit{{"machine.yaml", "    - name: lan", "    - name: lan\n    - name: dmz"}}},
}

// TestEveryExampleLives applies each example, looks at what it made, applies it
// again, changes it, deletes it, and looks that nothing is left: with the functions
// that the command line uses, on both releases. What there should be is in
// testdata/lives, which people have checked against the manifests.
func TestEveryExampleLives(t *testing.T) {
	for _, folder := range slices.Sorted(maps.Keys(machines)) {
		if folder == "first-boot/snippets" {
			continue // nodes can be logged in to in the tests of the command line
		}
		for _, release := range []string{"9.2", "8.4"} {
			t.Run(folder+"/"+release, func(t *testing.T) {
				var got txtar.Archive
				synctest.Test(t, func(t *testing.T) { got = live(t, folder, release) })
				if !t.Failed() {
					compare(t, folder, release, got)
				}
			})
		}
	}
}

// live is the life of an example, chapter by chapter.
func live(t *testing.T, folder, release string) (told txtar.Archive) {
	tell := func(chapter, text string) {
		told.Files = append(told.Files, txtar.File{Name: chapter, Data: []byte(text)})
	}
	s := newSite(t, release)
	defer s.close()
	change, ok := seconds[folder]
	if !ok {
		t.Fatalf("nothing is changed about %s", folder)
	}
	want := s.read(cmp.Or(change.first, folder), nil)
	untouched := s.everything()

	tell("plan", s.plan(want, false).text)
	s.apply("apply", want)
	tell("made", s.made(untouched))
	s.settled("apply again", want)

	want = s.read(folder, change.edits)
	want.Desired.Allow = change.allow
	tell("plan of the change", s.plan(want, false).text)
	s.apply("change", want)
	tell("changed", s.made(untouched))
	s.settled("change again", want)

	want.Desired.Delete()
	s.apply("delete", want)
	if diff := gocmp.Diff(untouched, s.everything()); diff != "" {
		t.Errorf("delete leaves something behind:\n%s", diff)
	}
	s.settled("delete again", want)
	return told
}

// compare holds what happened against what should.
func compare(t *testing.T, folder, release string, got txtar.Archive) {
	t.Helper()
	file := filepath.Join("testdata/lives", strings.TrimPrefix(strings.ReplaceAll(folder, "first-boot/", "first-boot-"), "seed/")+".txtar")
	text := txtar.Format(&got)
	if *golden.Update && release == "9.2" {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s on %s isn't what %s says:\n%s", folder, release, file, diff)
	}
}

// site is a simulated Proxmox that the examples are for.
type site struct {
	t    *testing.T
	sim  *pvesim.Sim
	rt   pve.Config // with the transport
	stop func()
}

func newSite(t *testing.T, release string) *site {
	t.Helper()
	w, err := pvesim.LoadWorld("testdata/world.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w.Release = release
	sim, err := pvesim.New(w, pvesim.WithInternet(pvesim.BootableImages{}))
	if err != nil {
		t.Fatal(err)
	}
	tr, stop := sim.Transport()
	return &site{t: t, sim: sim, rt: pve.Config{RoundTripper: tr}, stop: stop}
}

func (s *site) close() {
	s.stop()
	if err := s.sim.Close(); err != nil {
		s.t.Error(err)
	}
}

// read reads an example with edits, from files as people do.
func (s *site) read(folder string, edits []edit) manifest.Wanted {
	s.t.Helper()
	dir := s.t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		s.t.Fatal(err)
	}
	for _, e := range edits {
		file := filepath.Join(dir, e.file)
		b, err := os.ReadFile(file)
		if err != nil {
			s.t.Fatal(err)
		}
		if !strings.Contains(string(b), e.old) {
			s.t.Fatalf("%s/%s has no %q to change", folder, e.file, e.old)
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(b), e.old, e.new)), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	return wanted(s.t, dir)
}

// engine is a new one each time, as a process that was just started: it knows
// nothing but what Proxmox tells.
func (s *site) engine(want manifest.Wanted) *engine.Engine {
	s.t.Helper()
	cfg := want.Connection.Config()
	cfg.RoundTripper = s.rt.RoundTripper
	client, err := pve.New(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	web := imagefile.New(pvesim.BootableImages{}) // the network doesn't belong into the bubble
	return engine.New(observe.New(client).Fetching(web), act.New(client).Fetching(web))
}

// planned is a plan, also as people see it.
type planned struct {
	plan.Plan
	text string
}

func (s *site) plan(want manifest.Wanted, quick bool) planned {
	s.t.Helper()
	want.Desired.Quick = quick
	p, err := s.engine(want).Plan(s.t.Context(), want.Desired)
	if err != nil {
		s.t.Fatal(err)
	}
	return planned{p, status.Page{}.Plan(p)}
}

func (s *site) apply(chapter string, want manifest.Wanted) {
	s.t.Helper()
	var happened strings.Builder
	failed := false
	report, err := s.engine(want).Converge(s.t.Context(), want.Desired, engine.Options{Events: func(e engine.Event) {
		fmt.Fprintf(&happened, "  %s %s %s: %s\n", e.Owner.Key, e.Kind, e.Step, e.Text)
		failed = failed || e.Kind == engine.Failed
	}})
	if err != nil || !report.Converged() || failed {
		for _, o := range report.Objects {
			s.t.Logf("%s is %s: %s", o.Owner.Key, o.State, o.Text)
		}
		s.t.Fatalf("%s: %v\n%s", chapter, err, &happened)
	}
}

// settled checks that there is nothing to do, however closely one looks, and that
// nothing is written when it is applied all the same.
func (s *site) settled(chapter string, want manifest.Wanted) {
	s.t.Helper()
	for _, quick := range []bool{false, true} {
		if p := s.plan(want, quick); !p.Unchanged() {
			s.t.Errorf("%s: quick=%v:\n%s", chapter, quick, p.text)
		}
	}
	before := s.sim.RequestCount()
	s.apply(chapter, want)
	for _, r := range s.sim.Requests(before) {
		if r.Method != "GET" && !strings.HasSuffix(r.URL, "/access/ticket") {
			s.t.Errorf("%s: %s %s is sent though there is nothing to do", chapter, r.Method, r.URL)
		}
	}
}
