package schema

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// verdict is what Proxmox' own code says to a value of a format, or to the
// parameters of a call.
type verdict struct {
	Format string
	Value  string
	Error  *string

	Props   string // the endpoint that takes the property string Value
	Name    string
	Parsed  map[string]any
	Printed *string

	Endpoint string // "GET /path/{template}"
	In       map[string]any
	Errors   Errors
}

func verdicts(t *testing.T, name string) []verdict {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []verdict
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		dec := json.NewDecoder(strings.NewReader(lines.Text()))
		dec.UseNumber()
		var v verdict
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFormatsJudgeAsProxmoxDoes(t *testing.T) {
	s, err := Load("9.2")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts(t, "testdata/formats.jsonl.gz") {
		got, want := "", ""
		if err := s.CheckFormat(v.Format, v.Value); err != nil {
			got = err.Error()
		}
		if v.Error != nil {
			want = *v.Error
		}
		if got != want {
			t.Errorf("%s %q: got %q, want %q", v.Format, v.Value, got, want)
		}
	}
}

func TestCallsJudgeAsProxmoxDoes(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			s, err := Load(release)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range verdicts(t, "testdata/calls-"+release+".jsonl.gz") {
				method, path, _ := strings.Cut(v.Endpoint, " ")
				ep := s.Lookup(method, path)
				if ep == nil {
					t.Fatalf("no %s", v.Endpoint)
				}
				_, got := ep.Verify(v.In)
				if diff := cmp.Diff(v.Errors, got); diff != "" {
					in, _ := json.Marshal(v.In)
					t.Errorf("%s %s (-Proxmox +ours):\n%s", v.Endpoint, in, diff)
				}
			}
		})
	}
}

func TestPropertyStringsReadAndPrintAsProxmoxDoes(t *testing.T) {
	s, err := Load("9.2")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts(t, "testdata/props.jsonl.gz") {
		method, path, _ := strings.Cut(v.Props, " ")
		p := s.Lookup(method, path).Param(v.Name)
		if p == nil {
			t.Fatalf("%s has no %s", v.Props, v.Name)
		}
		props, err := p.ParseProps(v.Name, v.Value)
		if err != nil || v.Error != nil {
			got, want := "", ""
			if err != nil {
				got = err.Error()
			}
			if v.Error != nil {
				want = *v.Error
			}
			if got != want {
				t.Errorf("%s %s=%q: got %q, want %q", v.Props, v.Name, v.Value, got, want)
			}
			continue
		}
		got := map[string]any{}
		for _, key := range props.Keys() {
			got[key] = props.Get(key)
			v.Parsed[key] = perlValue(v.Parsed[key])
		}
		if diff := cmp.Diff(v.Parsed, got); diff != "" {
			t.Errorf("%s %s=%q (-Proxmox +ours):\n%s", v.Props, v.Name, v.Value, diff)
		}
		if text := p.PrintProps(props); v.Printed != nil && text != *v.Printed {
			t.Errorf("%s %s=%q: printed %q, want %q", v.Props, v.Name, v.Value, text, *v.Printed)
		}
	}
}
