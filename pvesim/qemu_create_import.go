package pvesim

import (
	"strings"
	"time"

	"github.com/proxplane/proxplane/pve/schema"
)

// importInto copies an image, or another VM's disk, into a new disk.
func (m *diskMaker) importInto(d *drive, storage, source string) error {
	if _, _, managed := splitVolID(source); !managed {
		return m.importFile(d, storage, source)
	}
	n, err := m.imageName(source)
	if err != nil {
		return err
	}
	src, _ := m.volume(m.node, source)
	if n.packed() {
		return m.importPacked(d, storage, source)
	}
	if n.kind == "import" && src == nil {
		return die("failed to stat '%s'", m.volumePath(source))
	}
	return m.importVolume(d, storage, source)
}

// importVolume copies a volume; its errors say which.
func (m *diskMaker) importVolume(d *drive, storage, source string) error {
	var volid string
	var size int64
	err := m.trap(func() (err error) {
		volid, size, err = m.copyVolume(d, storage, source)
		return err
	})
	if err != nil {
		return die("cannot import from '%s' - %s", source, strings.TrimSuffix(perlText(err), "\n"))
	}
	m.imported(d, volid, size)
	return nil
}

func (m *diskMaker) copyVolume(d *drive, storage, source string) (volid string, size int64, err error) {
	n, err := m.parseVolID(source)
	if err != nil {
		return "", 0, err
	}
	if src, _ := m.volume(m.node, source); src == nil {
		return "", 0, die("could not get size of %s", source)
	}
	if (drive{volume: source}).cloudInit() {
		return "", 0, die("cannot import from cloudinit disk")
	}
	owner := m.state.VMs[n.vmid]
	if owner != nil && owner.Node != m.node {
		return "", 0, die("owner VM %d not on local node", n.vmid)
	}
	running := owner != nil && owner.Run != nil
	if !m.volumeFeature(source, "copy", "") {
		return "", 0, die("cannot import from '%s' - full clone feature is not supported", source)
	}
	if n.vmid != 0 && n.vmid != m.vmid {
		lock := m.lockConfigShared
		if running {
			lock = m.lockConfigFor
		}
		unlock, err := lock(n.vmid, 30*time.Second)
		if err != nil {
			return "", 0, err
		}
		defer unlock()
		if now := m.state.VMs[n.vmid]; now != owner || running != (owner != nil && owner.Run != nil) {
			return "", 0, die("owner VM %d changed state unexpectedly", n.vmid)
		}
	}
	if err := m.sameKind(d.key, owner, source); err != nil {
		return "", 0, err
	}
	return m.importDisk(m.node, source, storage, d.opt("format"), m.vmid, m.conf.fixedSize(*d), m.logf)
}

// sameKind sees to it that EFI and TPM disks stay what they are, and logs
// the start of the copy.
func (m *diskMaker) sameKind(key string, owner *VM, source string) error {
	from := ""
	if owner != nil {
		for _, d := range owner.Conf.drives() {
			if d.volume == source {
				from = d.key
				break
			}
		}
	}
	switch {
	case from == "" || from == key:
	case from == "efidisk0" || key == "efidisk0":
		return die("cloning from/to EFI disk requires EFI disk")
	case from == "tpmstate0" || key == "tpmstate0":
		return die("cloning from/to TPM state requires TPM state")
	case owner.Run != nil && owner.ID == m.vmid:
		return die("cannot change drive name when cloning disk from/to the same VM")
	}
	if from != "" {
		from += " "
	}
	m.logf("create full clone of drive %s(%s)", from, source)
	return nil
}

// importPacked unpacks an image from its archive first.
func (m *diskMaker) importPacked(d *drive, storage, source string) error {
	m.logf("extracting %s", source)
	unpacked, err := m.extractImage(m.node, source, m.work, m.vmid, m.logf)
	if err != nil {
		return err
	}
	m.vols = append(m.vols, unpacked)
	m.logf("finished extracting to %s", unpacked)
	if err := m.importVolume(d, storage, unpacked); err != nil {
		return err
	}
	if err := m.freeDisk(m.node, unpacked); err != nil {
		return err
	}
	m.logf("cleaned up extracted image %s", unpacked)
	for i, volid := range m.vols {
		if volid == unpacked {
			m.vols = append(m.vols[:i], m.vols[i+1:]...)
			break
		}
	}
	return nil
}

// importFile copies a file of the host: one that some storage knows.
func (m *diskMaker) importFile(d *drive, storage, file string) error {
	_, volid := m.pathVolume(m.node, file)
	if v, _ := m.volume(m.node, volid); v == nil {
		return die("can't find file '%s'", file)
	}
	format := d.opt("format")
	if format == "" {
		format = m.defaultFormat(storage)
	}
	volid, size, err := m.importDisk(m.node, volid, storage, format, m.vmid, 0, m.logf)
	if err != nil {
		return err
	}
	m.imported(d, volid, size)
	d.volume, err = m.asBase(volid)
	return err
}

// imported puts the copy into the drive.
func (m *diskMaker) imported(d *drive, volid string, size int64) {
	m.vols = append(m.vols, volid)
	d.volume = volid
	d.set("size", schema.FormatSize(size))
}
