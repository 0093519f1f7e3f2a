package pvesim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/proxplane/proxplane/pvesim/access"
)

// benchWorld has so many VMs that run, from VMID 100 on, a template and a
// stopped VM.
func benchWorld(vms int) *World {
	w := DefaultWorld()
	w.Timing, w.Load, w.Locks = Timing{}, Load{}, Locks{}
	w.DHCP = WorldDHCP{Range: "10.0.0.1-10.3.255.254", Bits: 14}
	w.Nodes[0].Memory, w.Storages[1].Size = 1<<50, 1<<50
	w.Users = append(w.Users, WorldUser{ID: "ann@pve", Password: "secret"})
	w.Guests[0].ID = 900009 // VMID 9000 is taken
	w.Guests = append(w.Guests,
		WorldGuest{ID: 100, Node: "pve1", Count: vms, Running: true, Config: map[string]string{
			"name": "load-%d", "cores": "2", "memory": "2048", "agent": "1", "tags": "load;web", "scsihw": "virtio-scsi-single",
			"scsi0": "local-lvm:8", "net0": "virtio,bridge=vmbr0", "boot": "order=scsi0", "onboot": "1", "ostype": "l26",
		}},
		WorldGuest{ID: 900000, Node: "pve1", Config: map[string]string{"name": "still", "memory": "512"}},
	)
	w.ACL = append(w.ACL, WorldACL{Path: "/vms", Role: "PVEVMAdmin", User: "ann@pve"})
	return w
}

// bench is a simulator under load, without any network.
type bench struct {
	sim   *Sim
	serve http.Handler
	next  int // number of the next request
	upid  string
	user  http.Header
}

func newBench(tb testing.TB, vms int) *bench {
	tb.Helper()
	sim, err := New(benchWorld(vms))
	if err != nil {
		tb.Fatal(err)
	}
	b := &bench{sim: sim, serve: sim.Handler()}
	sim.Do(func(st *State) {
		st.Access.Users["root@pam"].Tokens = map[string]*access.Token{"bench": {Secret: "bench"}}
		st.Access.Users["ann@pve"].Tokens = map[string]*access.Token{"bench": {Secret: "bench"}}
		st.Options["user-tag-access"] = "user-allow=existing"
	})
	b.user = http.Header{"Authorization": {"PVEAPIToken=root@pam!bench=bench"}}
	b.upid = b.do("POST", "/nodes/pve1/qemu/900000/status/start")
	b.wait(b.upid)
	b.wait(b.do("POST", "/nodes/pve1/qemu/900000/status/stop"))
	return b
}

// do makes a request that must succeed and returns its data if that is a
// text.
func (b *bench) do(method, path string, params ...string) string {
	form := url.Values{}
	for i := 0; i < len(params); i += 2 {
		form.Set(params[i], params[i+1])
	}
	req := httptest.NewRequest(method, "/api2/json"+path, strings.NewReader(form.Encode()))
	if len(params) == 0 {
		req = httptest.NewRequest(method, "/api2/json"+path, nil)
	}
	req.Header = b.user.Clone()
	if len(params) > 0 {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	rec := httptest.NewRecorder()
	b.serve.ServeHTTP(rec, req)
	if rec.Code != http.StatusOK {
		panic(fmt.Sprintf("%s %s: %d %s", method, path, rec.Code, rec.Body))
	}
	if !strings.HasPrefix(rec.Body.String(), `{"data":"`) {
		return ""
	}
	var out struct{ Data string }
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
		panic(err)
	}
	return out.Data
}

// as makes requests with other credentials.
func (b *bench) as(user http.Header, fn func()) {
	before := b.user
	b.user = user
	fn()
	b.user = before
}

// wait waits for a task, which must succeed.
func (b *bench) wait(upid string) {
	b.sim.mu.Lock()
	t := b.sim.running[upid]
	b.sim.mu.Unlock()
	if t != nil {
		<-t.ended
	}
	b.sim.mu.Lock()
	defer b.sim.mu.Unlock()
	if exit := b.sim.byUPID[upid].Exit; exit != "OK" {
		panic(upid + ": " + exit)
	}
}

// number changes from call to call.
func (b *bench) number() string { b.next++; return itoa(b.next) }

// benchCall is a call, or some that belong together. Lists may cost more the
// more there is to list.
type benchCall struct {
	name string
	list bool
	call func(b *bench)
}

func benchGet(path string) func(*bench) { return func(b *bench) { b.do("GET", path) } }

var benchCalls = []benchCall{
	{"version", false, benchGet("/version")},
	{"log in", false, func(b *bench) {
		b.as(http.Header{}, func() { b.do("POST", "/access/ticket", "username", "ann@pve", "password", "secret") })
	}},
	{"permissions of a VM", false, benchGet("/access/permissions?path=/vms/120&userid=ann@pve")},
	{"next VMID", false, benchGet("/cluster/nextid")},
	{"cluster status", false, benchGet("/cluster/status")},
	{"cluster options", false, benchGet("/cluster/options")},
	{"node status", false, benchGet("/nodes/pve1/status")},
	{"storage status", false, benchGet("/nodes/pve1/storage/local-lvm/status")},
	{"disks of a VM", false, benchGet("/nodes/pve1/storage/local-lvm/content?vmid=120")},
	{"task status", false, func(b *bench) { b.do("GET", "/nodes/pve1/tasks/"+b.upid+"/status") }},
	{"VM status", false, benchGet("/nodes/pve1/qemu/120/status/current")},
	{"VM config", false, benchGet("/nodes/pve1/qemu/120/config")},
	{"VM pending", false, benchGet("/nodes/pve1/qemu/120/pending")},
	{"VM addresses", false, benchGet("/nodes/pve1/qemu/120/agent/network-get-interfaces")},
	{"change VM config", false, func(b *bench) {
		b.do("PUT", "/nodes/pve1/qemu/120/config", "description", b.number())
	}},
	{"tag a VM, as a user", false, func(b *bench) {
		b.as(http.Header{"Authorization": {"PVEAPIToken=ann@pve!bench=bench"}}, func() {
			b.do("PUT", "/nodes/pve1/qemu/120/config", "tags", "web")
			b.do("PUT", "/nodes/pve1/qemu/120/config", "tags", "load;web")
		})
	}},
	{"start and stop", false, func(b *bench) {
		b.wait(b.do("POST", "/nodes/pve1/qemu/900000/status/start"))
		b.wait(b.do("POST", "/nodes/pve1/qemu/900000/status/stop"))
	}},
	{"create and destroy", false, func(b *bench) {
		b.wait(b.do("POST", "/nodes/pve1/qemu", "vmid", "900001", "memory", "512", "scsi0", "local-lvm:8", "net0", "virtio,bridge=vmbr0"))
		b.wait(b.do("DELETE", "/nodes/pve1/qemu/900001"))
	}},
	{"linked clone and destroy", false, func(b *bench) {
		b.wait(b.do("POST", "/nodes/pve1/qemu/900009/clone", "newid", "900002"))
		b.wait(b.do("DELETE", "/nodes/pve1/qemu/900002"))
	}},
	{"all resources", true, benchGet("/cluster/resources")},
	{"all VMs of a node", true, benchGet("/nodes/pve1/qemu")},
	{"all disks of a storage", true, benchGet("/nodes/pve1/storage/local-lvm/content")},
	{"50 tasks of a node", true, benchGet("/nodes/pve1/tasks")},
}

func BenchmarkRequest(b *testing.B) {
	for _, vms := range []int{100, 10000} {
		bench := newBench(b, vms)
		for _, c := range benchCalls {
			b.Run(fmt.Sprintf("%s/%d-VMs", strings.ReplaceAll(c.name, " ", "-"), vms), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.call(bench)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			})
		}
		bench.sim.Close()
	}
}

// bytesPerVM is what the state of a VM takes in memory.
func bytesPerVM(tb testing.TB, vms int) int64 {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	w := benchWorld(vms)
	before := heap()
	sim, err := New(w)
	if err != nil {
		tb.Fatal(err)
	}
	after := heap()
	sim.Close()
	return (after - before) / int64(vms)
}

// rates measures a call in both worlds, in turns, and takes the best of each:
// what else the machine does must not look like a difference.
func rates(c benchCall, small, large *bench) (a, z float64) {
	const rounds, slice = 12, 30 * time.Millisecond
	measure := func(b *bench) float64 {
		start, n := time.Now(), 0
		for n == 0 || time.Since(start) < slice {
			c.call(b)
			n++
		}
		return float64(n) / time.Since(start).Seconds()
	}
	for range rounds {
		a, z = max(a, measure(small)), max(z, measure(large))
	}
	return a, z
}

// BenchmarkTable prints what requests cost in a small and in a large world.
// It takes its own time: run it with -benchtime 1x.
func BenchmarkTable(b *testing.B) {
	small, large := newBench(b, 100), newBench(b, 10000)
	defer small.sim.Close()
	defer large.sim.Close()
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(out, "call\t100 VMs\t10,000 VMs\tratio\t\n")
	for _, c := range benchCalls {
		a, z := rates(c, small, large)
		name := c.name
		if c.list {
			name = "(list) " + name
		}
		fmt.Fprintf(out, "%s\t%.0f/s\t%.0f/s\t%.2f\t\n", name, a, z, a/z)
	}
	fmt.Fprintf(out, "memory of a VM\t%d B\t%d B\t\t\n", bytesPerVM(b, 100), bytesPerVM(b, 10000))
	out.Flush()
}

// TestTheCostOfARequestDoesNotGrowWithTheNumberOfVMs counts allocations: what
// looks at every VM nearly always makes some for each.
func TestTheCostOfARequestDoesNotGrowWithTheNumberOfVMs(t *testing.T) {
	small, large := newBench(t, 60), newBench(t, 1200)
	defer small.sim.Close()
	defer large.sim.Close()
	for _, c := range benchCalls {
		if c.list {
			continue
		}
		a := testing.AllocsPerRun(5, func() { c.call(small) })
		z := testing.AllocsPerRun(5, func() { c.call(large) })
		if z > a*1.2+20 {
			t.Errorf("%s: %.0f allocations with 60 VMs, %.0f with 1200", c.name, a, z)
		}
	}
}
