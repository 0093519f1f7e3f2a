package prop

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// VolumeID names a volume of a storage: "local-lvm:vm-100-disk-0".
type VolumeID struct {
	Storage string
	Name    string // on the storage; its shape depends on the kind of storage
}

var (
	volumeText = regexp.MustCompile(`^(?i)([a-z][a-z0-9_.-]*[a-z0-9]):(.+)$`)

	// Names of images. A file of a directory storage lies in a folder of its
	// owner; a linked clone is preceded by its base.
	dirLinked = regexp.MustCompile(`^(\d+)/(\S+)/(\d+)/(\S+)$`)
	dirImage  = regexp.MustCompile(`^(\d+)/(\S+)$`)
	image     = regexp.MustCompile(`^(?:((?:base|basevol)-\d+-[^\s/]+)/)?((base|basevol|vm|subvol)-(\d+)-[^\s/]+)$`)

	fileFormat = regexp.MustCompile(`\.(raw|qcow2|vmdk|subvol)$`)
	backupFile = regexp.MustCompile(`^(?:vzdump-(?:openvz|lxc|qemu)-(\d+)-|(?:vm|ct)/(\d+)/)`)
)

// ParseVolumeID parses the id of a volume.
func ParseVolumeID(s string) (VolumeID, error) {
	m := volumeText.FindStringSubmatch(s)
	if m == nil || strings.IndexFunc(s, isControl) >= 0 {
		return VolumeID{}, fmt.Errorf("parse volume id %q: not of the form storage:name", s)
	}
	return VolumeID{Storage: m[1], Name: m[2]}, nil
}

func (v VolumeID) String() string { return v.Storage + ":" + v.Name }

// Volume is what the name of a volume tells about it.
type Volume struct {
	Content string // "images", "iso", "import", "snippets", "vztmpl", "backup"; empty if the name doesn't tell
	File    string // the last part of the name
	Owner   int    // VMID of the guest it belongs to, 0 if of none
	Format  string // "raw", "qcow2" …; empty if the name doesn't tell
	IsBase  bool   // it belongs to a template, others may depend on it
	Base    string // name of the volume that this one depends on, as a linked clone
}

// Volume reads the name of the volume. All kinds of storage of Proxmox name their
// volumes so that one can tell without knowing the kind.
func (v VolumeID) Volume() Volume {
	if m := dirLinked.FindStringSubmatch(v.Name); m != nil {
		vol := imageFile(m[3], m[4])
		vol.Base = m[1] + "/" + m[2]
		return vol
	}
	if m := dirImage.FindStringSubmatch(v.Name); m != nil {
		return imageFile(m[1], m[2])
	}
	if m := image.FindStringSubmatch(v.Name); m != nil {
		vol := imageFile(m[4], m[2])
		vol.Base = m[1]
		vol.IsBase = strings.HasPrefix(m[3], "base")
		if vol.Format == "" {
			vol.Format = "raw"
			if strings.HasSuffix(m[3], "vol") {
				vol.Format = "subvol"
			}
		}
		return vol
	}
	content, file, ok := strings.Cut(v.Name, "/")
	if !ok {
		return Volume{File: v.Name}
	}
	vol := Volume{Content: content, File: file}
	switch content {
	case "iso", "vztmpl", "snippets":
		vol.Format = "raw"
	case "import":
		if i := strings.LastIndexByte(file, '.'); i >= 0 {
			vol.Format = file[i+1:]
		}
		if strings.Contains(file, ".ova/") {
			vol.Format = "ova+" + vol.Format
		}
	case "backup":
		if m := backupFile.FindStringSubmatch(file); m != nil {
			vol.Owner = vmid(m[1] + m[2])
		}
	default:
		return Volume{File: v.Name}
	}
	return vol
}

func imageFile(owner, file string) Volume {
	vol := Volume{Content: "images", File: file, Owner: vmid(owner), IsBase: strings.HasPrefix(file, "base-")}
	if m := fileFormat.FindStringSubmatch(file); m != nil {
		vol.Format = m[1]
	}
	return vol
}

func vmid(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
