package pvesim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxVolumes is how many disks of a guest a storage may hold.
const maxVolumes = 1024

// newName checks the name that was asked for, or finds a free one, by the
// rules of the storage's type and of the release.
func (s *Storage) newName(sp *Space, vmid int, format, name string, release9 bool) (volname string, err error) {
	switch s.Type {
	case "iscsi", "iscsidirect":
		return "", die("can't allocate space in iscsi storage")
	case "pbs":
		return "", die("can't allocate space in pbs storage")
	case "esxi":
		return "", die("creating images is not supported for PVE::Storage::ESXiPlugin")
	case "lvm":
		if release9 {
			return s.newChainName(sp, vmid, format, name)
		}
	case "rbd":
		format = "raw" // whatever was asked for
	}
	if s.plugin().files {
		return s.newFileName(sp, vmid, format, name)
	}
	if format != "raw" && !(format == "subvol" && s.Type == "zfspool") {
		return "", s.unsupported(format)
	}
	prefix := "vm"
	if format == "subvol" {
		prefix = "subvol"
	}
	if name == "" {
		return s.freeName(sp, vmid, format)
	}
	if !strings.HasPrefix(name, fmt.Sprintf("%s-%d-", prefix, vmid)) {
		return "", die("illegal name '%s' - should be '%s-%d-*'", name, prefix, vmid)
	}
	return name, nil
}

func (s *Storage) unsupported(format string) error {
	return die("unsupported format '%s' at /usr/share/perl5/PVE/Storage/%s.pm line 1.", format, s.perlName())
}

func (s *Storage) newFileName(sp *Space, vmid int, format, name string) (string, error) {
	var err error
	if name == "" {
		if name, err = s.freeName(sp, vmid, format); err != nil {
			return "", err
		}
	}
	have, _, err := parseImageFile(name)
	if err != nil {
		return "", err
	}
	if have != format {
		return "", die("illegal name '%s' - wrong extension for format ('%s != '%s')", name, have, format)
	}
	return strconv.Itoa(vmid) + "/" + name, nil
}

// newChainName is for LVM since release 9, where names tell the format.
func (s *Storage) newChainName(sp *Space, vmid int, format, name string) (string, error) {
	var err error
	if name == "" {
		if name, err = s.freeName(sp, vmid, format); err != nil {
			return "", err
		}
	}
	if format != "raw" && format != "qcow2" {
		return "", s.unsupported(format)
	}
	n, err := s.parseName(name)
	if err != nil {
		return "", err
	}
	if n.format != format {
		suggest := name + ".qcow2"
		if format == "raw" {
			suggest = strings.TrimSuffix(name, ".qcow2")
		}
		return "", die("volume name '%s' does not match requested format '%s' (did you mean '%s'?)", name, format, suggest)
	}
	if format == "qcow2" && !s.chained() {
		return "", die("snapshot-as-volume-chain option need to be enabled to use qcow2 format at /usr/share/perl5/PVE/Storage/LVMPlugin.pm line 1.")
	}
	return name, nil
}

// freeName finds the next free name for a disk of the guest.
func (s *Storage) freeName(sp *Space, vmid int, format string) (string, error) {
	prefix, suffix := "vm", ""
	if format == "subvol" {
		prefix = "subvol"
	}
	if s.plugin().files || s.Type == "lvm" && format == "qcow2" {
		suffix = "." + format
	}
	// On storages that can hold subvolumes a number is taken whatever the
	// format of the disk that has it.
	anyFormat := suffix == "" || slices.Contains(s.plugin().formats, "subvol")
	taken := map[int]bool{}
	for name := range sp.ofVM(vmid) {
		if i := strings.LastIndexByte(name, '/'); i >= 0 {
			name = name[i+1:]
		}
		_, rest, ok := strings.Cut(name, fmt.Sprintf("-%d-disk-", vmid))
		if !ok {
			continue
		}
		digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if digits < 0 {
			digits = len(rest)
		}
		if digits > 0 && (anyFormat || strings.HasPrefix(rest[digits:], suffix)) {
			taken[atoi(rest[:digits])] = true
		}
	}
	for i := range maxVolumes {
		if !taken[i] {
			return fmt.Sprintf("%s-%d-disk-%d%s", prefix, vmid, i, suffix), nil
		}
	}
	return "", die("unable to allocate an image name for VM %d in storage '%s'", vmid, s.ID)
}
