package manifest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const classText = `apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: NAME}
spec: {cpus: 1, memory: 1Gi}
`

func classNamed(name string) string { return strings.Replace(classText, "NAME", name, 1) }

func names(s *Set) []string {
	var all []string
	for _, k := range s.Keys() {
		all = append(all, k.Name)
	}
	return all
}

func TestManifestsComeFromFilesFoldersAndStdin(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"b.yaml": classNamed("b"), "a.yml": classNamed("a"), "c.json": `{"apiVersion":"infra.virtrigaud.io/v1beta1","kind":"VMClass","metadata":{"name":"c"},"spec":{"cpus":1,"memory":"1Gi"}}`,
		"notes.txt": "not a manifest", ".hidden.yaml": "neither", "inside/d.yaml": classNamed("d"), "one.conf": classNamed("one"),
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set, err := Read([]string{dir, filepath.Join(dir, "one.conf"), "-"}, strings.NewReader(classNamed("in")))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(set), []string{"a", "b", "c", "one", "in"}; !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	empty := t.TempDir()
	for _, c := range []struct{ path, want string }{
		{filepath.Join(empty, "none.yaml"), "none.yaml isn't there: no such file or folder"},
		{empty, "has no *.yaml, *.yml or *.json"},
		{"https://example.com/vm.yaml", "fetch it first (curl -fsS https://example.com/vm.yaml)"},
		{"-", "there is no standard input"},
	} {
		if _, err := Read([]string{c.path}, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.path, err, c.want)
		}
	}
	if _, err := Read([]string{"-"}, endless{}); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("a file without end: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '#'
	}
	return len(p), nil
}

func TestAliasesOfAliasesAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		n := string(rune('a' + i))
		prev := "a0"
		if i > 0 {
			prev = string(rune('a'+i-1)) + "1"
		}
		b.WriteString(n + "1: &" + n + "1 [" + strings.TrimSuffix(strings.Repeat("*"+prev+", ", 10), ", ") + "]\n")
	}
	_, err := Parse("bomb.yaml", []byte(b.String()))
	if err == nil || !strings.Contains(err.Error(), "too much of it") {
		t.Errorf("%v", err)
	}
	_, err = Parse("deep.yaml", []byte(strings.Repeat("a:\n ", 1)+strings.Repeat("[", 500)+strings.Repeat("]", 500)))
	if err == nil || !strings.Contains(err.Error(), "too deep") {
		t.Errorf("%v", err)
	}
}

func TestNobodyReadsAThousandErrors(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: infra.virtrigaud.io/v1beta1\nkind: VMClass\nmetadata: {name: a}\nspec:\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "  x%d: 1\n", i)
	}
	_, err := Parse("x.yaml", []byte(b.String()))
	var all Errors
	if !errors.As(err, &all) || len(all) != maxErrors+1 || all[maxErrors].Text != "and more" {
		t.Errorf("%d errors", len(all))
	}
}

func TestAnchorsAndMergesAreFollowed(t *testing.T) {
	set, err := Parse("x.yaml", []byte(`
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: web}
spec:
  classRef: &ref {name: small}
  imageRef: *ref
  disks:
  - &root {name: root, size: 1Gi, discard: true}
  - <<: *root
    name: data
`))
	if err != nil {
		t.Fatal(err)
	}
	o := set.objects[0]
	if got := o.where("spec.disks[1].name").line; got != 11 {
		t.Errorf("the name of the second disk is in line %d", got)
	}
	if got := pretty(t, o.Object); !strings.Contains(got, `"name": "data"`) || strings.Count(got, `"discard": true`) != 2 {
		t.Errorf("%s", got)
	}
}

// What Kubernetes adds to an object is no reason to refuse it.
func TestObjectsFromKubernetesAreRead(t *testing.T) {
	set, err := Parse("x.yaml", []byte(`
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata:
  name: small
  uid: 0b0e5b4f-6f4e-4d55-a0a5-0f9b6ac7f1d5
  creationTimestamp: "2026-07-01T10:00:00Z"
  resourceVersion: "42"
  generation: 3
  managedFields:
  - apiVersion: v1
    fieldsV1: {"f:spec": {".": {}, "f:cpus": {}}}
    manager: kubectl
    time: "2026-07-01T10:00:00Z"
spec: {cpus: 1, memory: 1073741824}
status: {anything: [1, 2]}
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(set.objects) != 1 {
		t.Errorf("%d objects", len(set.objects))
	}
}
