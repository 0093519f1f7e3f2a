// Package types checks what is generated from API types, and their comments.
package types

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// UpToDate fails if the deep copies of the package in the working directory, or the custom resource
// definitions in a folder, aren't what the types want. Root is the way to the module's root.
func UpToDate(t *testing.T, root, definitions string) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-modfile="+filepath.Join(root, "tools/go.mod"), "controller-gen",
		"object", "crd:maxDescLen=2000", "paths=.", "output:object:dir="+dir, "output:crd:dir="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(root, definitions)
	committed, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(committed)+1 {
		t.Errorf("%d files are made, but %d are there", len(files), len(committed)+1)
	}
	for _, f := range files {
		at := filepath.Join(folder, f.Name())
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
