package pvesim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
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
				w, err := LoadWorld(filepath.Join("world", session.world))
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
