package firstboot

import (
	"bytes"
	"encoding/binary"
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

// ISO makes an image with the files. They may hold secrets, which a killed process couldn't
// clean up, so their content is never written to a disk: the library reads blank files of
// the same length from a directory, and the content is put into the image in memory.
func ISO(files map[string][]byte) ([]byte, error) {
	image, err := blankISO(files)
	if err != nil {
		return nil, fmt.Errorf("make first-boot image: %w", err)
	}
	places := map[string]int64{}
	for name, content := range files {
		place, err := isofile.Find(bytes.NewReader(image), int64(len(image)), name)
		if err != nil {
			return nil, fmt.Errorf("make first-boot image: %w", err)
		}
		if place.Size() != blankSize(content) {
			return nil, fmt.Errorf("make first-boot image: %s has %d bytes in it, want %d", name, place.Size(), blankSize(content))
		}
		_, places[name], _ = place.Outer()
		if err := shorten(image, places[name], blankSize(content), int64(len(content))); err != nil {
			return nil, fmt.Errorf("make first-boot image: %s: %w", name, err)
		}
	}
	for name, content := range files {
		copy(image[places[name]:], content)
	}
	return whole(image), nil
}

// sector is the unit that everything in an image begins on.
const sector = 2048

// blankSize is how large a file is made in the image. Of one that ends with a
// sector, the library writes over the sector behind it.
func blankSize(content []byte) int64 {
	size := int64(len(content))
	if size%sector == 0 {
		size++
	}
	return size
}

// shorten changes the size of a file, in both of the directories that an image has.
func shorten(image []byte, at, from, to int64) error {
	if from == to {
		return nil
	}
	was, is := extentOf(at/sector, from), extentOf(at/sector, to)
	if n := bytes.Count(image, was); n != 2 {
		return fmt.Errorf("it is in %d directories", n)
	}
	for range 2 {
		copy(image[bytes.Index(image, was):], is)
	}
	return nil
}

// extentOf is how a directory says where a file is, in both orders of bytes.
func extentOf(place, size int64) []byte {
	var b []byte
	for _, n := range []int64{place, size} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return b
}

// whole fills the last sector up: the library leaves it at the end of what it holds,
// and a drive doesn't show a part of one.
func whole(image []byte) []byte {
	if over := len(image) % sector; over > 0 {
		image = append(image, make([]byte, sector-over)...)
	}
	return image
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
		if err := writeBlank(filepath.Join(dir, name), blankSize(files[name])); err != nil {
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
