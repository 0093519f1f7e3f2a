package pvesim

import (
	"fmt"
	"os"
	"path/filepath"
)

// ImportDisk does what "qm disk import" does: it copies an image into a new disk, which the
// VM doesn't use yet. local is the file of this host that holds it, for files that
// are on no storage.
func (h *Host) ImportDisk(vmid int, file, local, storage, format string, logf func(line string)) (key, volid string, err error) {
	s := h.sim
	s.mu.Lock()
	defer s.mu.Unlock()
	err = h.trap(func(a *actor) error {
		key, volid, err = h.importDisk(a, vmid, file, local, storage, format, func(format string, args ...any) { logf(fmt.Sprintf(format, args...)) })
		return err
	})
	return key, volid, err
}

func (h *Host) importDisk(a *actor, vmid int, file, local, storage, format string, logf func(string, ...any)) (key, volid string, err error) {
	s := h.sim
	vm, err := s.loadVM(h.node, vmid)
	if err == nil {
		err = vm.checkLock()
	}
	if err != nil {
		return "", "", err
	}
	from, err := s.imageSource(h.node, file, local)
	if err != nil {
		return "", "", err
	}
	st, err := s.storageOn(h.node, storage)
	switch {
	case err != nil:
		return "", "", err
	case !st.HasContent("images"):
		return "", "", die("storage %s does not support vm images", storage)
	}
	logf("importing disk '%s' to VM %d ...", file, vmid)
	volid, err = a.fill(h.node, storage, s.formatFor(storage, format), vmid, from, logf)
	if err != nil {
		return "", "", err
	}
	err = a.lockedVM(h.node, vmid, func(vm *VM) error {
		if err := vm.Conf.addUnused(volid); err != nil {
			return err
		}
		for i := range maxUnused {
			if vm.Conf[unusedKey(i)] == volid {
				key = unusedKey(i)
			}
		}
		s.dirty()
		return nil
	})
	if err != nil {
		a.abandon(h.node, volid)
	}
	return key, volid, err
}

// imageSource is a file of a node that is copied into a disk. What is in it, its
// bytes say.
func (s *Sim) imageSource(node, file, local string) (copySource, error) {
	from := copySource{path: file, format: "raw", volume: &Volume{Blob: local}}
	if local == "" {
		_, volid := s.pathVolume(node, file)
		v, _ := s.volume(node, volid)
		if v == nil {
			return from, die("%s: non-existent or non-regular file", file)
		}
		from = copySource{path: file, format: v.Format, size: v.Size, data: v.Used, system: v.System, volume: v}
		from.storage, _, _ = splitVolID(volid)
	}
	return from, s.detect(&from)
}

// detect finds out what is in a file of which only the bytes are known.
func (s *Sim) detect(from *copySource) error {
	if from.volume == nil || from.volume.Blob == "" || from.volume.Content == "images" {
		return nil
	}
	if filepath.IsAbs(from.volume.Blob) && from.data == 0 {
		file, err := os.Stat(from.volume.Blob) // of this host
		if err != nil {
			return err
		}
		from.data = file.Size()
	}
	info, err := s.probeBlob(from.volume.Blob, from.data)
	if err != nil {
		return err
	}
	from.format, from.size = info.format, info.size
	if from.system == Blank && info.bootable {
		from.system = WithAgent
	}
	return nil
}
