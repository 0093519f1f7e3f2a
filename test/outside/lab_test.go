// Package outside_test tries the programs from outside: killed at any moment, signalled, several at
// once, and with somebody who looks for secrets in all that they write.
package outside_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/inspect"
	"github.com/proxplane/proxplane/test/kit/outside"
	"github.com/proxplane/proxplane/test/kit/sim"
)

func TestMain(m *testing.M) {
	// They wait more than they work.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	outside.Main(m, "./cmd/proxplane")
}

const (
	tokenID     = "me@pve!laptop"
	tokenSecret = "c0ffee00-0000-4000-8000-000000000000"
	// userPassword is that of the same user.
	userPassword = "pa55-of-me/%2F&\"quoted\""
	shop         = "shop" // the set that the manifests are applied as
)

// patience bounds every wait; nothing should come near it.
const patience = 3 * time.Minute

// lab is a simulated Proxmox with machines of others on it, and a place to work.
type lab struct {
	t      *testing.T
	ctx    context.Context
	sim    *outside.Sim
	log    string // file with all requests
	folder string // that the manifests are in
	home   string
	tmp    string
	before *inspect.Census
}

// newLab makes one, of the default release unless another is named.
func newLab(t *testing.T, release ...string) *lab {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return labUntil(ctx, t, release...)
}

// labUntil makes one that ends with ctx.
func labUntil(ctx context.Context, t *testing.T, release ...string) *lab {
	t.Helper()
	dir := t.TempDir()
	l := &lab{t: t, ctx: ctx, log: filepath.Join(dir, "requests.jsonl"), folder: filepath.Join(dir, "manifests"), home: filepath.Join(dir, "home"), tmp: filepath.Join(dir, "tmp")}
	for _, d := range []string{l.folder, l.home, l.tmp} {
		l.must(os.Mkdir(d, 0o700))
	}
	world := filepath.Join(dir, "world.yaml")
	text, err := yaml.Marshal(worldWithOthers())
	l.must(err)
	l.must(os.WriteFile(world, text, 0o600))
	l.sim, err = outside.StartSim(ctx, outside.SimOptions{Program: outside.Program("proxplane"), World: world, Data: filepath.Join(dir, "data"), Log: l.log, Release: strings.Join(release, "")})
	l.must(err)
	l.before = inspect.Take(l.state())
	return l
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) state() *pvesim.State {
	l.t.Helper()
	s, err := l.sim.State(l.ctx)
	l.must(err)
	return s
}

func owner(kind, name string) model.Owner {
	return model.Owner{Door: manifest.Door, Set: shop, Key: model.Key{Kind: kind, Name: name}}
}

// worldWithOthers is the default world, quicker, with machines of other people:
// where ours would go, with names and tags as ours have them, running and under HA.
func worldWithOthers() *pvesim.World {
	w := pvesim.DefaultWorld()
	times := reflect.ValueOf(&w.Timing).Elem()
	for i := range times.NumField() {
		times.Field(i).SetInt(times.Field(i).Int() / 20)
	}
	w.Timing.Boot, w.Timing.Agent = 0, 0
	w.Timing.Request = pvesim.Duration(2 * time.Millisecond)
	w.Load = pvesim.Load{Workers: 3}
	sim.Uneven(w)
	w.Pools = append(w.Pools, pvesim.WorldPool{ID: "team"})
	w.Users = append(w.Users, pvesim.WorldUser{ID: "me@pve", Password: userPassword, Tokens: []pvesim.WorldToken{{Name: "laptop", Secret: tokenSecret}}})
	w.ACL = append(w.ACL, pvesim.WorldACL{Path: "/", Role: "Administrator", User: "me@pve"})
	other := func(id int, running bool, config map[string]string) {
		config["scsi0"], config["net0"] = "nfs:2,format=qcow2", "virtio,bridge=vmbr0"
		w.Guests = append(w.Guests, pvesim.WorldGuest{ID: id, Node: "pve2", Running: running, Pool: "team", Config: config})
	}
	for _, o := range []model.Owner{owner("VirtualMachine", "web-1"), owner("VirtualMachine", "db")} {
		for id := range o.Candidates(model.Range{First: 10000, Last: 99999}) {
			other(id, true, map[string]string{"name": "their-" + o.Name, "tags": "proxplane"})
			break
		}
	}
	other(500, false, map[string]string{"name": "web-2", "description": "not yours"})
	other(501, true, map[string]string{"name": "mail", "description": model.Marker{Owner: owner("VirtualMachine", "web-3"), VMID: 12345}.String()})
	return w
}

// write puts manifests into place; the image that they name is served here.
func (l *lab) write(file string) {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	l.must(err)
	text = bytes.ReplaceAll(text, []byte("IMAGE_URL"), []byte(imageServer(l.t)+"/debian.qcow2"))
	l.must(os.WriteFile(filepath.Join(l.folder, "machines.yaml"), text, 0o600))
}

// imageServer has an image at any URL.
func imageServer(t *testing.T) string {
	image := pvesim.BootableImage()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, r.URL.Path, time.Time{}, bytes.NewReader(image))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// command is proxplane with arguments, as somebody with a home would start it.
func (l *lab) command(args ...string) outside.Command {
	return outside.Command{
		Program: outside.Program("proxplane"), Args: append(slices.Clone(args), "--fingerprint", l.sim.Fingerprint),
		Env: append(l.sim.Env(tokenID, tokenSecret), "HOME="+l.home, "TMPDIR="+l.tmp), Dir: l.folder,
	}
}

// apply makes the manifests so, of the set.
func (l *lab) apply(set string, more ...string) outside.Command {
	return l.command(append([]string{"apply", "-f", l.folder, "--set", set, "--prune", "--yes", "--allow-restart", "--timeout", "2m"}, more...)...)
}

func (l *lab) remove(set string) outside.Command {
	return l.command("delete", "-f", l.folder, "--set", set, "--yes", "--timeout", "2m")
}

func (l *lab) start(c outside.Command) *outside.Process {
	l.t.Helper()
	p, err := outside.Start(l.ctx, c)
	l.must(err)
	return p
}

// succeeds runs a command to its end.
func (l *lab) succeeds(c outside.Command) outside.Result {
	l.t.Helper()
	r := l.start(c).Wait()
	if r.Code != 0 {
		l.t.Fatalf("proxplane %s: %v", strings.Join(c.Args, " "), r)
	}
	return r
}

// settled checks that there is one machine for each owner, that nothing is left
// over and that nothing of others was touched, and that there is nothing to do.
func (l *lab) settled(set string, owners ...model.Owner) {
	l.t.Helper()
	for i := range owners {
		owners[i].Set = set
	}
	l.sound(owners...)
	if len(owners) > 0 {
		r := l.start(l.command("plan", "-f", l.folder, "--set", set, "--prune", "--detailed-exitcode")).Wait()
		if r.Code != 0 {
			l.t.Errorf("there is still something to do: %v", r)
		}
	}
}

// sound checks the state alone, once what was started has ended.
func (l *lab) sound(owners ...model.Owner) {
	l.t.Helper()
	s := l.quiet()
	for _, wrong := range slices.Concat(l.before.Wishes(s, owners...), l.before.Left(s), l.before.Touched(s), l.before.Written(l.requests())) {
		l.t.Error(wrong)
	}
	if l.t.Failed() {
		l.t.FailNow()
	}
}

// quiet is the state when no task runs any more.
func (l *lab) quiet() (s *pvesim.State) {
	l.t.Helper()
	l.until("no task runs", func() bool {
		s = l.state()
		return !hasTask(s, (*pvesim.TaskInfo).Running)
	})
	return s
}

// until asks again and again whether something is so.
func (l *lab) until(what string, so func() bool) {
	l.t.Helper()
	for !so() {
		if l.ctx.Err() != nil {
			l.t.Fatalf("it never happens that %s", what)
		}
	}
}

func hasTask(s *pvesim.State, which func(*pvesim.TaskInfo) bool) bool {
	for _, list := range s.Tasks {
		if slices.ContainsFunc(list, which) {
			return true
		}
	}
	return false
}

// awaitTask waits for a task of a type to run.
func (l *lab) awaitTask(kind string) {
	l.t.Helper()
	l.until("a task "+kind+" runs", func() bool {
		return hasTask(l.state(), func(t *pvesim.TaskInfo) bool { return t.Type == kind && t.Running() })
	})
}

// awaitFault waits for the only fault to strike.
func (l *lab) awaitFault() {
	l.t.Helper()
	l.until("the fault strikes", func() bool {
		list, err := l.sim.Faults(l.ctx)
		l.must(err)
		return list[0].Struck > 0
	})
}

// requests are all that the simulator got.
func (l *lab) requests() (list []pvesim.Request) {
	l.t.Helper()
	text, err := os.ReadFile(l.log)
	l.must(err)
	for line := range bytes.Lines(text) {
		var r pvesim.Request
		l.must(json.Unmarshal(line, &r))
		list = append(list, r)
	}
	return list
}

// The owners of what the manifests name.
func firstWishes() []model.Owner {
	return []model.Owner{
		owner("VMImage", "fetched"), owner("VirtualMachine", "web-1"), owner("VirtualMachine", "web-2"), owner("VirtualMachine", "web-3"),
		owner("VirtualMachine", "db"), owner("VMClone", "copy"),
	}
}

func secondWishes() []model.Owner {
	return []model.Owner{owner("VirtualMachine", "web-1"), owner("VirtualMachine", "web-2"), owner("VirtualMachine", "web-4"), owner("VirtualMachine", "db")}
}
