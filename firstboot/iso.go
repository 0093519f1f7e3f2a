package firstboot

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"
)

// Label is the volume label by which guests find the drive.
const Label = "cidata"

// ISO makes an image with the files. They may hold secrets: what is written on
// the way lies in a directory that only we can read, and is removed.
func ISO(files map[string][]byte) (image []byte, err error) {
	dir, err := os.MkdirTemp("", "proxplane-seed-")
	if err != nil {
		return nil, fmt.Errorf("make first-boot image: %w", err)
	}
	defer func() {
		if rerr := os.RemoveAll(dir); err == nil && rerr != nil {
			err = fmt.Errorf("remove first-boot image: %w", rerr)
		}
	}()
	out := filepath.Join(dir, "image")
	if err := writeISO(dir, out, files); err != nil {
		return nil, fmt.Errorf("make first-boot image: %w", err)
	}
	if image, err = os.ReadFile(out); err != nil {
		return nil, fmt.Errorf("read first-boot image: %w", err)
	}
	return image, nil
}

func writeISO(dir, out string, files map[string][]byte) error {
	work := filepath.Join(dir, "files")
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(out, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	disk, err := iso9660.Create(file.New(f, false), 0, 0, 0, work)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name != filepath.Base(name) || name == "." {
			return fmt.Errorf("file name %q", name)
		}
		// The library takes its files from the work directory.
		if err := os.WriteFile(filepath.Join(work, name), files[name], 0o600); err != nil {
			return err
		}
	}
	if err := disk.Finalize(iso9660.FinalizeOptions{RockRidge: true, Joliet: true, VolumeIdentifier: Label}); err != nil {
		return err
	}
	return f.Close()
}
