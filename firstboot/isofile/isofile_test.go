package isofile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"

	"github.com/proxplane/proxplane/test/kit/need"
)

var files = map[string]string{"user-data": `{"ignition":{"version":"3.4.0"}}`, "meta-data": strings.Repeat("m", 5000), "network-config": ""}

// made is an image that a library writes.
func made(t testing.TB, options iso9660.FinalizeOptions) []byte {
	t.Helper()
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "image")
	f, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	disk, err := iso9660.Create(file.New(f, false), 0, 0, 0, dir)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, dir)
	if err := disk.Finalize(options); err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func fill(t testing.TB, dir string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "vendor-data"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, image []byte) {
	t.Helper()
	for name, want := range files {
		r, err := Find(bytes.NewReader(image), int64(len(image)), name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != want {
			t.Errorf("%s: %.20q, %v", name, got, err)
		}
	}
	for _, name := range []string{"vendor-data", "missing", "", "..", "USER-DATA"} {
		if _, err := Find(bytes.NewReader(image), int64(len(image)), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFilesAreFoundByTheirNames(t *testing.T) {
	t.Run("Rock Ridge", func(t *testing.T) {
		check(t, made(t, iso9660.FinalizeOptions{RockRidge: true, VolumeIdentifier: "cidata"}))
	})
	t.Run("Joliet", func(t *testing.T) { check(t, made(t, iso9660.FinalizeOptions{Joliet: true})) })
	t.Run("both", func(t *testing.T) { check(t, made(t, iso9660.FinalizeOptions{Joliet: true, RockRidge: true})) })
	for _, options := range [][]string{{"-rock"}, {"-joliet"}, {"-rock", "-joliet"}, {"-iso-level", "4"}} {
		t.Run("genisoimage "+strings.Join(options, " "), func(t *testing.T) {
			program := need.Program(t, "genisoimage")
			dir := t.TempDir()
			fill(t, dir)
			image, err := exec.Command(program, append(append([]string{"-quiet", "-volid", "cidata"}, options...), dir)...).Output()
			if err != nil {
				t.Fatal(err)
			}
			check(t, image)
		})
	}
}

func TestOtherThingsAreNoImages(t *testing.T) {
	for _, text := range []string{"", "hello", strings.Repeat("x", 100_000), strings.Repeat("\x00", 40_000)} {
		if _, err := Find(strings.NewReader(text), int64(len(text)), "user-data"); !errors.Is(err, ErrNotISO) {
			t.Errorf("%.10q: %v", text, err)
		}
	}
}

func FuzzImagesCanHoldAnything(f *testing.F) {
	image := made(f, iso9660.FinalizeOptions{Joliet: true, RockRidge: true})
	// The first sectors mean nothing: what is fuzzed are the others.
	const from = 16 * sector
	f.Add(image[from:], "user-data")
	f.Add(made(f, iso9660.FinalizeOptions{RockRidge: true})[from:], "user-data")
	f.Fuzz(func(t *testing.T, rest []byte, name string) {
		image := append(make([]byte, from), rest...)
		r, err := Find(bytes.NewReader(image), int64(len(image)), name)
		if err != nil {
			return
		}
		if got, err := io.ReadAll(r); err != nil || int64(len(got)) != r.Size() {
			t.Errorf("%d of %d bytes, %v", len(got), r.Size(), err)
		}
	})
}
