// Package disc reads ISO images with other people's programs, for tests of those
// that we make.
package disc

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/test/kit/need"
)

// Holds fails unless an image is called cidata and isoinfo finds just these files
// in it, under the long names of both kinds: Rock Ridge and Joliet.
func Holds(t testing.TB, image []byte, files map[string][]byte) {
	t.Helper()
	program := need.Program(t, "isoinfo")
	path := filepath.Join(t.TempDir(), "seed.iso")
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	about, err := exec.Command(program, "-d", "-i", path).CombinedOutput()
	if err != nil || !strings.Contains(string(about), "Volume id: cidata\n") {
		t.Fatalf("%v:\n%s", err, about)
	}
	for _, names := range []string{"-R", "-J"} {
		list, err := exec.Command(program, names, "-f", "-i", path).Output()
		if n := len(bytes.Fields(list)); err != nil || n != len(files) {
			t.Errorf("%s: %d files, want %d: %v\n%s", names, n, len(files), err, list)
		}
		for name, want := range files {
			got, err := exec.Command(program, names, "-i", path, "-x", "/"+name).Output()
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s %s: %d bytes, want %d (%v)", names, name, len(got), len(want), err)
			}
		}
	}
}
