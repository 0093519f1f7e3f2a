package robustness

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// trace is what happened, in order.
type trace struct {
	start time.Time

	mu      sync.Mutex
	entries []*entry
}

// entry is a request, or something that was said.
type entry struct {
	at, done time.Duration // since the start
	who      string
	ours     bool
	method   string // empty: it isn't a request
	path     string
	query    string
	params   url.Values
	status   int
	answer   string // what was said beside the status, or what happened
	revert   string // what it is counted as, if it is a rollback
	left     bool   // whoever asked doesn't wait for the answer any more
}

func (e *entry) write() bool { return e.method != "" && e.method != http.MethodGet }

// vmid is the guest that a request is about; 0: none.
func (e *entry) vmid() int {
	_, rest, _ := strings.Cut(e.path, "/qemu/")
	id, _, _ := strings.Cut(rest, "/")
	n, err := strconv.Atoi(id)
	if err != nil {
		return 0
	}
	return n
}

// call is the last part of a request about a guest: "config", "status/stop".
func (e *entry) call() string {
	_, rest, _ := strings.Cut(e.path, "/qemu/")
	_, call, _ := strings.Cut(rest, "/")
	return call
}

func (e *entry) String() string {
	if e.method == "" {
		return fmt.Sprintf("%9.3f %-7s %s", e.at.Seconds(), e.who, e.answer)
	}
	answer := "no answer yet"
	if e.done > 0 {
		answer = fmt.Sprintf("%d %s (%.3fs)", e.status, e.answer, (e.done - e.at).Seconds())
	}
	return fmt.Sprintf("%9.3f %-7s %s %s%s → %s", e.at.Seconds(), e.who, e.method, e.path, paramText(e.query, e.params), answer)
}

func paramText(query string, params url.Values) string {
	var parts []string
	if query != "" {
		parts = append(parts, "?"+query)
	}
	keys := make([]string, 0, len(params))
	for k := range params {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		v := params.Get(k)
		if len(v) > 90 {
			v = v[:90] + "…"
		}
		parts = append(parts, fmt.Sprintf("%s=%q", k, v))
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, " ")
}

func (t *trace) now() time.Duration { return time.Since(t.start) }

func (t *trace) begin(w *wire, req *http.Request, body []byte) *entry {
	e := &entry{
		at: t.now(), who: w.who, ours: w.ours, method: req.Method,
		path: strings.TrimPrefix(req.URL.Path, "/api2/json"), query: req.URL.RawQuery,
	}
	if strings.HasPrefix(req.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		e.params, _ = url.ParseQuery(string(body))
	}
	if m := uploaded.FindSubmatch(body); m != nil {
		e.params = url.Values{"filename": {string(m[1])}}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = append(t.entries, e)
	return e
}

var uploaded = regexp.MustCompile(`filename="([^"]*)"`)

// leave notes that nobody waits for an answer any more.
func (t *trace) leave(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.left = true
}

func (t *trace) end(e *entry, res *http.Response, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.done = t.now()
	if err != nil {
		e.answer = err.Error()
		return
	}
	e.status = res.StatusCode
	if e.method == http.MethodGet && e.status == http.StatusOK && !e.log() {
		return
	}
	e.answer = bodyText(res, e.log())
}

// log reports whether it is a look at the log of a task, which says why that has failed.
func (e *entry) log() bool {
	return strings.Contains(e.path, "/tasks/") && strings.HasSuffix(e.path, "/log")
}

// bodyText is what an answer says, or the end of a log, without taking it away.
func bodyText(res *http.Response, log bool) string {
	b, err := io.ReadAll(res.Body)
	res.Body.Close()
	res.Body = io.NopCloser(strings.NewReader(string(b)))
	if err != nil {
		return err.Error()
	}
	text := strings.TrimSpace(string(b))
	const most = 200
	if log && len(text) > 2*most {
		text = "…" + text[len(text)-2*most:] // its end says what went wrong
	} else if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}

// underWay reports whether a change of ours to a machine is still to be answered.
func (t *trace) underWay(id int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.entries, func(e *entry) bool { return e.ours && e.write() && e.done == 0 && e.vmid() == id })
}

// say writes down something that isn't a request.
func (t *trace) say(who, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = append(t.entries, &entry{at: t.now(), done: t.now(), who: who, answer: fmt.Sprintf(format, args...)})
}

// around are the last entries up to now, without most of the reading.
func (t *trace) around(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for i := len(t.entries) - 1; i >= 0 && len(lines) < n; i-- {
		if e := t.entries[i]; e.method != http.MethodGet || e.status != http.StatusOK || e.log() || strings.Contains(e.path, "/qemu/") {
			lines = append(lines, e.String())
		}
	}
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}

// count counts the requests that the filter takes.
func (t *trace) count(filter func(*entry) bool) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, e := range t.entries {
		if e.method != "" && filter(e) {
			n++
		}
	}
	return n
}

var taskBegan = regexp.MustCompile(`UPID:[^"]+:`)

// tasks are the tasks that processes of ours began, and which process each.
func (t *trace) tasks() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	began := map[string]string{}
	for _, e := range t.entries {
		if e.ours && e.write() && e.status == http.StatusOK {
			began[taskBegan.FindString(e.answer)] = e.who
		}
	}
	delete(began, "")
	return began
}

// String is all that happened, to the nanosecond. What was said at the same instant
// has no order: nobody decides which of two goroutines is first.
func (t *trace) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := make([]string, len(t.entries))
	for i, e := range t.entries {
		lines[i] = fmt.Sprintf("%015d %s [%d %d]\n", e.at, e, e.at, e.done)
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
