package image

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestWhatNobodyUsesGivesWay(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PROXPLANE_GUESTS", dir)
	build := func(path string) error {
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(path, "file"), nil, 0o644)
	}
	get := func(name string) {
		t.Helper()
		if _, err := once(name, build); err != nil {
			t.Fatal(err)
		}
	}
	age := func(name string) {
		t.Helper()
		old := time.Now().Add(-2 * idle)
		if err := os.Chtimes(filepath.Join(dir, name+lockMark), old, old); err != nil {
			t.Fatal(err)
		}
	}
	const first, second, used, busy, newest = "tiny-000000000001.cpio", "tiny-000000000002.cpio", "tiny-aaaaaaaaaaaa.cpio", "tiny-bbbbbbbbbbbb.cpio", "tiny-ffffffffffff.cpio"
	const other, kernel, newKernel = "uefi-000000000001.raw", "linux-image-6.1.0-48-amd64-000000000001.deb", "linux-image-6.1.0-54-amd64-000000000002.deb"
	all := []string{first, second, used, busy, other, kernel}
	for _, name := range all {
		get(name)
	}
	for _, name := range all {
		age(name)
	}
	get(used)
	lock, err := os.Open(filepath.Join(dir, busy+lockMark))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	get(newest)
	get(newKernel)
	get(second) // whoever has that recipe still makes it again
	for name, want := range map[string]bool{first: false, second: true, used: true, busy: true, newest: true, other: true, kernel: false, newKernel: true} {
		_, err := os.Stat(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if there := err == nil; there != want {
			t.Errorf("%s is there: %v, want %v", name, there, want)
		}
	}
}

func TestHalvesOfKilledBuildsGoToo(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PROXPLANE_GUESTS", dir)
	half := filepath.Join(dir, "debian-000000000001.qcow2"+partMark)
	if err := os.WriteFile(half, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "debian-000000000001.qcow2"+lockMark), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := prune(dir, "debian-000000000002.qcow2", time.Now().Add(2*idle)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}
