//go:build linux

package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ignitionNames are the files of a seed that may hold the Ignition file: where
// Ignition looks for it itself on Proxmox, and where the Terraform module puts
// it.
var ignitionNames = []string{"user-data", "vendor-data", "meta-data"}

// putIgnition takes the Ignition file out of the seed, and puts it where QEMU
// looks for it.
func (h *Host) putIgnition(vmid int, s ignitionStep) error {
	fail := func(err error) error { return fmt.Errorf("the Ignition file from %s: %w", s.volume, err) }
	path, err := h.volumeFile(s.volume)
	if err != nil {
		return fail(err)
	}
	image, err := openPlain(path)
	if errors.Is(err, os.ErrNotExist) {
		return fail(fmt.Errorf("there is no file %s", path))
	}
	if err != nil {
		return fail(err)
	}
	defer image.Close()
	files, err := readISO(image, ignitionNames)
	if err != nil {
		return fail(err)
	}
	config, err := findIgnition(files)
	if err != nil {
		return fail(err)
	}
	for _, file := range s.files {
		if err := h.putPrivate(vmid, file, config); err != nil {
			return fail(err)
		}
		h.note(vmid, "the Ignition file from %s is at %s", s.volume, file)
	}
	return nil
}

// findIgnition is the first file that is one.
func findIgnition(files map[string][]byte) ([]byte, error) {
	for _, name := range ignitionNames {
		var config struct {
			Ignition struct {
				Version string `json:"version"`
			} `json:"ignition"`
		}
		if json.Unmarshal(files[name], &config) == nil && config.Ignition.Version != "" {
			return files[name], nil
		}
	}
	return nil, errors.New("neither user-data nor vendor-data nor meta-data is an Ignition file")
}

// putPrivate puts a file where only we can read it.
func (h *Host) putPrivate(vmid int, file string, data []byte) error {
	path := h.path(file)
	for _, dir := range []string{filepath.Dir(path), h.recordDir(vmid)} {
		if err := h.privateDir(dir); err != nil {
			return err
		}
	}
	if err := writeRecord(h.recordFile(vmid, file), record{File: path}); err != nil {
		return err
	}
	if err := writeWhole(path, data); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		// Modes below /etc/pve are what Proxmox says.
		h.warn(vmid, fmt.Errorf("%s can be read by others (mode %04o)", file, info.Mode().Perm()))
	}
	return nil
}
