package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/proxplane/proxplane/test/kit/golden"
)

// Each file of testdata has manifests (*.yaml), perhaps the environment (env, a
// variable a line), and what comes of it: wanted.json with what is not zero, seed/
// with first-boot data, notes; or errors.
func TestManifestsBecomeWhatIsWanted(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { compare(t, file) })
	}
}

func compare(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{}
	env := map[string]string{}
	want := map[string]string{}
	var input []txtar.File
	for _, f := range archive.Files {
		switch {
		case strings.HasSuffix(f.Name, ".yaml"):
			r.parse(f.Name, f.Data)
		case f.Name == "env":
			for line := range strings.Lines(string(f.Data)) {
				name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), "=")
				env[name] = value
			}
		default:
			want[f.Name] = string(f.Data)
			continue
		}
		input = append(input, f)
	}
	got := outcome(t, r, env)
	if *golden.Update {
		archive.Files = input
		for _, name := range slices.Sorted(maps.Keys(got)) {
			archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(got[name])})
		}
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("other than expected (-want +got):\n%s", diff)
	}
}

func outcome(t *testing.T, r *reader, env map[string]string) map[string]string {
	t.Helper()
	set, err := r.set()
	if err != nil {
		return map[string]string{"errors": err.Error() + "\n"}
	}
	wanted, err := set.Wanted(Options{Set: "test", Getenv: func(name string) string { return env[name] }})
	if err != nil {
		return map[string]string{"errors": err.Error() + "\n"}
	}
	out := map[string]string{"wanted.json": pretty(t, wanted)}
	for _, w := range wanted {
		for _, vm := range w.Desired.VMs {
			if vm.Seed == nil {
				continue
			}
			for name, data := range vm.Seed.Files {
				out["seed/"+vm.Name+"/"+name] = strings.TrimRight(string(data), "\n") + "\n"
			}
		}
	}
	if notes := set.Notes(); len(notes) > 0 {
		out["notes"] = strings.Join(notes, "\n") + "\n"
	}
	return out
}

// pretty prints what isn't zero, in an order that doesn't change. The TLS and
// credentials print themselves without secrets.
func pretty(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(withoutZeros(tree), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out) + "\n"
}

// withoutZeros drops what says nothing, but keeps the empty texts of options,
// which say that an option is to be absent.
func withoutZeros(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if strings.EqualFold(k, "options") {
				if e != nil {
					out[k] = e
				}
				continue
			}
			if e = withoutZeros(e); e != nil {
				out[k] = e
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		for i := range v {
			v[i] = withoutZeros(v[i])
		}
		if len(v) == 0 {
			return nil
		}
		return v
	case bool, string, json.Number:
		if s := fmt.Sprint(v); s == "" || s == "0" || s == "false" {
			return nil
		}
	}
	return v
}
