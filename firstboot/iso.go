package firstboot

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"

	"github.com/proxplane/proxplane/firstboot/isofile"
)

// Label is the volume label by which guests find the drive.
const Label = "cidata"

// ISO makes an image with the files. They may hold secrets, and whoever is killed
// can't tidy up, so nothing of them is ever written to a disk: the library, which
// takes its files from a directory, gets blank ones of the same length there, and
// what they hold is put into the image in memory.
func ISO(files map[string][]byte) ([]byte, error) {
	image, err := blankISO(files)
	if err != nil {
		return nil, fmt.Errorf("make first-boot image: %w", err)
	}
	for name, content := range files {
		place, err := isofile.Find(bytes.NewReader(image), int64(len(image)), name)
		if err != nil {
			return nil, fmt.Errorf("make first-boot image: %w", err)
		}
		if place.Size() != int64(len(content)) {
			return nil, fmt.Errorf("make first-boot image: %s has %d bytes in it, want %d", name, place.Size(), len(content))
		}
		_, at, _ := place.Outer()
		copy(image[at:], content)
	}
	return image, nil
}

// blankISO makes an image with files of these names and lengths.
func blankISO(files map[string][]byte) (image []byte, err error) {
	dir, err := os.MkdirTemp("", "proxplane-seed-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if rerr := os.RemoveAll(dir); err == nil && rerr != nil {
			err = rerr
		}
	}()
	// The library doesn't look whether its writes succeed; in memory they do.
	out := &memory{}
	disk, err := iso9660.Create(file.New(out, false), 0, 0, 0, dir)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name != filepath.Base(name) || name == "." {
			return nil, fmt.Errorf("file name %q", name)
		}
		if err := writeBlank(filepath.Join(dir, name), int64(len(files[name]))); err != nil {
			return nil, err
		}
	}
	if err := disk.Finalize(iso9660.FinalizeOptions{RockRidge: true, Joliet: true, VolumeIdentifier: Label}); err != nil {
		return nil, err
	}
	return out.bytes, nil
}

// writeBlank makes a file of a length, without anything in it.
func writeBlank(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return err
	}
	return f.Close()
}
