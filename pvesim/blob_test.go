package pvesim

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"testing"
)

func TestBlobsOfADataDirectoryOutliveARestart(t *testing.T) {
	dir := t.TempDir()
	var first blobStore
	first.init(dir)
	for name, text := range map[string]string{"a": "abc", "b": ""} {
		w := first.create(name)
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.finish(); err != nil {
			t.Fatal(err)
		}
	}
	broken := first.create("c")
	if _, err := io.WriteString(broken, "half"); err != nil {
		t.Fatal(err)
	}
	first.close()

	var second blobStore
	second.init(dir)
	for name, want := range map[string]string{"a": "abc", "b": ""} {
		r, err := second.open(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		r.Close()
		if err != nil || string(got) != want {
			t.Errorf("%s holds %q %v", name, got, err)
		}
	}
	second.remove("a")
	second.remove("")
	files, _ := filepath.Glob(filepath.Join(dir, "blobs", "*"))
	if len(files) != 1 || filepath.Base(files[0]) != "b" {
		t.Errorf("left: %v", files)
	}
	if _, err := second.open("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed blob: %v", err)
	}
	second.close()
}
