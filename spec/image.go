package spec

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/spec/suggest"
)

// Image is a source of machines: one of Source, URL and ISO.
type Image struct {
	Owner          model.Owner
	Source         string    // a template, by its name or VMID
	SourceSelector *Selector // which of the templates of that name; nil: any
	URL            string    // a disk image that Proxmox fetches
	Checksum       string
	ChecksumType   string // empty: by the length of Checksum
	ISO            string // a name such as debian.iso, or a volume
	Storage        string // of what is fetched
	// Nodes get a template before a machine needs it there; "*": all.
	Nodes []string
	// Copies says whether a template with local disks is copied to nodes that machines are placed
	// on: auto, the default, or never.
	Copies  string
	OS      OS
	Deleted bool
	Hold    model.Hold
}

// Selector selects among templates of the same name.
type Selector struct {
	Pool    string
	Tag     string
	Nodes   []string
	Storage string // of the root disk
}

// OS describes the system in an image.
type OS struct {
	Type     string // as Proxmox' ostype
	Ignition string // newest version of Ignition configs that it reads
	Agent    bool   // the guest agent is installed
	BIOS     string // that it needs: seabios or uefi
}

// Check returns the errors of an image that don't depend on the cluster.
func (i *Image) Check() Errors {
	r := report{object: i.Owner.Key}
	r.image(i)
	return r.errs
}

// Image translates an image for a cluster, and reports errors.
func (c *Cluster) Image(i Image) (model.Image, Errors) {
	img, errs, _ := c.image(&i)
	if e := c.Forbids(&i); e != nil {
		errs = append(errs, e)
	}
	return img, errs
}

// Forbids returns why the cluster doesn't allow an image; nil: it may be used.
func (c *Cluster) Forbids(i *Image) *Error {
	field, what, list, entry := c.forbiddenSource(i)
	if field == "" {
		return nil
	}
	r := report{object: i.Owner.Key}
	r.forbid(c, field, what, list, entry)
	return r.errs[0]
}

// image translates an image for the cluster.
func (c *Cluster) image(i *Image) (model.Image, Errors, []*Error) {
	r := report{object: i.Owner.Key}
	m := r.image(i)
	m.Range, m.OnlyTemplate = c.vmids(), c.onlyTemplates() && m.VMID != 0
	if m.URL != "" && m.Storage == "" {
		m.Storage = c.Defaults.Storage
	}
	if i.ISO != "" {
		m.ISO, m.Storage = c.isoVolume(i), ""
	}
	return m, r.errs, r.notes
}

// What a machine has that no template says anything about. A new machine in
// Proxmox' own interface has the same.
var newMachine = map[string]string{"cpu": "x86-64-v2-AES", "ostype": "l26", "scsihw": "virtio-scsi-single"}

// isoName are the names that Proxmox lists ISO images under, with their storage or
// without.
var isoName = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]:iso/)?[^/:,[:cntrl:]]+\.(?i:iso|img)$`)

// image is what holds of an image in any cluster.
func (r *report) image(spec *Image) model.Image {
	img := model.Image{Owner: spec.Owner, Storage: spec.Storage, Deleted: spec.Deleted, Hold: spec.Hold}
	given := 0
	for _, text := range []string{spec.Source, spec.URL, spec.ISO} {
		if text != "" {
			given++
		}
	}
	switch {
	case given == 0:
		r.fail("source", "is missing: an image is a source, a url or an iso")
	case given > 1:
		r.fail("", "an image is one of source, url and iso, not several of them")
	case spec.Source != "":
		r.imageSource(&img, spec.Source)
	case spec.URL != "":
		r.imageURL(&img, spec)
	case !isoName.MatchString(spec.ISO):
		r.fail("iso", "want the name of an ISO such as debian.iso or local:iso/debian.iso, have %q", suggest.Shortened(spec.ISO))
	case model.IsSeed(spec.ISO):
		r.fail("iso", "is first-boot data of a machine, which is for that machine only")
	}
	r.sourceSelector(&img, spec)
	r.checkStorage("storage", spec.Storage)
	r.checkWord("os.bios", spec.OS.BIOS, "seabios", "bios", "uefi", "ovmf")
	if spec.OS.Type != "" {
		r.option(options{}, "os.type", "ostype", spec.OS.Type)
	}
	if v := spec.OS.Ignition; v != "" && !ignitionVersion.MatchString(v) {
		r.fail("os.ignition", "want a version such as 3.4.0, have %q", suggest.Shortened(v))
	}
	if spec.URL == "" && (spec.Checksum != "" || spec.ChecksumType != "") {
		r.fail("checksum", "is for images with a url")
	}
	r.imageNodes(&img, spec)
	r.imageCopies(&img, spec)
	return img
}

// imageNodes are the nodes that have a template beforehand.
func (r *report) imageNodes(img *model.Image, spec *Image) {
	if len(spec.Nodes) > 0 && spec.ISO != "" {
		r.fail("nodes", "is for images with a url or a source")
		return
	}
	for _, name := range spec.Nodes {
		if name != model.AllNodes && !nodeName.MatchString(name) {
			r.fail("nodes", "want names of nodes, or \"*\" for all, have %q", suggest.Shortened(name))
		}
	}
	img.Ahead = slices.Compact(slices.Sorted(slices.Values(spec.Nodes)))
}

// CopiesNever says that templates aren't copied to other nodes.
const CopiesNever = "never"

// imageCopies says whether a template is copied to other nodes.
func (r *report) imageCopies(img *model.Image, spec *Image) {
	if spec.Copies == "" {
		return
	}
	if spec.Source == "" {
		r.fail("copies", "is for images with a source")
		return
	}
	r.checkWord("copies", spec.Copies, "auto", CopiesNever)
	img.NoCopies = spec.Copies == CopiesNever
	if img.NoCopies && len(spec.Nodes) > 0 {
		r.fail("nodes", "are the nodes that get copies, and %s says that there are none", called("copies"))
	}
}

// nodeName are the names that nodes can have.
var nodeName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`)

func (r *report) imageSource(img *model.Image, source string) {
	vmid, err := strconv.Atoi(source)
	switch {
	case strings.Contains(source, "://"):
		r.fail("source", "want the name or the VMID of a template; a URL goes into %s", called("url"))
	case err != nil && !IsGuestName(source):
		r.fail("source", "want the name of a template: letters, digits, - and ., with at most 63 of them between dots, have %q", suggest.Shortened(source))
	case err != nil:
		img.Template = source
	case vmid < MinVMID || vmid > MaxVMID:
		r.fail("source", "want a VMID from %d to %d, have %d", MinVMID, MaxVMID, vmid)
	default:
		img.VMID = vmid
	}
}

// sourceSelector selects among templates of the same name.
func (r *report) sourceSelector(img *model.Image, spec *Image) {
	pin := spec.SourceSelector
	if pin == nil {
		return
	}
	const field = "sourceSelector"
	if img.Template == "" {
		r.fail(field, "is for a source that is a template's name")
		return
	}
	r.checkStorage(field+".storage", pin.Storage)
	if pin.Tag != "" {
		if _, err := prop.NewTags(pin.Tag); err != nil {
			r.fail(field+".tag", "%v", err)
		}
	}
	img.Pin = model.Pin{Pool: pin.Pool, Tag: strings.ToLower(pin.Tag), Nodes: pin.Nodes, DiskStorage: pin.Storage}
	if img.Pin.IsZero() {
		r.fail(field, "is empty: give pool, tag, nodes or storage")
	}
}

// imageOptions are the options of the template that is made of a fetched image.
func imageOptions(os OS) map[string]string {
	o := options{}
	for key, value := range newMachine {
		o.set(key, value)
	}
	o.set("serial0", "socket") // cloud images talk to it
	if os.Type != "" {
		o.set("ostype", os.Type)
	}
	if os.Agent {
		o.set("agent", "1")
	}
	if os.BIOS != "" && biosOption(os.BIOS) == "ovmf" {
		o.set("bios", "ovmf")
		o.set("machine", "q35")
	}
	all := map[string]string{}
	for key, value := range o {
		if value != "" {
			all[key] = value
		}
	}
	return all
}

// isoVolume is the volume of an ISO image.
func (c *Cluster) isoVolume(i *Image) string {
	if strings.Contains(i.ISO, ":") {
		return i.ISO
	}
	storage := i.Storage
	if storage == "" {
		storage = c.isoStorage()
	}
	return storage + ":iso/" + i.ISO
}
