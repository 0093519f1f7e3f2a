package prop

import "fmt"

// EFIDisk is where UEFI keeps its variables: efidisk0.
type EFIDisk struct {
	File            string // as of a Disk
	ImportFrom      string
	Format          string
	Size            Size
	Type            string // "4m"; absent: "2m"
	PreEnrolledKeys bool   // for Secure Boot
	MSCert          string // which certificates are enrolled, set by Proxmox
	Rest
}

var efiForm = form{name: "EFI disk", key: "file", need: []string{"file"}, sorted: true, aliases: map[string]string{"volume": "file"}}

func (d *EFIDisk) fields() []field {
	return []field{
		bind("file", &d.File, text),
		bind("efitype", &d.Type, text).or("2m"),
		bind("format", &d.Format, text),
		bind("import-from", &d.ImportFrom, text),
		bind("ms-cert", &d.MSCert, text).or("2011"),
		flag("pre-enrolled-keys", &d.PreEnrolledKeys),
		bytesOf("size", &d.Size),
	}
}

// ParseEFIDisk parses the value of efidisk0.
func ParseEFIDisk(s string) (EFIDisk, error) {
	var d EFIDisk
	if err := efiForm.read(s, d.fields(), &d.Rest); err != nil {
		return EFIDisk{}, err
	}
	if err := checkFile(d.File); err != nil {
		return EFIDisk{}, fmt.Errorf("parse EFI disk %q: %w", s, err)
	}
	return d, nil
}

// String prints the disk as Proxmox stores it.
func (d EFIDisk) String() string { return efiForm.write(d.fields(), d.Rest) }

// Equal reports whether both are the same volume with the same options.
func (d EFIDisk) Equal(o EFIDisk) bool { return equal(d.fields(), o.fields(), d.Rest, o.Rest) }

// Volume returns the volume that the disk uses, if it is one that exists.
func (d EFIDisk) Volume() (VolumeID, bool) { return volumeOf(d.File) }

// New returns the storage on which Proxmox is to make the disk, if it is. The
// size that may stand there is not used by Proxmox.
func (d EFIDisk) New() (storage string, ok bool) {
	storage, _, ok = newOf(d.File)
	return storage, ok
}

// TPMState is where a TPM keeps its state: tpmstate0.
type TPMState struct {
	File       string // as of a Disk
	ImportFrom string
	Format     string
	Size       Size
	Version    string // "v2.0"; absent: "v1.2"
	Rest
}

var tpmForm = form{name: "TPM state", key: "file", need: []string{"file"}, sorted: true, aliases: map[string]string{"volume": "file"}}

func (d *TPMState) fields() []field {
	return []field{
		bind("file", &d.File, text),
		bind("format", &d.Format, text),
		bind("import-from", &d.ImportFrom, text),
		bytesOf("size", &d.Size),
		bind("version", &d.Version, text).or("v1.2"),
	}
}

// ParseTPMState parses the value of tpmstate0.
func ParseTPMState(s string) (TPMState, error) {
	var d TPMState
	if err := tpmForm.read(s, d.fields(), &d.Rest); err != nil {
		return TPMState{}, err
	}
	if err := checkFile(d.File); err != nil {
		return TPMState{}, fmt.Errorf("parse TPM state %q: %w", s, err)
	}
	return d, nil
}

// String prints the disk as Proxmox stores it.
func (d TPMState) String() string { return tpmForm.write(d.fields(), d.Rest) }

// Equal reports whether both are the same volume with the same options.
func (d TPMState) Equal(o TPMState) bool { return equal(d.fields(), o.fields(), d.Rest, o.Rest) }

// Volume returns the volume that the disk uses, if it is one that exists.
func (d TPMState) Volume() (VolumeID, bool) { return volumeOf(d.File) }

// New returns the storage on which Proxmox is to make the disk, if it is. The
// size that may stand there is not used by Proxmox.
func (d TPMState) New() (storage string, ok bool) {
	storage, _, ok = newOf(d.File)
	return storage, ok
}
