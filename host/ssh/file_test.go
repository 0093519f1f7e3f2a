//go:build unix

package ssh

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/proxplane/proxplane/host/ssh/sshtest"
	"github.com/proxplane/proxplane/test/kit/need"
)

// onlyFiles checks what a folder holds.
func onlyFiles(t *testing.T, folder string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("%s has %q, want %q", folder, got, names)
	}
}

func TestFilesAreWrittenReadAndRemoved(t *testing.T) {
	s := sshtest.Start(t)
	c := dial(t, s, known(s))
	ctx := t.Context()
	if err := c.MkdirAll(ctx, "/var/lib/vz/snippets", 0o755); err != nil {
		t.Fatal(err)
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 300_000)
	const name = "/var/lib/vz/snippets/a.yaml"
	for _, data := range [][]byte{[]byte("one"), big, nil} {
		if err := c.WriteFile(ctx, name, data, 0o640); err != nil {
			t.Fatal(err)
		}
		got, err := c.ReadFile(ctx, name)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("read %d bytes, want %d: %v", len(got), len(data), err)
		}
	}
	info, err := c.Stat(ctx, name)
	if err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	onlyFiles(t, filepath.Join(s.Folder, "var/lib/vz/snippets"), "a.yaml")
	for range 2 {
		if err := c.Remove(ctx, name); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.ReadFile(ctx, name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read what is gone: %v", err)
	}
	if err := c.WriteFile(ctx, "/missing/a", nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("wrote into a directory that isn't there: %v", err)
	}
	if err := c.WriteFile(ctx, "/a", nil, 0o600); err != nil {
		t.Error(err)
	}
	if err := c.MkdirAll(ctx, "/a/b", 0o755); err == nil || !strings.Contains(err.Error(), "no directory") {
		t.Errorf("made a directory in a file: %v", err)
	}
}

func TestNobodyElseReadsWhatIsBeingWritten(t *testing.T) {
	s := sshtest.Start(t)
	c := dial(t, s, known(s))
	var modes []fs.FileMode
	s.OnWrite(func() error {
		entries, err := os.ReadDir(s.Folder)
		if err != nil || len(entries) != 1 {
			return errors.New("where is it?")
		}
		for _, name := range []string{entries[0].Name(), filepath.Join(entries[0].Name(), "secret")} {
			info, err := os.Stat(filepath.Join(s.Folder, name))
			if err != nil {
				return err
			}
			modes = append(modes, info.Mode())
		}
		return nil
	})
	if err := c.WriteFile(t.Context(), "/secret", []byte("x"), 0o640); err != nil {
		t.Fatal(err)
	}
	// The folder keeps others out also before the file has its mode.
	if len(modes) != 2 || modes[0] != 0o700|fs.ModeDir || modes[1] != 0o600 {
		t.Errorf("modes %v", modes)
	}
}

func TestABrokenConnectionLeavesNothingHalfWritten(t *testing.T) {
	s := sshtest.Start(t)
	config := known(s)
	if err := os.WriteFile(filepath.Join(s.Folder, "a"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.DropAfter(2 << 20)
	c := dial(t, s, config)
	err := c.WriteFile(t.Context(), "/a", make([]byte, 8<<20), 0o644)
	if !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(s.Folder, "a")); err != nil || string(got) != "old" {
		t.Errorf("%.20q, %v", got, err)
	}
	onlyFiles(t, s.Folder, "a")
	if n := len(s.Logins()); n != 2 {
		t.Errorf("%d logins, want one more to clean up", n)
	}
}

func TestGivingUpLeavesNothingHalfWritten(t *testing.T) {
	s := sshtest.Start(t)
	c := dial(t, s, known(s))
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("changed my mind")
	s.OnWrite(func() error { cancel(stop); return nil })
	if err := c.WriteFile(ctx, "/a", make([]byte, 8<<20), 0o644); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	onlyFiles(t, s.Folder)
}

func TestWhatCannotBeCleanedUpIsSaidAndSweptLater(t *testing.T) {
	s := sshtest.Start(t)
	config := known(s)
	s.DropAfter(2 << 20)
	c := dial(t, s, config)
	_, key := sshtest.Key(t)
	s.SetHostKeys(key)
	err := c.WriteFile(t.Context(), "/a", make([]byte, 8<<20), 0o644)
	if !errors.Is(err, ErrLost) || !errors.Is(err, ErrHostKeyChanged) || !strings.Contains(err.Error(), "may be left") {
		t.Errorf("got %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(s.Folder, ".a"+partMark+"*"))
	if len(left) != 1 {
		t.Fatalf("left: %v", left)
	}
	config.KnownHosts = s.KnownHosts()
	c = dial(t, s, config)
	if err := c.WriteFile(t.Context(), "/a", []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	onlyFiles(t, s.Folder, filepath.Base(left[0]), "a") // another writer may be at it

	s = sshtest.Start(t)
	c = dial(t, s, known(s))
	remains, old := filepath.Join(s.Folder, ".a"+partMark+"OLD"), time.Now().Add(-2*stale)
	for _, name := range []string{remains, filepath.Join(s.Folder, ".b"+partMark+"OLD")} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.WriteFile(t.Context(), "/a", []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	onlyFiles(t, s.Folder, ".b"+partMark+"OLD", "a")
}

func TestAFullDiskIsSaidAndLeavesNothing(t *testing.T) {
	t.Run("said by the server", func(t *testing.T) {
		s := sshtest.Start(t)
		c := dial(t, s, known(s))
		for _, failure := range []error{syscall.ENOSPC, syscall.EDQUOT} {
			s.OnWrite(func() error { return failure })
			err := c.WriteFile(t.Context(), "/a", []byte("data"), 0o644)
			if errors.Is(err, ErrNoSpace) != (failure == syscall.ENOSPC) || err == nil {
				t.Errorf("%v: got %v", failure, err)
			}
		}
		s.OnWrite(func() error { return errors.New("Failure") })
		if err := c.WriteFile(t.Context(), "/a", []byte("data"), 0o644); err == nil || errors.Is(err, ErrNoSpace) || !strings.Contains(err.Error(), "no more than that it failed") {
			t.Errorf("another failure: %v", err)
		}
		onlyFiles(t, s.Folder)
	})
	t.Run("seen at the disk", func(t *testing.T) {
		s := sshtest.StartIn(t, smallDisk(t))
		c := dial(t, s, known(s))
		if err := c.WriteFile(t.Context(), "/a", []byte("fits"), 0o644); err != nil {
			t.Fatal(err)
		}
		err := c.WriteFile(t.Context(), "/a", make([]byte, 4<<20), 0o644)
		if !errors.Is(err, ErrNoSpace) {
			t.Errorf("got %v", err)
		}
		onlyFiles(t, s.Folder, "a")
		if got, err := c.ReadFile(t.Context(), "/a"); err != nil || string(got) != "fits" {
			t.Errorf("%.20q, %v", got, err)
		}
	})
}

// smallDisk is a folder with room for a megabyte.
func smallDisk(t *testing.T) string {
	t.Helper()
	need.Root(t)
	folder := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "small", folder).CombinedOutput(); err != nil {
		t.Skipf("no small disk can be made here: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", folder).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
	return folder
}
