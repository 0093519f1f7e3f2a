// Package golden compares what tests get with files of testdata, which
// `go test -update` rewrites.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update says that the files are to be rewritten from what comes out.
var Update = flag.Bool("update", false, "rewrite what tests compare with from what comes out")

// Compare compares a text with the file of that name in testdata.
func Compare(t *testing.T, name, got string) {
	t.Helper()
	File(t, filepath.Join("testdata", name), got)
}

// File compares a text with a file anywhere.
func File(t *testing.T, file, got string) {
	t.Helper()
	if *Update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; go test -update rewrites it):\n%s", file, diff)
	}
}
