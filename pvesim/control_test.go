package pvesim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/pvesim/access"
)

// browser sends requests to a simulator as a plain HTTP client.
type browser struct {
	t      *testing.T
	sim    *Sim
	client *http.Client
	header http.Header
}

func newBrowser(t *testing.T, sim *Sim) *browser {
	tr, stop := sim.Transport()
	t.Cleanup(stop)
	b := &browser{t: t, sim: sim, client: &http.Client{Transport: tr}, header: http.Header{}}
	sim.Do(func(st *State) {
		st.Access.Users["root@pam"].Tokens = map[string]*access.Token{"test": {Secret: "secret-of-the-token"}}
	})
	b.header.Set("Authorization", "PVEAPIToken=root@pam!test=secret-of-the-token")
	return b
}

func (b *browser) do(method, path, ctype, body string) (status int, reason, text string, err error) {
	req, err := http.NewRequest(method, "http://sim"+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header = b.header.Clone()
	if ctype != "" {
		req.Header.Set("Content-Type", ctype)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return 0, "", "", err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	return resp.StatusCode, strings.TrimPrefix(resp.Status, fmt.Sprint(resp.StatusCode, " ")), string(out), err
}

func (b *browser) get(path string) (int, string) {
	b.t.Helper()
	status, _, text, err := b.do("GET", path, "", "")
	if err != nil {
		b.t.Fatal(err)
	}
	return status, text
}

func startSim(t *testing.T, w *World, opts ...Option) (*Sim, *browser) {
	t.Helper()
	sim, err := New(w, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sim.Close() })
	return sim, newBrowser(t, sim)
}

func quietWorld() *World {
	w := DefaultWorld()
	w.Timing, w.Load = Timing{}, Load{}
	return w
}

func TestFaultsAnswerDropAndDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, b := startSim(t, quietWorld())
		const path = "/api2/json/nodes/pve1/qemu"
		id, err := sim.AddFault(Fault{Method: "GET", Path: "/nodes/*/qemu", Status: 595, Reason: "No route to host", Nth: 2})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{200, 595, 200} {
			if got, _ := b.get(path); got != want {
				t.Errorf("request %d: status %d, want %d", i+1, got, want)
			}
		}
		sim.RemoveFault(id)
		sim.AddFault(Fault{Path: "/nodes/**", Drop: "after", Times: 1})
		if _, _, _, err := b.do("POST", path, "application/x-www-form-urlencoded", "vmid=150"); err == nil {
			t.Error("a dropped request has an answer")
		}
		sim.Do(func(st *State) {
			if st.VMs[150] == nil && len(st.Tasks["pve1"]) == 0 {
				t.Error("dropped after doing it, but it wasn't done")
			}
		})
		sim.AddFault(Fault{Path: "/version", Delay: Duration(time.Minute), Times: 1})
		start := time.Now()
		b.get("/api2/json/version")
		if took := time.Since(start); took != time.Minute {
			t.Errorf("a request delayed by a minute took %v", took)
		}
	})
}

func TestADelayedRequestEndsWithTheSimulator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, err := New(quietWorld())
		if err != nil {
			t.Fatal(err)
		}
		sim.AddFault(Fault{Path: "/version", Delay: Duration(time.Minute)})
		ended := make(chan any)
		go func() {
			defer func() { ended <- recover() }()
			sim.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/api2/json/version", nil))
		}()
		time.Sleep(time.Second)
		sim.Close()
		if got := <-ended; got != any(http.ErrAbortHandler) {
			t.Errorf("it ended with %v", got)
		}
	})
}

func TestFaultsMakeTasksLie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, b := startSim(t, quietWorld())
		for i, f := range []Fault{
			{Task: "qmstart", Error: "no power"},                // fails and did nothing
			{Task: "qmstart", Error: "no power", Mode: "after"}, // fails and did it
			{Task: "qmstart"}, // says OK and did nothing
		} {
			vmid := 200 + i
			b.do("POST", "/api2/json/nodes/pve1/qemu", "application/x-www-form-urlencoded", fmt.Sprint("vmid=", vmid))
			synctest.Wait()
			sim.RemoveFault(0)
			if _, err := sim.AddFault(f); err != nil {
				t.Fatal(err)
			}
			b.do("POST", fmt.Sprintf("/api2/json/nodes/pve1/qemu/%d/status/start", vmid), "", "")
			synctest.Wait()
			sim.Do(func(st *State) {
				list := st.Tasks["pve1"]
				task := list[len(list)-1]
				if want := map[bool]string{true: "no power", false: "OK"}[f.Error != ""]; task.Exit != want {
					t.Errorf("case %d: exit %q, want %q", i, task.Exit, want)
				}
				if runs, want := st.VMs[vmid].Run != nil, f.Mode == "after"; runs != want {
					t.Errorf("case %d: it runs is %v, want %v", i, runs, want)
				}
			})
		}
	})
}

func TestProbabilitiesDependOnTheSeedAlone(t *testing.T) {
	run := func(seed uint64) string {
		sim, b := startSim(t, quietWorld(), WithSeed(seed))
		sim.AddFault(Fault{Path: "/version", Status: 500, Probability: 0.5})
		var out strings.Builder
		for range 64 {
			status, _ := b.get("/api2/json/version")
			fmt.Fprint(&out, status == 200, " ")
		}
		return out.String()
	}
	first := run(7)
	if first != run(7) {
		t.Error("the same seed gives another history")
	}
	if first == run(8) {
		t.Error("another seed gives the same history")
	}
	if hits := strings.Count(first, "false"); hits < 16 || hits > 48 {
		t.Errorf("%d of 64 requests were hit by a probability of one half", hits)
	}
}

func TestNodesGoAwayAndComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, b := startSim(t, quietWorld())
		sim.AddFault(Fault{Path: "/version", Away: "pve2", For: Duration(time.Minute), Times: 1})
		b.get("/api2/json/version")
		status, reason, _, _ := b.do("GET", "/api2/json/nodes/pve2/status", "", "")
		if status != 595 || reason != "No route to host" {
			t.Errorf("a node that is away answers %d %q", status, reason)
		}
		time.Sleep(2 * time.Minute)
		if status, _ := b.get("/api2/json/nodes/pve2/status"); status != 200 {
			t.Errorf("after it came back: %d", status)
		}
	})
}

func TestTheRequestLogKeepsNoSecrets(t *testing.T) {
	var log bytes.Buffer
	_, b := startSim(t, quietWorld(), WithLog(&log))
	b.do("POST", "/api2/json/access/ticket", "application/json", `{"username":"root@pam","password":"proxplane"}`)
	b.do("POST", "/api2/json/access/ticket", "application/x-www-form-urlencoded", "username=root@pam&password=proxplane")
	b.do("PUT", "/api2/json/nodes/pve1/qemu/9000/config", "application/x-www-form-urlencoded", "cipassword=hunter2hunter2")
	if lines := strings.Count(log.String(), "\n"); lines != 3 {
		t.Errorf("%d lines for 3 requests", lines)
	}
	for _, secret := range []string{`"proxplane"`, "hunter2", "secret-of-the-token"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %s:\n%s", secret, log.String())
		}
	}
}

func TestControlPathsChangeTheSimulator(t *testing.T) {
	sim, b := startSim(t, quietWorld())
	status, _, text, _ := b.do("POST", "/sim/faults", "", `{"path":"/version","status":503,"reason":"no"}`)
	if status != 200 || !strings.Contains(text, `"id":1`) {
		t.Fatalf("adding a fault: %d %s", status, text)
	}
	if got, _ := b.get("/api2/json/version"); got != 503 {
		t.Errorf("the fault gives %d", got)
	}
	if status, _, text, _ := b.do("POST", "/sim/faults", "", `{"pth":"/version"}`); status != 400 || !strings.Contains(text, "pth") {
		t.Errorf("a fault with a wrong field: %d %s", status, text)
	}
	if status, _, _, _ := b.do("DELETE", "/sim/faults", "", ""); status != 200 || len(sim.Faults()) != 0 {
		t.Errorf("removing all faults: %d, %d left", status, len(sim.Faults()))
	}
	before := sim.Now()
	b.do("POST", "/sim/clock", "", `{"advance":"2h"}`)
	if moved := sim.Now().Sub(before); moved < 2*time.Hour {
		t.Errorf("the clock moved by %v", moved)
	}
	if _, text := b.get("/sim/requests?after=0"); !strings.Contains(text, `"status":503`) {
		t.Errorf("the log doesn't show the request: %s", text)
	}
}

// waitTasks waits until no task runs.
func waitTasks(t *testing.T, sim *Sim) {
	t.Helper()
	for {
		var ended chan struct{}
		sim.mu.Lock()
		for _, task := range sim.running {
			ended = task.ended
		}
		sim.mu.Unlock()
		if ended == nil {
			return
		}
		<-ended
	}
}

func TestEveryWorldCanBeBuilt(t *testing.T) {
	files, err := filepath.Glob("world/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no worlds", err)
	}
	for _, file := range files {
		w, err := LoadWorld(file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for _, release := range []string{"9.2", "8.4"} {
			w.Release = release
			sim, err := New(w)
			if err != nil {
				t.Errorf("%s as %s: %v", file, release, err)
				continue
			}
			sim.Close()
		}
	}
}

func TestWorldsWithMistakesSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		"nodez: []":                      "nodez",
		"nodes: [{name: a}, {name: a}]":  "twice",
		"nodes: [{name: a, state: ill}]": "ill",
		"guests: [{id: 100, node: b}]":   `"b"`,
		"timing: {start: soon}":          "soon",
		"faults: [{drop: sometimes}]":    "sometimes",
		"dhcp: {range: here}":            "here",
		"release: \"7.0\"":               "7.0",
		"nodes: [{name: a, nics: [eno1], bridges: [{name: vmbr0, ports: [eno2]}]}]":                                         `bridge vmbr0: there is no network card "eno2"`,
		"nodes: [{name: a, nics: [eno1], bridges: [{name: vmbr0, ports: [eno1]}, {name: vmbr1, ports: [eno1]}]}]":           "bridge vmbr1: eno1 is a port of bridge vmbr0",
		"nodes: [{name: a, nics: [eno1], bonds: [{name: b, slaves: [eno1]}]}]":                                              `bond "b"`,
		"users: [{id: root@pam, password: x, sshKeys: [nonsense]}]":                                                         `"nonsense" is no SSH key`,
		"users: [{id: a@pve, sshKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPm4rM4P9lUu3RS4zUwVWKUVY3m7nPuHqL0TyZ0bH8pI]}]": "realm pam",
	} {
		w, err := ParseWorld([]byte(text))
		if err == nil {
			_, err = New(w)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to name %s", text, err, want)
		}
	}
}

func TestWorkersAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quietWorld()
		w.Timing.Request, w.Load.Workers = Duration(time.Second), 3
		_, b := startSim(t, w)
		start, done := time.Now(), make(chan bool)
		for range 9 {
			go func() {
				b.get("/api2/json/version")
				done <- true
			}()
		}
		for range 9 {
			<-done
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("nine requests of a second took %v with three workers", took)
		}
	})
}

func TestListsShowTheLastStatusRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quietWorld()
		w.Load.StatusRound = Duration(10 * time.Second)
		_, b := startSim(t, w)
		b.do("POST", "/api2/json/nodes/pve1/qemu", "application/x-www-form-urlencoded", "vmid=150&name=fresh")
		synctest.Wait()
		entry := func() map[string]any {
			_, text := b.get("/api2/json/cluster/resources?type=vm")
			var out struct{ Data []map[string]any }
			if err := json.Unmarshal([]byte(text), &out); err != nil {
				t.Fatal(err)
			}
			for _, e := range out.Data {
				if e["vmid"] == 150.0 {
					return e
				}
			}
			return nil
		}
		if e := entry(); e == nil || e["status"] != "unknown" || e["name"] != nil {
			t.Errorf("right after it was made: %v", e)
		}
		time.Sleep(11 * time.Second)
		if e := entry(); e["status"] != "stopped" || e["name"] != "fresh" {
			t.Errorf("after the next round: %v", e)
		}
	})
}

func TestTheRequestLogCanBeWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b := startSim(t, quietWorld())
		answer := make(chan string)
		go func() {
			_, text := b.get("/sim/requests?after=1&until=2")
			answer <- text
		}()
		for _, path := range []string{"/api2/json/version", "/api2/json/nodes"} {
			synctest.Wait()
			select {
			case text := <-answer:
				t.Fatalf("it didn't wait for %s: %s", path, text)
			default:
			}
			b.get(path)
		}
		if text := <-answer; !strings.Contains(text, `"count":2`) || !strings.Contains(text, "/nodes") || strings.Contains(text, "/version") {
			t.Error(text)
		}
		if status, text := b.get("/sim/requests?until=soon"); status != http.StatusBadRequest || !strings.Contains(text, "until") {
			t.Error(status, text)
		}
	})
}
