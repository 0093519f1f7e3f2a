package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	kit "github.com/proxplane/proxplane/test/kit/sim"
)

const secret = "12345678-1234-1234-1234-123456789abc"

// lab is a simulated cluster in virtual time.
type lab struct {
	t      *testing.T
	sim    *pvesim.Sim
	client *pve.Client
	events []engine.Event
	keys   model.Keys // that the engines sign markers with
}

// labWorld has some nodes, each with a template of the same name on a local
// storage, and takes the time that such things take: lists are a status round behind, a
// template takes seconds to make. No two of the first nodes are of the same size.
func labWorld(nodes int) *pvesim.World {
	w := &pvesim.World{
		Release: "9.2", Cluster: "lab",
		Storages: []pvesim.WorldStorage{
			{Name: "local", Type: "dir", Path: "/var/lib/vz", Size: 2 << 40, Content: []string{"images", "iso", "import", "snippets"}},
			{Name: "local-lvm", Type: "lvmthin", Size: 8 << 40, Content: []string{"images"}, Options: map[string]string{"vgname": "pve", "thinpool": "data"}},
			{Name: "nfs", Type: "nfs", Path: "/mnt/pve/nfs", Size: 8 << 40, Content: []string{"images", "iso", "import"}, Options: map[string]string{"server": "10.0.0.9", "export": "/x"}},
		},
		Users: []pvesim.WorldUser{{ID: "root@pam", Password: "secret", Tokens: []pvesim.WorldToken{{Name: "lab", Secret: secret}}}},
		Pools: []pvesim.WorldPool{{ID: "team"}},
		DHCP:  pvesim.WorldDHCP{Range: "10.7.0.1-10.7.200.250", Bits: 16},
		Timing: pvesim.Timing{
			Request: ms(5), Config: ms(200), Clone: ms(2000), Resize: ms(300), Start: ms(1000), Boot: ms(1000), Agent: ms(3000),
			Stop: ms(200), Shutdown: ms(1000), Destroy: ms(500), Create: ms(500), Template: ms(3000), Snapshot: ms(500), ClonePerGiB: ms(500),
		},
		Load: pvesim.Load{AgentWait: ms(3000), StatusRound: ms(10000)},
	}
	for i := range nodes {
		name := fmt.Sprintf("pve%d", i+1)
		w.Nodes = append(w.Nodes, pvesim.WorldNode{
			Name: name, CPUs: max(64>>i, 8), Memory: 4<<40 - pvesim.Size(i)<<33, Bridges: []pvesim.WorldBridge{{Name: "vmbr0"}, {Name: "vmbr1"}},
		})
		w.Guests = append(w.Guests, pvesim.WorldGuest{
			ID: 9000 + i, Node: name, Template: true, System: pvesim.WithAgent,
			Config: map[string]string{
				"name": "ubuntu", "ostype": "l26", "cores": "2", "memory": "2048", "agent": "enabled=1", "scsihw": "virtio-scsi-pci",
				"scsi0": "local-lvm:8", "ide2": "local-lvm:cloudinit", "net0": "virtio,bridge=vmbr0", "boot": "order=scsi0", "serial0": "socket",
			},
		})
	}
	return w
}

func ms(n int) pvesim.Duration { return pvesim.Duration(time.Duration(n) * time.Millisecond) }

// inLab runs a test in a lab.
func inLab(t *testing.T, w *pvesim.World, test func(t *testing.T, l *lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, w)
		defer l.close()
		test(t, l)
	})
}

func newLab(t *testing.T, w *pvesim.World) *lab {
	t.Helper()
	sim, err := pvesim.New(w)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, sim: sim}
	l.client = l.connect(pve.Token("root@pam!lab", secret))
	return l
}

func (l *lab) close() { l.sim.Close() }

// connect makes a client of its own.
func (l *lab) connect(creds pve.Credentials) *pve.Client {
	l.t.Helper()
	return kit.Dial(l.t, l.sim, creds)
}

// engine makes an engine that knows nothing yet, as a new process does.
func (l *lab) engine() *engine.Engine {
	return engine.New(observe.New(l.client).Verifying(l.keys), act.New(l.client).Signing(l.keys))
}

func engineOf(c *pve.Client) *engine.Engine { return engine.New(observe.New(c), act.New(c)) }

// converge runs a new engine until it ends.
func (l *lab) converge(want model.Desired) engine.Report {
	l.t.Helper()
	rep, err := l.engine().Converge(context.Background(), want, l.options())
	if err != nil {
		l.t.Fatal(err)
	}
	return rep
}

func (l *lab) options() engine.Options {
	return engine.Options{Events: func(e engine.Event) { l.events = append(l.events, e) }}
}

// mustConverge converges, and wants it to be so afterwards.
func (l *lab) mustConverge(want model.Desired) engine.Report {
	l.t.Helper()
	rep := l.converge(want)
	if !rep.Converged() {
		l.t.Fatalf("not converged:\n%s%s", describe(rep), l.story())
	}
	return rep
}

func describe(rep engine.Report) string {
	var b strings.Builder
	for _, o := range rep.Objects {
		fmt.Fprintf(&b, "%s (VM %d on %s): %s %s\n", o.Owner.Key, o.VMID, o.Node, o.State, o.Text)
	}
	return b.String()
}

// story is what happened, for failures of tests.
func (l *lab) story() string {
	var b strings.Builder
	for _, e := range l.events {
		fmt.Fprintf(&b, "  %s %s %s %s: %s\n", e.Time.Format("05.000"), e.Owner.Name, e.Kind, e.Step, e.Text)
	}
	return b.String()
}

// requests are those since the nth, as "GET /nodes/pve1/…" without queries.
func (l *lab) requests(after int) []string {
	var out []string
	for _, r := range l.sim.Requests(after) {
		path, _, _ := strings.Cut(strings.TrimPrefix(r.URL, "/api2/json"), "?")
		out = append(out, r.Method+" "+path)
	}
	return out
}

func writes(requests []string) int {
	return len(slices.DeleteFunc(slices.Clone(requests), func(r string) bool { return strings.HasPrefix(r, "GET ") }))
}

var vmids = model.Range{First: 5000, Last: 8999}

func key(kind, name string) model.Key { return model.Key{Kind: kind, Name: name} }

func owner(kind, name string) model.Owner {
	return model.Owner{Door: "vm", Set: "test", Key: key(kind, name)}
}

// ubuntu is the template of the lab as an image.
func ubuntu() model.Image { return model.Image{Owner: owner("VMImage", "ubuntu"), Template: "ubuntu"} }

// machine is a guest that is made from it.
func machine(name string) model.VM {
	return model.VM{
		Owner: owner("VirtualMachine", name), Name: name, Range: vmids,
		Source:  model.Source{Image: key("VMImage", "ubuntu")},
		Options: map[string]string{"cores": "4", "memory": "4096", "ciuser": "ann"},
		Managed: []string{"cores", "memory", "ciuser"},
		Disks:   []model.Disk{{Slot: model.RootSlot, Name: "root", Size: 20 << 30}},
		NICs:    []model.NIC{{Slot: "net0", Name: "lan", Model: "virtio", Bridge: "vmbr1", MAC: macOf(name)}},
		Tags:    []string{"web"}, Description: "made by a test",
		Power: model.PowerOn, WaitAddress: true,
	}
}

func macOf(name string) string {
	sum := 0
	for _, c := range name {
		sum = sum*31 + int(c)
	}
	return fmt.Sprintf("BC:24:11:%02X:%02X:%02X", byte(sum>>16), byte(sum>>8), byte(sum))
}

// desired keeps nothing of the caller's, who may go on to change his machines while a
// session reads these.
func desired(vms ...model.VM) model.Desired {
	return model.Desired{Set: "test", Range: machine("").Range, Images: []model.Image{ubuntu()}, VMs: slices.Clone(vms)}
}

func machines(n int) []model.VM {
	var list []model.VM
	for i := range n {
		list = append(list, machine(fmt.Sprintf("web-%d", i)))
	}
	return list
}

// ours are the guests that carry our tag.
func (l *lab) ours() map[int]map[string]string {
	out := map[int]map[string]string{}
	l.sim.Do(func(s *pvesim.State) {
		for id, vm := range s.VMs {
			if id < 9000 {
				conf := map[string]string{"node": vm.Node}
				for k, v := range vm.Conf {
					conf[k] = v
				}
				if vm.Run != nil {
					conf["running"] = "1"
				}
				out[id] = conf
			}
		}
	})
	return out
}

// named is the config of the machine of that name.
func (l *lab) named(name string) map[string]string {
	for _, conf := range l.ours() {
		if conf["name"] == name {
			return conf
		}
	}
	return nil
}

// vm does something to the machine of that name, as somebody else would.
func (l *lab) vm(name string, fn func(*pvesim.State, *pvesim.VM)) {
	l.sim.Do(func(s *pvesim.State) {
		for _, vm := range s.VMs {
			if vm.Conf["name"] == name {
				fn(s, vm)
				return
			}
		}
		l.t.Errorf("there is no machine %q", name)
	})
}

// somebody has the machine changed by another client.
func (l *lab) somebody(name, method, path string, params pve.Params) {
	l.t.Helper()
	var at string
	l.vm(name, func(_ *pvesim.State, vm *pvesim.VM) { at = fmt.Sprintf("/nodes/%s/qemu/%d", vm.Node, vm.ID) })
	var out any
	if err := l.connect(pve.Password("root@pam", "secret")).Call(l.t.Context(), method, at+path, params, &out); err != nil {
		l.t.Fatal(err)
	}
	time.Sleep(time.Second)
}

func (l *lab) setConfig(name, key, value string) {
	l.t.Helper()
	l.somebody(name, "PUT", "/config", pve.Params{key: value})
}

func (l *lab) kill(name string) {
	l.t.Helper()
	l.somebody(name, "POST", "/status/stop", nil)
}

func (l *lab) vanish(name string) {
	l.t.Helper()
	l.kill(name)
	l.somebody(name, "DELETE", "", nil)
}

// keeping runs fn while an engine keeps things up to date.
func (l *lab) keeping(e *engine.Engine, want model.Desired, fn func()) {
	ctx, cancel := context.WithCancel(context.Background())
	s := e.Serve(ctx, engine.Options{})
	s.Want(want, nil)
	defer func() {
		cancel()
		<-s.Done()
	}()
	fn()
}

// converge goes on with an engine that has worked before.
func converge(t *testing.T, e *engine.Engine, want model.Desired) {
	t.Helper()
	rep, err := e.Converge(t.Context(), want, engine.Options{})
	if err != nil || !rep.Converged() {
		t.Fatalf("%v\n%s", err, describe(rep))
	}
}
