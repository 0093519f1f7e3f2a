package pvesim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/test/kit/golden"
)

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
