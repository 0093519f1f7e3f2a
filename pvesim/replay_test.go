package pvesim

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	replayOnly = flag.String("replay.only", "", "show the mismatches of the recordings whose names contain this")
	replayAll  = flag.Bool("replay.v", false, "show all mismatches")
)

// The recordings run in three sessions, each on a fresh world.
var replaySessions = []struct {
	name, world string
	from, to    string
}{
	{"plain", "recorded.yaml", "01", "24"},
	{"guest", "recorded-guest.yaml", "30", "41"},
	{"cluster", "recorded-cluster.yaml", "50", "50"},
}

// TestRecordings replays what a real Proxmox VE was asked and compares the
// answers. testdata/mismatches.txt names each step that differs, and why.
func TestRecordings(t *testing.T) {
	files, err := filepath.Glob("testdata/recordings/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	known := readKnownMismatches(t)
	server := recordingFileServer(t)
	steps, matched := 0, 0
	for _, session := range replaySessions {
		t.Run(session.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, err := LoadWorld(filepath.Join("worlds", session.world))
				if err != nil {
					t.Fatal(err)
				}
				sim, err := New(w)
				if err != nil {
					t.Fatal(err)
				}
				defer sim.Close()
				tr, stop := sim.Transport()
				defer stop()
				r := &replayer{t: t, http: &http.Client{Transport: tr}, passwords: map[string]string{"root@pam": "proxplane"},
					tickets: map[string][2]string{}, vars: map[string]any{"password": "proxplane", "fileserver": server}}
				for _, file := range files {
					base := strings.TrimSuffix(filepath.Base(file), ".jsonl")
					if base[:2] < session.from || base[:2] > session.to {
						continue
					}
					n, m := r.file(file, base, known)
					steps, matched = steps+n, matched+m
				}
			})
		})
	}
	t.Logf("%d of %d steps match (%.1f%%)", matched, steps, 100*float64(matched)/float64(steps))
	if steps > 0 && float64(matched) < 0.97*float64(steps) {
		t.Errorf("%d of %d steps match; at least 97%% must", matched, steps)
	}
	for step := range known {
		if !known[step] {
			t.Errorf("mismatches.txt names %s, which matches", step)
		}
	}
}

// readKnownMismatches reads "FILE STEP: reason" lines; the value becomes
// true when the step was seen to differ.
func readKnownMismatches(t *testing.T) map[string]bool {
	b, err := os.ReadFile("testdata/mismatches.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		step, reason, ok := strings.Cut(line, ": ")
		if !ok || reason == "" {
			t.Fatalf("mismatches.txt: %q has no reason", line)
		}
		known[step] = false
	}
	return known
}

// replayStep is one line of a recording.
type replayStep struct {
	Step       int               `json:"step"`
	Case       string            `json:"case"`
	As         string            `json:"as"`
	Method     string            `json:"method"`
	Path       string            `json:"path"`
	Params     map[string]any    `json:"params"`
	Raw        *replayRaw        `json:"raw"`
	Status     int               `json:"status"`
	Reason     string            `json:"reason"`
	Body       any               `json:"body"`
	WaitTask   *replayTask       `json:"wait_task"`
	Save       map[string]string `json:"save"`
	Eventually float64           `json:"eventually"`
	Sleep      float64           `json:"sleep"`
}

type replayRaw struct {
	Base      *string           `json:"base"`
	Headers   map[string]string `json:"headers"`
	Body      any               `json:"body"`
	Multipart *struct {
		Fields [][2]string `json:"fields"`
		File   struct {
			Name    string `json:"name"`
			Field   string `json:"field"`
			Content any    `json:"content"`
			Gzip64  string `json:"gzip64"`
		} `json:"file"`
	} `json:"multipart"`
}

type replayTask struct {
	Exit *string  `json:"exitstatus"`
	Log  []string `json:"log_tail"`
}

// replayer is the client that repeats the recorded requests.
type replayer struct {
	t         *testing.T
	http      *http.Client
	passwords map[string]string
	tickets   map[string][2]string
	vars      map[string]any
}

func (r *replayer) file(path, base string, known map[string]bool) (steps, matched int) {
	f, err := os.Open(path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()
	var list []*replayStep
	in := bufio.NewScanner(f)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		dec := json.NewDecoder(bytes.NewReader(in.Bytes()))
		dec.UseNumber()
		s := &replayStep{}
		if err := dec.Decode(s); err != nil {
			r.t.Fatalf("%s: %v", base, err)
		}
		list = append(list, s)
	}
	norm := newNormalizer(list)
	for _, s := range list {
		bad := r.step(s, norm)
		steps++
		if len(bad) == 0 {
			matched++
			continue
		}
		id := fmt.Sprintf("%s %d", base, s.Step)
		_, listed := known[id]
		known[id] = true
		if *replayAll || *replayOnly != "" && strings.Contains(base, *replayOnly) || !listed {
			r.t.Logf("%s [%s] %s %s: %s", id, s.Case, s.Method, s.Path, strings.Join(bad, "; "))
		}
		if !listed {
			r.t.Errorf("%s doesn't match and isn't listed in testdata/mismatches.txt", id)
		}
	}
	if *replayOnly == "" || strings.Contains(base, *replayOnly) {
		r.t.Logf("%s: %d/%d", base, matched, steps)
	}
	return steps, matched
}

// step does one step, with its waiting; it returns what differs.
func (r *replayer) step(s *replayStep, norm *normalizer) []string {
	time.Sleep(time.Duration(s.Sleep * float64(time.Second)))
	end := time.Now().Add(time.Duration(s.Eventually * float64(time.Second)))
	for {
		status, reason, body := r.request(s)
		var task *replayTask
		if upid, ok := upidOf(body); ok && s.WaitTask != nil && status == 200 {
			task = r.waitTask(upid)
		}
		bad := norm.compare(s, status, reason, body, task)
		if len(bad) == 0 || !time.Now().Before(end) {
			return bad
		}
		time.Sleep(time.Second)
	}
}

func upidOf(body any) (string, bool) {
	m, _ := body.(map[string]any)
	u, _ := m["data"].(string)
	return u, strings.HasPrefix(u, "UPID:")
}

func (r *replayer) waitTask(upid string) *replayTask {
	node := strings.Split(upid, ":")[1]
	base := "/nodes/" + node + "/tasks/" + url.PathEscape(upid)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		status, _, body := r.request(&replayStep{As: "root", Method: "GET", Path: base + "/status"})
		data, _ := body.(map[string]any)["data"].(map[string]any)
		if status != 200 || data["status"] != "stopped" {
			continue
		}
		out := &replayTask{}
		if exit, ok := data["exitstatus"].(string); ok {
			out.Exit = &exit
		}
		_, _, body = r.request(&replayStep{As: "root", Method: "GET", Path: base + "/log", Params: map[string]any{"limit": "500"}})
		lines, _ := body.(map[string]any)["data"].([]any)
		for _, l := range lines {
			text, _ := l.(map[string]any)["t"].(string)
			out.Log = append(out.Log, text)
		}
		return out
	}
	return nil
}

var replayVar = regexp.MustCompile(`\$\{([^}]+)\}`)

// subst puts saved values into a text.
func (r *replayer) subst(text string) string {
	return replayVar.ReplaceAllStringFunc(text, func(m string) string {
		name, mod, _ := strings.Cut(m[2:len(m)-1], "|")
		v, ok := r.vars[name]
		if !ok {
			return m
		}
		if mod == "url" {
			return url.QueryEscape(fmt.Sprint(v))
		}
		return fmt.Sprint(v)
	})
}

// expand makes {"$fill":"a","n":9000} the long text it stands for.
func expand(v any) string {
	if m, ok := v.(map[string]any); ok {
		if fill, ok := m["$fill"].(string); ok {
			n, _ := m["n"].(json.Number).Int64()
			tail, _ := m["tail"].(string)
			return strings.Repeat(fill, int(n)) + tail
		}
	}
	switch v := v.(type) {
	case bool:
		if v {
			return "True"
		}
		return "False"
	case nil:
		return "None"
	}
	return fmt.Sprint(v)
}

func (r *replayer) form(params map[string]any) string {
	var parts []string
	for _, k := range slices.Sorted(mapKeys(params)) {
		list, ok := params[k].([]any)
		if !ok {
			list = []any{params[k]}
		}
		for _, v := range list {
			parts = append(parts, url.QueryEscape(k)+"="+url.QueryEscape(r.subst(expand(v))))
		}
	}
	return strings.Join(parts, "&")
}

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// request sends one recorded request.
func (r *replayer) request(s *replayStep) (status int, reason string, body any) {
	base, header := "/api2/json", http.Header{}
	var payload []byte
	hasBody := false
	path := r.subst(s.Path)
	if s.Raw != nil {
		if s.Raw.Base != nil {
			base = *s.Raw.Base
		}
		for k, v := range s.Raw.Headers {
			header[textproto.CanonicalMIMEHeaderKey(k)] = []string{r.subst(v)}
		}
	}
	switch {
	case s.Raw != nil && s.Raw.Multipart != nil:
		payload, hasBody = r.multipart(s.Raw, header), true
	case s.Raw != nil && s.Raw.Body != nil:
		payload, hasBody = []byte(r.subst(expand(s.Raw.Body))), true
	case s.Params != nil:
		q := r.form(s.Params)
		if s.Method == "GET" || s.Method == "DELETE" || s.Method == "HEAD" {
			if q != "" {
				path += "?" + q
			}
			break
		}
		payload, hasBody = []byte(q), true
		if header.Get("Content-Type") == "" {
			header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
	}
	r.auth(s, header)
	req, err := http.NewRequest(s.Method, "http://pve1", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	raw := base + path
	u, query, _ := strings.Cut(raw, "?")
	req.URL.Opaque = u
	req.URL.RawQuery = query
	req.Host = "pve1"
	if strings.HasPrefix(u, "//") || strings.HasPrefix(u, "/") {
		req.URL = &url.URL{Scheme: "http", Host: "pve1", Opaque: "//pve1" + u, RawQuery: query}
	}
	req.Header = header
	if hasBody {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(payload)), int64(len(payload))
		if len(payload) == 0 {
			req.Body = http.NoBody
		}
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return 0, "no answer: " + err.Error(), nil
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	reason = strings.TrimPrefix(strings.TrimPrefix(resp.Status, fmt.Sprint(resp.StatusCode)), " ")
	if len(data) > 0 {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if dec.Decode(&body) != nil {
			body = string(data)
		}
	}
	r.learn(s, resp.StatusCode, body)
	return resp.StatusCode, reason, body
}

func (r *replayer) multipart(raw *replayRaw, header http.Header) []byte {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	w.SetBoundary("----replayboundary")
	header.Set("Content-Type", "multipart/form-data; boundary=----replayboundary")
	for _, f := range raw.Multipart.Fields {
		w.WriteField(f[0], f[1])
	}
	file := raw.Multipart.File
	field := file.Field
	if field == "" {
		field = "filename"
	}
	part, _ := w.CreateFormFile(field, file.Name)
	if file.Gzip64 != "" {
		zipped, _ := base64.StdEncoding.DecodeString(file.Gzip64)
		z, err := gzip.NewReader(bytes.NewReader(zipped))
		if err != nil {
			r.t.Fatal(err)
		}
		io.Copy(part, z)
	} else {
		var latin []byte
		for _, c := range expand(file.Content) {
			latin = append(latin, byte(c))
		}
		part.Write(latin)
	}
	w.Close()
	return b.Bytes()
}

// auth adds the credentials of whom the step is sent as.
func (r *replayer) auth(s *replayStep, h http.Header) {
	if name, ok := strings.CutPrefix(s.As, "token:"); ok {
		if _, given := h["Authorization"]; !given {
			value, ok := r.vars[s.As]
			if !ok {
				value = "unknown@pam!unknown=0"
			}
			h.Set("Authorization", fmt.Sprintf("PVEAPIToken=%v", value))
		}
		_ = name
		return
	}
	if s.As == "none" {
		return
	}
	user := "root@pam"
	if u, ok := strings.CutPrefix(s.As, "user:"); ok {
		user = u
	}
	t, ok := r.tickets[user]
	if !ok {
		_, _, body := r.request(&replayStep{As: "none", Method: "POST", Path: "/access/ticket",
			Params: map[string]any{"username": user, "password": r.passwords[user]}})
		m, _ := body.(map[string]any)
		data, _ := m["data"].(map[string]any)
		ticket, _ := data["ticket"].(string)
		csrf, _ := data["CSRFPreventionToken"].(string)
		if ticket == "" {
			return
		}
		t = [2]string{ticket, csrf}
		r.tickets[user] = t
	}
	if _, given := h["Cookie"]; !given {
		h.Set("Cookie", "PVEAuthCookie="+url.QueryEscape(t[0]))
	}
	if _, given := h[textproto.CanonicalMIMEHeaderKey("CSRFPreventionToken")]; !given && s.Method != "GET" {
		h.Set("CSRFPreventionToken", t[1])
	}
}

// learn keeps what later steps need: tokens, passwords, saved values.
func (r *replayer) learn(s *replayStep, status int, body any) {
	m, ok := body.(map[string]any)
	if status != 200 || !ok {
		return
	}
	if d, ok := m["data"].(map[string]any); ok && d["full-tokenid"] != nil && d["value"] != nil {
		r.vars[fmt.Sprint("token:", d["full-tokenid"])] = fmt.Sprintf("%v=%v", d["full-tokenid"], d["value"])
	}
	if s.Method == "POST" && s.Path == "/access/users" && s.Params["password"] != nil {
		user := fmt.Sprint(s.Params["userid"])
		r.passwords[user] = fmt.Sprint(s.Params["password"])
		delete(r.tickets, user)
	}
	for name, where := range s.Save {
		var v any = m
		for _, k := range strings.Split(where, ".") {
			vm, _ := v.(map[string]any)
			v = vm[k]
		}
		r.vars[name] = v
	}
}

// recordingFileServer serves what the download steps fetch. It lives
// outside of the bubbles of virtual time.
func recordingFileServer(t *testing.T) string {
	files := map[string][]byte{"/dl.iso": bytes.Repeat([]byte("iso"), 1000), "/disk.qcow2": emptyQcow2(64)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		ctype := "application/octet-stream"
		if strings.HasSuffix(r.URL.Path, ".iso") {
			ctype = "application/x-iso9660-image"
		}
		w.Header().Set("Content-Type", ctype)
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		w.Write(data)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}
