//go:build linux

package qemu

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/pvesim"
)

// resolve makes of a machine what QEMU can be told: discs of seeds are
// files, variables of the UEFI have their first values.
func (b *Backend) resolve(m *pvesim.Machine) (*pvesim.Machine, error) {
	out := *m
	out.Drives = slices.Clone(m.Drives)
	for i := range out.Drives {
		d := &out.Drives[i]
		if d.Seed == nil {
			continue
		}
		files := map[string][]byte{}
		for name, text := range d.Seed {
			files[name] = []byte(text)
		}
		// Another seed is another file: QEMU has the old one open.
		d.ISO = filepath.Join(b.guestDir(m.ID), d.Key+"-"+firstboot.Digest(files)[:16]+".iso")
		if err := writeISO(d.ISO, files); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

func writeISO(path string, files map[string][]byte) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	image, err := firstboot.ISO(files)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return replaceFile(path, func(tmp string) error { return os.WriteFile(tmp, image, 0o600) })
}
