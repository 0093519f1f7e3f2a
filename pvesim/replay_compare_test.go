package pvesim

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// The rules by which two answers count as the same: values that change from
// run to run are compared by their type or not at all, everything else
// counts.

func words(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

var (
	// figures are compared by their JSON type only
	volatile = words(`cpu mem disk diskread diskwrite netin netout uptime pid pstart starttime endtime ctime mtime snaptime memhost
		used avail total free used_fraction time port vncport uid pri loadavg pressurecpusome pressurecpufull pressureiosome pressureiofull
		pressurememorysome pressurememoryfull`)
	secret = words("ticket CSRFPreventionToken ssl_fingerprint fingerprint repoid kversion pveversion")
	// of the host: only in objects that are not a guest
	volatileHost = words("maxmem maxcpu maxdisk level")
	subtree      = words("blockstat ballooninfo nics proxmox-support")
	optional     = words("freemem")
	versioned    = words("running-machine running-qemu version release")
	unordered    = words("content privs")

	macText    = regexp.MustCompile(`\b[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}\b`)
	uuidText   = regexp.MustCompile(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`)
	digits     = regexp.MustCompile(`\d+`)
	figureText = regexp.MustCompile(`^-?\d*\.?\d*(e-?\d+)?$`)
	rules      = []struct {
		rx *regexp.Regexp
		to string
	}{
		{regexp.MustCompile(`UPID:([A-Za-z0-9.-]+):[0-9A-Fa-f]{8}:[0-9A-Fa-f]{8,9}:[0-9A-Fa-f]{8}:`), "UPID:$1:*:*:*:"},
		{regexp.MustCompile(` at /usr/share/perl5/\S+ line \d+(, <\w+> (chunk|line) \d+)?\.?`), ""},
		{regexp.MustCompile(`/var/tmp/pveupload-[0-9a-f]+`), "/var/tmp/pveupload-*"},
		{regexp.MustCompile(`\bPVE(VNC|ADM)?:[^\s"]{20,}`), "<ticket>"},
		{regexp.MustCompile(`\b[0-9a-f]{40}\b`), "<sha1>"},
		{regexp.MustCompile(`\$[156y]\$[^\s"']+`), "<crypt>"},
		{regexp.MustCompile(`ctime=\d+`), "ctime=*"},
		{regexp.MustCompile(`creation-qemu=[0-9.]+`), "creation-qemu=*"},
		{regexp.MustCompile(`\.\d+\.tmp\b|\.tmp\.\d+\b|\.tmp_dwnl\.\d+\b`), ".tmp"},
	}
)

type normalizer struct{ keep map[string]bool }

// newNormalizer learns the MACs and UUIDs that requests name: those weren't
// generated, so they count.
func newNormalizer(steps []*replayStep) *normalizer {
	n := &normalizer{keep: map[string]bool{}}
	for _, s := range steps {
		b, _ := json.Marshal([]any{s.Path, s.Params, s.Raw})
		for _, rx := range []*regexp.Regexp{macText, uuidText} {
			for _, m := range rx.FindAllString(string(b), -1) {
				n.keep[strings.ToLower(m)] = true
			}
		}
	}
	return n
}

func (n *normalizer) text(s string) string {
	for _, r := range rules {
		s = r.rx.ReplaceAllString(s, r.to)
	}
	mask := func(rx *regexp.Regexp, name string) {
		s = rx.ReplaceAllStringFunc(s, func(m string) string {
			if n.keep[strings.ToLower(m)] {
				return m
			}
			return name
		})
	}
	mask(macText, "<mac>")
	mask(uuidText, "<uuid>")
	return strings.TrimRight(s, "\n")
}

func jsonType(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "bool"
	case json.Number, float64, int:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

func figure(v any) bool {
	switch v := v.(type) {
	case string:
		return figureText.MatchString(v)
	case []any:
		return !slices.ContainsFunc(v, func(x any) bool { return !figure(x) })
	}
	return jsonType(v) == "number"
}

func (n *normalizer) value(v any, key string, host bool) any {
	if subtree[key] {
		return "<" + key + ">"
	}
	switch v := v.(type) {
	case map[string]any:
		return n.object(v, key)
	case []any:
		if secret[key] || (volatile[key] || host && volatileHost[key]) && figure(v) {
			return "<array>"
		}
		out := []any{}
		for _, x := range v {
			out = append(out, n.value(x, "", host))
		}
		sort.SliceStable(out, func(i, j int) bool { return sortKey(out[i]) < sortKey(out[j]) })
		return out
	}
	if secret[key] || (volatile[key] || host && volatileHost[key]) && figure(v) {
		return "<" + jsonType(v) + ">"
	}
	text, ok := v.(string)
	if !ok {
		return v
	}
	text = n.text(text)
	if unordered[key] {
		parts := strings.Split(text, ",")
		slices.Sort(parts)
		text = strings.Join(parts, ",")
	}
	if versioned[key] {
		text = digits.ReplaceAllString(text, "#")
	}
	return text
}

func (n *normalizer) object(v map[string]any, key string) any {
	if _, any := v["$any"]; any {
		return v
	}
	if _, fill := v["$fill"]; fill {
		return n.text(expand(v))
	}
	_, guest := v["vmid"]
	_, paged := v["data"]
	out := map[string]any{}
	for k, x := range v {
		if optional[k] {
			continue
		}
		name := k
		if key == "errors" || k == "total" && paged {
			name = ""
		}
		out[k] = n.value(x, name, !guest)
	}
	return out
}

// sortKey orders list elements: log lines by number, others by content.
func sortKey(v any) string {
	if m, ok := v.(map[string]any); ok && m["t"] != nil {
		if num, ok := m["n"].(json.Number); ok {
			i, _ := num.Int64()
			return fmt.Sprintf("%09d", i)
		}
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// difference finds the first difference of two normalised values.
func difference(want, got any, at string) string {
	wm, _ := want.(map[string]any)
	if _, any := wm["$any"]; any {
		return ""
	}
	if jsonType(want) != jsonType(got) {
		return fmt.Sprintf("%s: want %s, got %s", at, short(want), short(got))
	}
	switch want := want.(type) {
	case map[string]any:
		gm := got.(map[string]any)
		var missing, extra []string
		for k := range want {
			if _, ok := gm[k]; !ok {
				missing = append(missing, k)
			}
		}
		for k := range gm {
			if _, ok := want[k]; !ok {
				extra = append(extra, k)
			}
		}
		if len(missing)+len(extra) > 0 {
			slices.Sort(missing)
			slices.Sort(extra)
			return fmt.Sprintf("%s: keys missing %v extra %v", at, missing, extra)
		}
		for _, k := range slices.Sorted(mapKeys(want)) {
			if d := difference(want[k], gm[k], at+"."+k); d != "" {
				return d
			}
		}
		return ""
	case []any:
		gl := got.([]any)
		if len(want) != len(gl) {
			return fmt.Sprintf("%s: %d elements wanted, %d got; only wanted %s; only got %s", at, len(want), len(gl), short(minus(want, gl)), short(minus(gl, want)))
		}
		for i := range want {
			if d := difference(want[i], gl[i], fmt.Sprintf("%s[%d]", at, i)); d != "" {
				return d
			}
		}
		return ""
	}
	if fmt.Sprint(want) != fmt.Sprint(got) {
		return fmt.Sprintf("%s: want %s, got %s", at, short(want), short(got))
	}
	return ""
}

func minus(a, b []any) []any {
	seen := map[string]int{}
	for _, x := range b {
		seen[sortKey(x)]++
	}
	var out []any
	for _, x := range a {
		if seen[sortKey(x)] > 0 {
			seen[sortKey(x)]--
			continue
		}
		out = append(out, x)
	}
	return out
}

func short(v any) string {
	b, _ := json.Marshal(v)
	if len(b) > 400 {
		return string(b[:400]) + "…"
	}
	return string(b)
}

// compare lists what differs between a recorded answer and a given one.
func (n *normalizer) compare(s *replayStep, status int, reason string, body any, task *replayTask) []string {
	var bad []string
	if status != s.Status {
		bad = append(bad, fmt.Sprintf("status: want %d %q, got %d %q", s.Status, s.Reason, status, reason))
	} else if w, g := n.text(s.Reason), n.text(reason); w != g {
		bad = append(bad, fmt.Sprintf("reason: want %q, got %q", w, g))
	}
	if d := difference(n.value(s.Body, "", true), n.value(body, "", true), "body"); d != "" {
		bad = append(bad, d)
	}
	w := s.WaitTask
	if w == nil || w.Exit == nil || status != 200 {
		return bad
	}
	switch {
	case task == nil || task.Exit == nil:
		bad = append(bad, "task: didn't end in time, or none was started")
	case n.text(*w.Exit) != n.text(*task.Exit):
		bad = append(bad, fmt.Sprintf("task: want %q, got %q", *w.Exit, *task.Exit))
	case len(w.Log) > 0:
		last := ""
		if len(task.Log) > 0 {
			last = task.Log[len(task.Log)-1]
		}
		if wl := w.Log[len(w.Log)-1]; n.text(wl) != n.text(last) {
			bad = append(bad, fmt.Sprintf("task log end: want %q, got %q", wl, last))
		}
	}
	return bad
}

// emptyQcow2 is an image without data: header, refcount table and block, L1
// table.
func emptyQcow2(mib int64) []byte {
	const clusterBits = 16
	const cluster = int64(1) << clusterBits
	size := mib << 20
	l1 := max(1, size/(cluster*(cluster/8)))
	be := binary.BigEndian
	head := make([]byte, cluster)
	copy(head, "QFI\xfb")
	be.PutUint32(head[4:], 3)
	be.PutUint32(head[20:], clusterBits)
	be.PutUint64(head[24:], uint64(size))
	be.PutUint32(head[36:], uint32(l1))
	be.PutUint64(head[40:], uint64(3*cluster))
	be.PutUint64(head[48:], uint64(cluster))
	be.PutUint32(head[56:], 1)
	be.PutUint32(head[96:], 4)
	be.PutUint32(head[100:], 104)
	table := make([]byte, cluster)
	be.PutUint64(table, uint64(2*cluster))
	block := make([]byte, cluster)
	for i := range 4 {
		be.PutUint16(block[2*i:], 1)
	}
	return slices.Concat(head, table, block, make([]byte, 8*l1))
}
