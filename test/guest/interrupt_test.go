package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// guestsIn are the machines that have their files in a folder.
func guestsIn(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range all {
		line, err := os.ReadFile(path)
		if err == nil && bytes.Contains(line, []byte("qemu-system")) && bytes.Contains(line, []byte(dir)) {
			found = append(found, string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	return found
}

// until calls fn until it is content.
func until(t *testing.T, what string, fn func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), *patience)
	defer cancel()
	for {
		err := fn()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// The tests themselves, stopped while a guest runs.
func TestNoGuestOutlivesTheTests(t *testing.T) {
	t.Parallel()
	tinyWorld(t) // builds the guest, or says what is missing
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		signal os.Signal
		files  int // that are left
	}{{os.Interrupt, 0}, {os.Kill, 1}} {
		t.Run(c.signal.String(), func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), program, "-test.run", "^TestGuestsBecomeWhatTheManifestSays$")
			cmd.Env = append(os.Environ(), "TMPDIR="+dir)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, "a guest that runs", func() error {
				if len(guestsIn(t, dir)) == 0 {
					return errors.New("there is none")
				}
				return nil
			})
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("the tests ended well")
			}
			until(t, "the end of the guest", func() error {
				if left := guestsIn(t, dir); len(left) > 0 {
					return fmt.Errorf("%s", left)
				}
				return nil
			})
			files, err := os.ReadDir(dir)
			if err != nil || len(files) != c.files {
				t.Errorf("%d files are left, want %d: %v %v", len(files), c.files, files, err)
			}
		})
	}
}
