package pvesim

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// TestDocumentationNamesWhatIsNotSimulated keeps the list in the docs true.
func TestDocumentationNamesWhatIsNotSimulated(t *testing.T) {
	const file, begin, end = "../docs/simulator.md", "<!-- not simulated: begin -->\n", "<!-- not simulated: end -->"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(b), begin)
	have, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s lacks the markers", file)
	}
	want := notSimulated(t)
	if have == want {
		return
	}
	if !*golden.Update {
		t.Errorf("%s doesn't say what isn't simulated; run go test ./pvesim -run Documentation -update", file)
		return
	}
	if err := os.WriteFile(file, []byte(head+begin+want+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// notSimulated lists the calls that answer 501, one line a folder.
func notSimulated(t *testing.T) string {
	lines := map[string][]string{}
	for _, release := range schema.Releases() {
		sim, err := New(&World{Release: release})
		if err != nil {
			t.Fatal(err)
		}
		defer sim.Close()
		for _, ep := range sim.schema.Endpoints() {
			if sim.routes[ep.Method+" "+ep.Path] != nil || sim.fallback(ep) != nil {
				continue
			}
			folder := area(ep.Path)
			call := strings.TrimSpace(ep.Method + " " + strings.TrimPrefix(ep.Path, folder))
			if !slices.Contains(lines[folder], call) {
				lines[folder] = append(lines[folder], call)
			}
		}
	}
	var out strings.Builder
	out.WriteString("| below | calls |\n|---|---|\n")
	for _, folder := range slices.Sorted(mapKeys(lines)) {
		calls := lines[folder]
		slices.SortFunc(calls, func(a, b string) int {
			methodA, pathA, _ := strings.Cut(a, " ")
			methodB, pathB, _ := strings.Cut(b, " ")
			return cmp.Or(cmp.Compare(pathA, pathB), cmp.Compare(methodA, methodB))
		})
		fmt.Fprintf(&out, "| `%s` | %s |\n", folder, "`"+strings.Join(calls, "`, `")+"`")
	}
	return out.String()
}

// area is the part of a path by which calls are grouped.
func area(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	n := 2
	if parts[0] == "nodes" {
		n = 3
	}
	return "/" + strings.Join(parts[:min(n, len(parts))], "/")
}
