package pvesim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/pvesim/world"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// TestExchanges plays the conversations in testdata/exchanges, which hold
// what Proxmox' sources say beyond what was recorded. A conversation is
//
//	world lab 9.2
//	# why
//	> root PUT /nodes/pve1/qemu/100/config memory=8
//	< 400 memory: value must have a minimum value of 16
//
// A request names who asks (root, another user or a token), and has its
// parameters as key=value, with %XX for what can't stand there; "json={…}" is
// a body, "filename=@os.qcow2" uploads an image. Its task is waited for, unless "&" comes last; "| a b" picks keys of
// the answer. "sleep 5s" lets time pass. Answers are the status, the reason
// or the texts by parameter, the data, and how the task ended. A world of both
// releases ("lab 9.2 8.4") is played twice; "<8" is 8.4's answer.
func TestExchanges(t *testing.T) {
	files, err := filepath.Glob("testdata/exchanges/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimRight(string(raw), "\n"), "\n")
			out := playFile(t, lines)
			if *golden.Update {
				if err := os.WriteFile(file, []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// playFile plays all conversations of a file and returns its lines with the
// answers that came.
func playFile(t *testing.T, lines []string) []string {
	var out []string
	for len(lines) > 0 {
		if !strings.HasPrefix(lines[0], "world ") {
			out, lines = append(out, lines[0]), lines[1:]
			continue
		}
		end := len(lines)
		if i := slices.IndexFunc(lines[1:], func(l string) bool { return strings.HasPrefix(l, "world ") }); i >= 0 {
			end = i + 1
		}
		words := strings.Fields(lines[0])
		var got [][]string
		for _, release := range words[2:] {
			synctest.Test(t, func(t *testing.T) {
				got = append(got, newTalk(t, words[1], release).play(lines[:end]))
			})
		}
		out = append(out, mergeReleases(lines[:end], got)...)
		lines = lines[end:]
	}
	return out
}

// mergeReleases writes a conversation with its answers: one line where the
// releases agree.
func mergeReleases(lines []string, got [][]string) []string {
	var out []string
	for i, line := range lines {
		if strings.HasPrefix(line, "<") {
			continue
		}
		out = append(out, line)
		if got[0][i] == "" {
			continue
		}
		out = append(out, "< "+got[0][i])
		if len(got) > 1 && got[1][i] != got[0][i] {
			out = append(out, "<8 "+got[1][i])
		}
	}
	return out
}

// talk is a conversation with one simulator.
type talk struct {
	t       *testing.T
	sim     *Sim
	http    *http.Client
	release string
	headers map[string]http.Header // by who asks
	vars    map[string]string
}

func newTalk(t *testing.T, world, release string) *talk {
	worlds := map[string]func(string) *World{"lab": labWorld, "town": town, "plain": plainWorld, "minority": minorityWorld, "wired": wiredWorld, "cards": cardsWorld}
	if worlds[world] == nil {
		t.Fatalf("there is no world %q", world)
	}
	sim, err := New(worlds[world](release), WithInternet(library{}))
	if err != nil {
		t.Fatal(err)
	}
	tr, stop := sim.Transport()
	t.Cleanup(func() { stop(); sim.Close() })
	return &talk{
		t: t, sim: sim, http: &http.Client{Transport: tr}, release: release,
		headers: map[string]http.Header{"none": {}}, vars: map[string]string{},
	}
}

// library is an Internet with images, but for paths that say that there is none.
type library struct{ BootableImages }

func (l library) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.BootableImages.RoundTrip(r)
	if strings.HasPrefix(r.URL.Path, "/gone") {
		res.StatusCode, res.Status = http.StatusNotFound, "404 Not Found"
	}
	return res, err
}

// minorityWorld is a cluster of which most is down.
func minorityWorld(release string) *World {
	w := town(release)
	w.Nodes[1].State = Offline
	w.Guests = []WorldGuest{{ID: 100, Node: "pve1", Running: true}, {ID: 101, Node: "pve1"}}
	return w
}

// plainWorld is the one in which the recordings start, without its timing.
func plainWorld(release string) *World {
	w, err := LoadWorld("world/recorded.yaml")
	if err != nil {
		panic(err)
	}
	w.Release, w.Timing = release, Timing{}
	w.Users[0].Password = "secret"
	return w
}

// wiredWorld has network cards, some of which are in use.
func wiredWorld(release string) *World {
	w := plainWorld(release)
	n := &w.Nodes[0]
	n.NICs, n.Bonds = []string{"eno1", "eno2", "enp5s0", "eno4"}, []world.Bond{{Name: "bond0", Slaves: []string{"eno2", "enp5s0"}, Mode: "active-backup"}}
	n.Bridges[0].Ports, n.Bridges[1].Ports = []string{"eno1"}, []string{"bond0"}
	return w
}

// cardsWorld has hosts with PCI devices.
func cardsWorld(release string) *World {
	w := town(release)
	w.Nodes[0].PCI = map[string]string{"0000:01:00.0": "10de:2204", "0000:01:00.1": "10de:1aef", "0000:02:00.0": "10de:2204"}
	w.Nodes[1].PCI = map[string]string{"0000:41:00.0": "10de:2204"}
	return w
}

// play sends the requests and gives the answer to each, by line.
func (k *talk) play(lines []string) []string {
	got := make([]string, len(lines))
	for i, line := range lines {
		if d, ok := strings.CutPrefix(line, "sleep "); ok {
			nap, err := time.ParseDuration(d)
			if err != nil {
				k.t.Fatalf("line %q: %v", line, err)
			}
			time.Sleep(nap)
		}
		if words := strings.Fields(line); len(words) == 3 && words[0] == "maintenance" {
			if err := k.sim.Maintenance(words[1], words[2] == "on"); err != nil {
				k.t.Fatalf("line %q: %v", line, err)
			}
		}
		request, ok := strings.CutPrefix(line, "> ")
		if !ok {
			continue
		}
		got[i] = k.ask(request)
		if want := k.expected(lines[i+1:]); want != got[i] && !*golden.Update {
			k.t.Errorf("%s: %s\n got: %s\nwant: %s", k.release, request, got[i], want)
		}
	}
	return got
}

// expected is the answer that stands after a request.
func (k *talk) expected(rest []string) string {
	want := ""
	for _, line := range rest {
		if text, ok := strings.CutPrefix(line, "< "); ok {
			want = text
		} else if text, ok := strings.CutPrefix(line, "<8 "); ok {
			if k.release == "8.4" {
				want = text
			}
		} else {
			break
		}
	}
	return want
}

func (k *talk) ask(line string) string {
	k.t.Helper()
	line, pick, _ := strings.Cut(line, " | ")
	line, background := strings.CutSuffix(line, " &")
	words := strings.Fields(line)
	if len(words) < 3 {
		k.t.Fatalf("%q is no request", line)
	}
	who, method, path := words[0], words[1], words[2]
	for name, value := range k.vars {
		path = strings.ReplaceAll(path, "$"+name, url.PathEscape(value))
	}
	status, reason, body := k.send(who, method, path, words[3:])
	var in struct {
		Data    any
		Total   any
		Errors  map[string]string
		Message string
	}
	if len(body) > 0 && json.Unmarshal(body, &in) != nil {
		return fmt.Sprintf("%d %s %q", status, reason, body)
	}
	if status != http.StatusOK {
		return k.failure(status, reason, in.Message, in.Errors)
	}
	k.learn(in.Data)
	upid, isTask := in.Data.(string)
	if isTask = isTask && strings.HasPrefix(upid, "UPID:"); isTask {
		k.vars["TASK"] = upid
		if background {
			return "200 task"
		}
		return "200 task " + k.wait(upid)
	}
	text := fmt.Sprint(status)
	if data := shown(in.Data, strings.Fields(pick)); data != "null" {
		text += " " + data
	}
	if in.Total != nil {
		text += fmt.Sprintf(" total %v", in.Total)
	}
	return text
}

func (k *talk) failure(status int, reason, message string, errs map[string]string) string {
	text := fmt.Sprintf("%d %s", status, reason)
	if reason == "Parameter verification failed." {
		text = fmt.Sprint(status)
	} else if full := strings.TrimSuffix(message, "\n"); full != reason && full != "" {
		text += fmt.Sprintf(" (%q)", full)
	}
	var fields []string
	for _, name := range sortedKeys(errs) {
		fields = append(fields, name+": "+strings.ReplaceAll(strings.TrimSuffix(errs[name], "\n"), "\n", "\\n"))
	}
	return strings.TrimSuffix(text+" "+strings.Join(fields, "; "), " ")
}

// wait waits for a task; how it ended, and its warnings.
func (k *talk) wait(upid string) string {
	k.sim.mu.Lock()
	running := k.sim.running[upid]
	k.sim.mu.Unlock()
	if running != nil {
		<-running.ended
	}
	k.sim.mu.Lock()
	defer k.sim.mu.Unlock()
	info := k.sim.byUPID[upid]
	text := info.Exit
	for _, line := range info.Log {
		if strings.HasPrefix(line, "WARN: ") {
			text += fmt.Sprintf(" (%s)", line)
		}
	}
	return text
}

// learn remembers the secrets of new tokens.
func (k *talk) learn(data any) {
	m, _ := data.(map[string]any)
	if id, ok := m["full-tokenid"].(string); ok {
		k.headers[id] = http.Header{"Authorization": {fmt.Sprintf("PVEAPIToken=%s=%s", id, m["value"])}}
	}
}

// shown is data as one line, with the picked keys only.
func shown(data any, pick []string) string {
	if len(pick) > 0 {
		data = picked(data, pick)
	}
	b := &bytes.Buffer{}
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(data); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// picked leaves only some keys; lists are sorted by what is left.
func picked(data any, pick []string) any {
	switch v := data.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, key := range pick {
			if value, ok := v[key]; ok {
				out[key] = value
			}
		}
		return out
	case []any:
		var out []any
		for _, item := range v {
			out = append(out, picked(item, pick))
		}
		slices.SortFunc(out, func(a, b any) int { return strings.Compare(shown(a, nil), shown(b, nil)) })
		return out
	}
	return data
}

func (k *talk) send(who, method, path string, params []string) (status int, reason string, body []byte) {
	k.t.Helper()
	var pairs []string
	ctype, payload := multipartBody(k.t, params)
	if payload != "" {
		params = nil
	} else {
		ctype = "application/x-www-form-urlencoded"
	}
	for _, p := range params {
		if text, ok := strings.CutPrefix(p, "json="); ok {
			ctype, payload = "application/json", text
			continue
		}
		key, value, _ := strings.Cut(p, "=")
		plain, err := url.PathUnescape(value)
		if err != nil {
			k.t.Fatalf("parameter %q: %v", p, err)
		}
		pairs = append(pairs, url.QueryEscape(key)+"="+url.QueryEscape(plain))
	}
	target := "http://pve/api2/json" + path
	if len(pairs) > 0 {
		payload = strings.Join(pairs, "&")
		if method == http.MethodGet || method == http.MethodDelete {
			target, payload = target+"?"+payload, ""
		}
	}
	req, err := http.NewRequest(method, target, strings.NewReader(payload))
	if err != nil {
		k.t.Fatal(err)
	}
	req.Header = k.header(who).Clone()
	if payload != "" {
		req.Header.Set("Content-Type", ctype)
	}
	resp, err := k.http.Do(req)
	if err != nil {
		return 0, "no answer", nil
	}
	defer resp.Body.Close()
	body, _ = io.ReadAll(resp.Body)
	return resp.StatusCode, strings.TrimSpace(strings.TrimLeft(resp.Status, "0123456789")), body
}

// header logs somebody in, by the name before the realm or in full.
func (k *talk) header(who string) http.Header {
	if h := k.headers[who]; h != nil {
		return h
	}
	user := map[string]string{"root": "root@pam"}[who]
	if user == "" {
		user = who
		if !strings.Contains(who, "@") {
			user += "@pve"
		}
	}
	v := (&office{t: k.t, sim: k.sim, http: k.http}).login(user, k.password(user))
	k.headers[who] = v.header
	return v.header
}

// password is that of a user as it is now.
func (k *talk) password(user string) (text string) {
	k.sim.Do(func(st *State) {
		if u := st.Access.Users[user]; u != nil {
			text = u.Password
		}
	})
	return text
}
