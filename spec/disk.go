package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/spec/suggest"
)

// Disk is a disk of a machine. The disk of the image is named root.
type Disk struct {
	Name     string
	Size     *resource.Quantity
	Storage  string
	Type     string // thin or thick
	Bus      string // scsi, virtio or sata
	Slot     string // empty: a free one of the bus
	SSD      *bool
	Discard  *bool
	IOThread *bool
	Cache    string
	Backup   *bool
}

// rootName is the name of the disk that came with the image.
const rootName = "root"

// leastDisk is smaller than any disk that is of use, and larger than numbers whose
// unit was forgotten.
const leastDisk = 16 << 10

// isoSlot is where an ISO image is. Proxmox can use ide0 with every board; ide2 is
// where first-boot data goes, if it is free.
const isoSlot = "ide0"

var slotText = regexp.MustCompile(`^(scsi([0-9]|[12][0-9]|30)|virtio([0-9]|1[0-5])|sata[0-5]|ide[0-3])$`)

// disks translates the disks of a machine. Those whose manifest names no slot are
// known by their serial number, which is their name: the slot given here is a
// proposal for one that isn't there yet, since it would be another one when a
// disk before it in the list goes.
func (b *build) disks(m *Machine) []model.Disk {
	root := model.Disk{Slot: model.RootSlot, Name: rootName, Storage: b.class.storage, Format: b.class.format}
	if b.source.Blank && root.Storage == "" {
		root.Storage = b.cluster.Defaults.Storage
	}
	taken, names := map[string]bool{}, map[string]int{}
	for i, d := range m.Disks {
		field := fmt.Sprintf("disks[%d]", i)
		if first, twice := names[d.Name]; twice && d.Name != "" {
			b.fail(field+".name", "%s is there twice, first as %s", d.Name, inMachine("disks[%d]", first))
		}
		names[d.Name] = i
		if d.Slot != "" {
			if taken[d.Slot] {
				b.fail(field+".slot", "%s is taken by another disk", d.Slot)
			}
			taken[d.Slot] = true
		}
	}
	var others []model.Disk
	for i, d := range m.Disks {
		field := fmt.Sprintf("disks[%d]", i)
		if d.Name == rootName {
			b.rootDisk(field, d, &root)
		} else {
			others = append(others, b.furtherDisk(field, d, taken))
		}
	}
	all := []model.Disk{root}
	switch {
	case b.source.Blank && m.Disks != nil && len(m.Disks) == 0:
		all = nil // it has none, on purpose
	case b.source.Blank:
		b.blankRoot(names, root)
	}
	return slices.Concat(all, others, b.firmware(root.Storage))
}

func (b *build) rootDisk(field string, d Disk, root *model.Disk) {
	if d.Bus != "" || d.Slot != "" {
		b.fail(field, "root is where the image has it; bus and slot are for further disks")
	}
	b.diskCommon(field, d, root)
	b.diskOptions(field, d, root, "")
}

// blankRoot: without an image, nothing says how large the root disk is and where.
func (b *build) blankRoot(names map[string]int, root model.Disk) {
	i, named := names[rootName]
	field := fmt.Sprintf("disks[%d]", i)
	switch {
	case !named:
		b.fail("disks", "a machine that isn't made from a template needs a disk named root; one without disks says disks: []")
	case root.Size == 0:
		b.fail(field+".size", "is missing")
	case root.Storage == "":
		b.fail(field+".storage", "is missing, and neither the %s nor the %s names a storage", TheClass, TheCluster)
	}
}

func (b *build) furtherDisk(field string, d Disk, taken map[string]bool) model.Disk {
	out := model.Disk{Slot: d.Slot, Name: d.Name, Storage: b.storage(), Format: b.class.format}
	b.checkWord(field+".bus", d.Bus, "scsi", "virtio", "sata")
	switch {
	case d.Name == "":
		b.fail(field+".name", "is missing")
	case !partName.MatchString(d.Name) || len(d.Name) > 63:
		b.fail(field+".name", "want lower-case letters, digits and -, have %q", suggest.Shortened(d.Name))
	case d.Slot == "ide2" && !b.source.Blank:
		b.fail(field+".slot", "ide2 is where images have a drive for first-boot data")
	case d.Slot == isoSlot && b.iso != "":
		b.fail(field+".slot", "%s is for the ISO image", isoSlot)
	case d.Slot != "" && !slotText.MatchString(d.Slot):
		b.fail(field+".slot", "want a slot such as scsi1, virtio1 or sata1, have %q", suggest.Shortened(d.Slot))
	case d.Slot != "" && d.Bus != "" && !strings.HasPrefix(d.Slot, d.Bus):
		b.fail(field+".bus", "the slot is %s", d.Slot)
	case d.Size == nil:
		b.fail(field+".size", "is missing")
	case d.Slot == "":
		out.Slot = b.freeSlot(field, d.Bus, taken)
		taken[out.Slot] = true
		out.Options = map[string]string{"serial": serial(d.Name)}
	}
	b.diskCommon(field, d, &out)
	b.diskOptions(field, d, &out, strings.TrimRight(out.Slot, "0123456789"))
	return out
}

// storage is where new disks go when they don't say.
func (b *build) storage() string {
	if b.class.storage != "" {
		return b.class.storage
	}
	return b.cluster.Defaults.Storage
}

// busSlots are the last slots of each bus.
var busSlots = map[string]int{"scsi": 30, "virtio": 15, "sata": 5}

// freeSlot proposes a slot; the first of each bus may be the root disk's.
func (b *build) freeSlot(field, bus string, taken map[string]bool) string {
	if busSlots[bus] == 0 {
		bus = "scsi"
	}
	for n := 1; n <= busSlots[bus]; n++ {
		if slot := bus + strconv.Itoa(n); !taken[slot] {
			return slot
		}
	}
	b.fail(field, "there are more disks than the bus %s has slots", bus)
	return ""
}

// serial is what the guest sees of a disk's name; it has room for 20 characters.
func serial(name string) string {
	const most = 20
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:most-9] + "-" + hex.EncodeToString(sum[:4])
}

func (b *build) diskCommon(field string, d Disk, out *model.Disk) {
	b.checkStorage(field+".storage", d.Storage)
	if d.Storage != "" {
		out.Storage = d.Storage
	}
	if f := b.format(field+".type", d.Type); f != "" {
		out.Format = f
	}
	if d.Size == nil {
		return
	}
	if !b.countable(field+".size", *d.Size) {
		out.Size = leastDisk // it isn't missing
		return
	}
	out.Size = d.Size.Value()
	if out.Size < leastDisk {
		b.fail(field+".size", "want at least 16Ki, have %s%s", d.Size.String(), unitHint(*d.Size, 1<<20))
	}
}

func (b *build) diskOptions(field string, d Disk, out *model.Disk, bus string) {
	set := func(key, value string) {
		if out.Options == nil {
			out.Options = map[string]string{}
		}
		// By way of a whole property string, to know what is a default.
		out.Options[key] = prop.Properties("scsi0", "lvm:x,"+key+"="+value)[key]
	}
	flag := func(key string, v *bool, on, off string) {
		if v != nil && *v {
			set(key, on)
		} else if v != nil {
			set(key, off)
		}
	}
	if d.SSD != nil && bus == "virtio" {
		b.fail(field+".ssd", "disks on the virtio bus can't say that they are SSDs; use scsi")
	}
	if d.IOThread != nil && *d.IOThread && (bus == "sata" || bus == "ide") {
		b.fail(field+".ioThread", "is for disks on the scsi and virtio buses")
	}
	flag("ssd", d.SSD, "1", "0")
	flag("discard", d.Discard, "on", "ignore")
	flag("iothread", d.IOThread, "1", "0")
	flag("backup", d.Backup, "1", "0")
	if b.checkWord(field+".cache", d.Cache, "none", "writethrough", "writeback", "directsync", "unsafe") && d.Cache != "" {
		set("cache", d.Cache)
	}
}

// firmware are the disks that UEFI and TPM keep their state on, and the drive
// with the ISO image.
func (b *build) firmware(rootStorage string) []model.Disk {
	storage := rootStorage
	if storage == "" {
		storage = b.storage()
	}
	var disks []model.Disk
	if b.opts["bios"] == "ovmf" {
		efi := model.Disk{Slot: "efidisk0", Name: "efi", Storage: storage, Format: b.class.format, Options: map[string]string{"efitype": "4m"}}
		if b.class.secureBoot {
			efi.Options["pre-enrolled-keys"] = "1"
		}
		disks = append(disks, efi)
	}
	if b.iso != "" {
		disks = append(disks, model.Disk{Slot: isoSlot, Name: "iso", Volume: b.iso, CDROM: true})
	}
	if b.class.tpm {
		disks = append(disks, model.Disk{Slot: "tpmstate0", Name: "tpm", Storage: storage, Options: map[string]string{"version": "v2.0"}})
	}
	return disks
}
