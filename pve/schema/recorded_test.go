package schema

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recording is a request that was made to a real Proxmox VE 9.2.
type recording struct {
	Case   string
	Method string
	Path   string
	In     map[string]any
	Status int
	Errors Errors
}

func recordings(t testing.TB) []recording {
	t.Helper()
	f, err := os.Open("testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []recording
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		dec := json.NewDecoder(strings.NewReader(lines.Text()))
		dec.UseNumber()
		var r recording
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// fromSchema matches the texts of the schema layer; other errors of a 400 come
// from a call's own code, which runs when the parameters have passed.
var fromSchema = regexp.MustCompile(`^(property is |type check |value |invalid format - |missing property |duplicate parameter )`)

func TestVerifyAnswersAsRecorded(t *testing.T) {
	s, err := Load("9.2")
	if err != nil {
		t.Fatal(err)
	}
	failures := 0
	for _, r := range recordings(t) {
		t.Run(r.Case, func(t *testing.T) {
			var want Errors
			for field, text := range r.Errors {
				if fromSchema.MatchString(text) {
					if want == nil {
						want = Errors{}
					}
					want[field] = text
				}
			}
			ep, path := s.Find(r.Method, r.Path)
			if ep == nil {
				t.Fatalf("no endpoint for %s %s", r.Method, r.Path)
			}
			in, got := Merge(path, r.In)
			var params Params
			if got == nil {
				params, got = ep.Verify(in)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s %v (-recorded +verified):\n%s", r.Method, r.Path, r.In, diff)
			}
			if (params == nil) == (got == nil) {
				t.Errorf("got parameters %v and errors %v", params, got)
			}
			if got != nil {
				failures++
			}
		})
	}
	if failures < 60 {
		t.Errorf("only %d recorded requests fail verification: the test data is not what it was", failures)
	}
}
