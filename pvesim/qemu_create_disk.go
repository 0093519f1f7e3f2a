package pvesim

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/pvesim/access"
)

const (
	cloudInitSize = 4 << 20
	tpmStateSize  = 4 << 20
)

// diskMaker makes the disks of a VM that a request asks for.
type diskMaker struct {
	*actor
	who     *access.Identity
	node    string
	vmid    int
	conf    Conf // the VM as it is; decides about templates, EFI and cloud-init
	pending Conf
	storage string // for disks that name none
	work    string // storage where archives are unpacked
	logf    func(string, ...any)

	made Conf
	vols []string
}

// createDisks makes the drives of set and returns their stored values and
// the volumes that were made. When one fails, none is left.
func (m diskMaker) createDisks(set Conf) (made Conf, vols []string, err error) {
	if m.logf == nil {
		m.logf = discardLine
	}
	m.made = Conf{}
	done := false
	defer func() {
		if !done { // an error, or a signal that unwinds
			m.dropDisks(m.node, m.vols)
		}
	}()
	for _, key := range set.keys() {
		if !isDriveKey[key] {
			continue
		}
		d, ok := m.readDrive(key, set[key])
		if !ok {
			continue
		}
		if err := m.createDisk(d); err != nil {
			return nil, nil, err
		}
	}
	done = true
	return m.made, m.vols, nil
}

// dropDisks removes disks that were made in vain. It works without waiting,
// as it runs while a task is being stopped, too.
func (a *actor) dropDisks(node string, vols []string) {
	for _, volid := range vols {
		a.abandon(node, volid)
	}
}

func (m *diskMaker) createDisk(d drive) error {
	storage, volname, managed := splitVolID(d.volume)
	switch asked := newDisk.FindStringSubmatch(d.volume); {
	case d.volume == "" || d.volume == "none" || d.volume == "cdrom":
		d.set("size", "")
		m.made[d.key] = d.String()
		return nil
	case managed && volname == "cloudinit":
		return m.createCloudInit(d, storage)
	case asked != nil:
		storage = asked[1]
		if storage == "" {
			storage = m.storage
		}
		if storage == "" {
			return die("no storage ID specified (and no default storage)")
		}
		gib, err := strconv.ParseFloat(asked[2], 64)
		if err != nil {
			return err
		}
		if source := d.opt("import-from"); truthy(source) {
			d.set("import-from", "")
			err = m.importInto(&d, storage, source)
		} else {
			err = m.allocate(&d, storage, int64(math.Ceil(gib*(1<<20))))
		}
		if err != nil {
			return err
		}
		d.set("format", "")
		m.made[d.key] = d.String()
		m.logf("%s: successfully created disk '%s'", d.key, m.made[d.key])
		return nil
	}
	return m.attach(d)
}

// createCloudInit makes the drive for cloud-init; a VM has one at most.
func (m *diskMaker) createCloudInit(d drive, storage string) error {
	if err := m.oneCloudInit(d.key); err != nil {
		return err
	}
	st := m.state.Storages[storage]
	if st == nil {
		return die("storage '%s' does not exist", storage)
	}
	name, format := fmt.Sprintf("vm-%d-cloudinit", m.vmid), d.opt("format")
	switch {
	case st.plugin().files:
		if format == "" {
			format = "qcow2"
		}
		name += "." + format
	case st.chained():
		if format == "" {
			format = "qcow2"
		}
		if format == "qcow2" {
			name += ".qcow2"
		}
	case format == "":
		format = "raw"
	}
	volid, err := m.allocDisk(m.node, storage, m.vmid, format, name, cloudInitSize>>10, m.logf)
	if err != nil {
		return err
	}
	m.vols = append(m.vols, volid)
	d.volume = volid
	d.set("media", "cdrom")
	d.set("format", "")
	m.made[d.key] = d.String()
	m.logf("%s: successfully created disk '%s'", d.key, m.made[d.key])
	return nil
}

func (m *diskMaker) oneCloudInit(key string) error {
	for _, c := range []Conf{m.conf, m.pending, m.made} {
		if at := c.cloudInitKey(key); at != "" {
			return die("%s - cloud-init drive is already attached at '%s'", key, at)
		}
	}
	return nil
}

// allocate makes a new disk. Those for EFI variables and TPM state have a
// size of their own.
func (m *diskMaker) allocate(d *drive, storage string, sizeKiB int64) error {
	if m.state.Storages[storage] == nil {
		return die("storage '%s' does not exist", storage)
	}
	format := d.opt("format")
	if format == "" {
		format = m.defaultFormat(storage)
	}
	switch d.key {
	case "efidisk0":
		if m.conf.confidential() == "snp" {
			return die("SEV-SNP uses consolidated read-only firmware and does not require an EFI disk")
		}
		sizeKiB = m.conf.efiVars(*d) >> 10
	case "tpmstate0":
		sizeKiB = tpmStateSize >> 10
	}
	volid, err := m.allocDisk(m.node, storage, m.vmid, format, "", sizeKiB, m.logf)
	if err != nil {
		return err
	}
	m.vols = append(m.vols, volid)
	size := sizeKiB << 10
	if d.key == "efidisk0" {
		m.logf("transferred %s of %s (0.00%%)", humanBytes(0), humanBytes(size))
		m.logf("transferred %s of %s (100.00%%)", humanBytes(size), humanBytes(size))
		if v, _ := m.volume(m.node, volid); v != nil {
			size = v.Size
		}
		if m.atLeast(9) && truthy(d.opt("pre-enrolled-keys")) && d.opt("efitype") == "4m" {
			d.set("ms-cert", "2023k")
		}
	}
	if volid, err = m.asBase(volid); err != nil {
		return err
	}
	d.volume = volid
	d.set("size", schema.FormatSize(size))
	return nil
}

// asBase makes a new disk of a template a base of linked clones.
func (m *diskMaker) asBase(volid string) (string, error) {
	if m.conf["template"] != "1" {
		return volid, nil
	}
	base, err := m.makeBase(m.node, volid)
	if err != nil {
		return "", err
	}
	m.vols[len(m.vols)-1] = base
	return base, nil
}

// attach uses a volume that is there already.
func (m *diskMaker) attach(d drive) error {
	if err := m.needVolume(m.who, m.vmid, d.volume, ""); err != nil {
		return err
	}
	if !d.onStorage() {
		return die("volume %s does not exist", d.volume) // hosts have no disks to pass through
	}
	n, err := m.imageName(d.volume)
	if err != nil {
		return err
	}
	if n.kind != "images" && n.kind != "iso" {
		return die("cannot use volume %s - content type needs to be 'images' or 'iso'", d.volume)
	}
	if f := d.opt("format"); truthy(f) && f != n.format {
		return die("drive '%s' - volume '%s' - 'format=%s' option different from storage format '%s'", d.key, d.volume, f, n.format)
	}
	if d.cloudInit() {
		if err := m.oneCloudInit(d.key); err != nil {
			return err
		}
	}
	if _, err := m.activate(m.node, n.storage); err != nil {
		return err
	}
	v, _ := m.volume(m.node, d.volume)
	if v == nil {
		return m.missingVolume(d.volume)
	}
	if v.Size == 0 {
		return die("volume %s does not exist", d.volume)
	}
	d.set("size", schema.FormatSize(v.Size))
	m.made[d.key] = d.String()
	return nil
}

// imageName takes the id of a volume apart that QEMU is to use.
func (s *Sim) imageName(volid string) (volName, error) {
	n, err := s.parseVolID(volid)
	if err != nil {
		return n, err
	}
	format := strings.TrimPrefix(n.format, "ova+")
	switch format {
	case "raw", "qcow", "qcow2", "qed", "vmdk", "cloop":
		return n, nil
	case "":
		if n.kind == "import" {
			return n, die("unable to parse format for import volume '%s'", volid)
		}
		n.format = "raw"
		return n, nil
	}
	return n, die("volume '%s' - not a QEMU image format '%s'", volid, n.format)
}

// packed reports whether the volume is inside an OVA archive.
func (n volName) packed() bool { return strings.HasPrefix(n.format, "ova+") }
