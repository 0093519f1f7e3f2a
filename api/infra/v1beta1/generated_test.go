package v1beta1

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGeneratedFilesAreUpToDate keeps the CRDs and the deep copies as the types
// want them.
func TestGeneratedFilesAreUpToDate(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-modfile=../../../tools/go.mod", "controller-gen",
		"object", "crd:maxDescLen=2000", "paths=.", "output:object:dir="+dir, "output:crd:dir="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	committed, err := filepath.Glob("../../../deploy/crds/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(committed)+1 {
		t.Errorf("%d files are made, but %d are there", len(files), len(committed)+1)
	}
	for _, f := range files {
		at := filepath.Join("../../../deploy/crds", f.Name())
		if filepath.Ext(at) == ".go" {
			at = f.Name()
		}
		want, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if have, err := os.ReadFile(at); err != nil || !bytes.Equal(want, have) {
			t.Errorf("%s isn't up to date (%v): run make generate", at, err)
		}
	}
}
