package prop

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Disk is a drive: scsi0, virtio0, sata0, ide0 …, unused0 …
type Disk struct {
	// File is the volume id of the drive. Instead it may be "none" for an empty
	// CD-ROM drive, "cdrom" for the one of the node, a path of the node, or what
	// NewVolume and CloudInitVolume return, to have Proxmox make the volume.
	File       string
	ImportFrom string // fills a new volume: volume id or path

	Media        string // "cdrom", or "disk"
	Size         Size   // set by Proxmox for information
	Format       string // of a new volume: "raw", "qcow2" …
	Cache        string
	AIO          string
	Discard      bool
	SSD          bool
	IOThread     bool
	ReadOnly     bool
	Snapshot     bool // changes are lost at shutdown
	Shared       bool
	SCSIBlock    bool
	Backup       Opt[bool] // absent: true
	Replicate    Opt[bool] // absent: true
	DetectZeroes Opt[bool]
	Queues       int
	Serial       string // URL-encoded
	WWN          string
	Rest
}

var diskForm = form{
	name:   "disk",
	key:    "file",
	need:   []string{"file"},
	sorted: true,
	aliases: map[string]string{
		"volume":         "file",
		"bps_rd_length":  "bps_rd_max_length",
		"bps_wr_length":  "bps_wr_max_length",
		"iops_rd_length": "iops_rd_max_length",
		"iops_wr_length": "iops_wr_max_length",
	},
	dropped: []string{"cyls", "heads", "secs", "trans"},
}

// discard is either "on" or "ignore", unlike booleans.
var discard = codec[bool]{
	parse: func(s string) (bool, error) {
		switch s {
		case "on":
			return true, nil
		case "ignore":
			return false, nil
		}
		return false, fmt.Errorf("neither on nor ignore")
	},
	print: func(b bool) string {
		if b {
			return "on"
		}
		return "ignore"
	},
}

// options are all fields but those that say which volume it is.
func (d *Disk) options() []field {
	return []field{
		bind("aio", &d.AIO, text),
		optFlag("backup", &d.Backup).or("1"),
		bind("cache", &d.Cache, text).or("none"),
		optFlag("detect_zeroes", &d.DetectZeroes),
		bind("discard", &d.Discard, discard),
		flag("iothread", &d.IOThread),
		bind("media", &d.Media, text).or("disk"),
		bind("queues", &d.Queues, natural),
		optFlag("replicate", &d.Replicate).or("1"),
		flag("ro", &d.ReadOnly),
		flag("scsiblock", &d.SCSIBlock),
		bind("serial", &d.Serial, text),
		flag("shared", &d.Shared),
		flag("snapshot", &d.Snapshot),
		flag("ssd", &d.SSD),
		bind("wwn", &d.WWN, text).comparedBy(strings.ToLower),
	}
}

func (d *Disk) fields() []field {
	return append(d.options(),
		bind("file", &d.File, text),
		bind("format", &d.Format, text),
		bind("import-from", &d.ImportFrom, text),
		bytesOf("size", &d.Size),
	)
}

// ParseDisk parses the value of a drive key.
func ParseDisk(s string) (Disk, error) {
	var d Disk
	if err := diskForm.read(s, d.fields(), &d.Rest); err != nil {
		return Disk{}, err
	}
	if err := checkFile(d.File); err != nil {
		return Disk{}, fmt.Errorf("parse disk %q: %w", s, err)
	}
	return d.settled(), nil
}

// settled adds and removes what Proxmox does for drives without a volume.
func (d Disk) settled() Disk {
	if d.File == "none" || d.File == "cdrom" {
		d.Size = 0
		d.given.Set("size", "")
		d.Media = cmp.Or(d.Media, "cdrom")
	}
	return d
}

func checkFile(file string) error {
	if file == "none" || file == "cdrom" || strings.HasPrefix(file, "/") || newVolume.MatchString(file) {
		return nil
	}
	_, err := ParseVolumeID(file)
	return err
}

// String prints the drive as Proxmox stores it.
func (d Disk) String() string {
	d = d.settled()
	return diskForm.write(d.fields(), d.Rest)
}

// Equal reports whether both are the same volume with the same options.
func (d Disk) Equal(o Disk) bool {
	d, o = d.settled(), o.settled()
	return equal(d.fields(), o.fields(), d.Rest, o.Rest)
}

// SameOptions reports whether both have the same options, whichever volume they
// use and however large it is.
func (d Disk) SameOptions(o Disk) bool {
	d, o = d.settled(), o.settled()
	return equal(d.options(), o.options(), d.Rest, o.Rest)
}

// Volume returns the volume that the drive uses, if it is one that exists.
func (d Disk) Volume() (VolumeID, bool) { return volumeOf(d.File) }

// New returns what is to be made, if the drive asks for a new volume. The storage
// is empty if Proxmox is to choose it; the size doesn't count if there is
// something to import.
func (d Disk) New() (storage string, size Size, ok bool) { return newOf(d.File) }

// IsCloudInit reports whether it is the drive that Proxmox makes for cloud-init.
func (d Disk) IsCloudInit() bool { return cloudInitFile.MatchString(d.File) }

// IsCDROM reports whether it is a CD-ROM drive, be it empty or for cloud-init.
func (d Disk) IsCDROM() bool {
	return d.Media == "cdrom" || d.File == "none" || d.File == "cdrom" || strings.HasSuffix(d.File, ":cloudinit")
}

var (
	newVolume     = regexp.MustCompile(`^(?:([^/:\s]+):)?(\d+(?:\.\d+)?)$`)
	cloudInitFile = regexp.MustCompile(`[:/](?:vm-\d+-)?cloudinit(?:\.(?:raw|qcow|qcow2|qed|vmdk|cloop))?$`)
)

func volumeOf(file string) (VolumeID, bool) {
	v, err := ParseVolumeID(file)
	return v, err == nil && !newVolume.MatchString(file) && v.Name != "cloudinit"
}

func newOf(file string) (storage string, size Size, ok bool) {
	m := newVolume.FindStringSubmatch(file)
	if m == nil {
		return "", 0, false
	}
	gib, err := strconv.ParseFloat(m[2], 64)
	bytes := gib * float64(GiB)
	if err != nil || bytes >= math.MaxInt64 {
		return "", 0, false
	}
	return m[1], Size(bytes), true
}

// NewVolume returns the File of a drive for which Proxmox makes a volume of this size.
// With ImportFrom the size is to be 0.
func NewVolume(storage string, size Size) string {
	gib := strconv.FormatFloat(float64(size)/float64(GiB), 'f', -1, 64)
	return storage + ":" + gib
}

// CloudInitVolume returns the File of a drive for cloud-init on this storage.
func CloudInitVolume(storage string) string { return storage + ":cloudinit" }
