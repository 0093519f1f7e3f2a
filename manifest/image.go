package manifest

import (
	"encoding/hex"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
)

// image is a VMImage in Proxmox' terms.
type image struct {
	scope
	spec   *api.VMImageSpec
	model  model.Image
	usedBy []*provider
}

func (t *translator) readImages() {
	t.images = map[model.Key]*image{}
	each(t, func(s scope, i *api.VMImage) {
		s.checkName()
		t.images[s.o.key] = s.image(&i.Spec)
		for _, name := range i.Status.Providers {
			t.images[s.o.key].madeOn(name)
		}
	})
}

// What a machine has that no template says anything about. A new machine in
// Proxmox' own interface has the same.
var newMachine = map[string]string{"cpu": "x86-64-v2-AES", "ostype": "l26", "scsihw": "virtio-scsi-single"}

// isoName are the names that Proxmox lists ISO images under, with their storage or
// without.
var isoName = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]:iso/)?[^/:,[:cntrl:]]+\.(?i:iso|img)$`)

func (s scope) image(spec *api.VMImageSpec) *image {
	img := &image{scope: s, spec: spec, model: model.Image{Owner: s.owner(), Storage: spec.Storage, Deleted: s.deleted()}}
	given := 0
	for _, text := range []string{spec.Source, spec.URL, spec.ISO} {
		if text != "" {
			given++
		}
	}
	switch {
	case given == 0:
		s.fail("spec.source", "is missing: an image is a source, a url or an iso")
	case given > 1:
		s.fail("spec", "an image is one of source, url and iso, not several of them")
	case spec.Source != "":
		s.imageSource(img, spec.Source)
	case spec.URL != "":
		s.imageURL(img, spec)
	case !isoName.MatchString(spec.ISO):
		s.fail("spec.iso", "want the name of an ISO such as debian.iso or local:iso/debian.iso, have %q", shortened(spec.ISO))
	case model.IsSeed(spec.ISO):
		s.fail("spec.iso", "is first-boot data of a machine, which is for that machine only")
	}
	s.sourceSelector(img, spec)
	s.checkStorage("spec.storage", spec.Storage)
	s.checkWord("spec.os.bios", spec.OS.BIOS, "seabios", "bios", "uefi", "ovmf")
	if spec.OS.Type != "" {
		s.option(options{}, "spec.os.type", "ostype", spec.OS.Type)
	}
	if v := spec.OS.Ignition; v != "" && !ignitionVersion.MatchString(v) {
		s.fail("spec.os.ignition", "want a version such as 3.4.0, have %q", shortened(v))
	}
	if spec.URL == "" && (spec.Checksum != "" || spec.ChecksumType != "") {
		s.fail("spec.checksum", "is for images with a url")
	}
	return img
}

func (s scope) imageSource(img *image, source string) {
	vmid, err := strconv.Atoi(source)
	switch {
	case err != nil:
		s.checkGuestName("spec.source", source)
		img.model.Template = source
	case vmid < minVMID || vmid > maxVMID:
		s.fail("spec.source", "want a VMID from %d to %d, have %d", minVMID, maxVMID, vmid)
	default:
		img.model.VMID = vmid
	}
}

// sourceSelector says which of the templates of one name are meant.
func (s scope) sourceSelector(img *image, spec *api.VMImageSpec) {
	pin := spec.SourceSelector
	if pin == nil {
		return
	}
	const field = "spec.sourceSelector"
	if img.model.Template == "" {
		s.fail(field, "is for a source that is a template's name")
		return
	}
	s.checkStorage(field+".storage", pin.Storage)
	if pin.Tag != "" {
		if _, err := prop.NewTags(pin.Tag); err != nil {
			s.fail(field+".tag", "%v", err)
		}
	}
	img.model.Pin = model.Pin{Pool: pin.Pool, Tag: strings.ToLower(pin.Tag), Nodes: pin.Nodes, DiskStorage: pin.Storage}
	if img.model.Pin.IsZero() {
		s.fail(field, "is empty: give pool, tag, nodes or storage")
	}
}

// packed are endings of files that Proxmox doesn't unpack for disk images.
var packed = []string{".gz", ".xz", ".zst", ".bz2", ".zip", ".lzo", ".tar", ".7z"}

func (s scope) imageURL(img *image, spec *api.VMImageSpec) {
	u, err := url.Parse(spec.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		s.fail("spec.url", "want a URL like https://example.com/debian.qcow2")
		return
	case u.User != nil:
		s.fail("spec.url", "must not hold a password: Proxmox logs it")
		return
	}
	switch ext := strings.ToLower(path.Ext(u.Path)); {
	case ext == ".iso":
		s.fail("spec.url", "an .iso isn't a disk image: put it on a storage and name it in spec.iso")
	case slices.Contains(packed, ext):
		s.fail("spec.url", "Proxmox doesn't unpack %s: give a .qcow2, .img, .raw or .vmdk", ext)
	}
	img.model.URL = spec.URL
	s.imageChecksum(img, spec)
	img.model.Options = imageOptions(spec.OS)
}

var ignitionVersion = regexp.MustCompile(`^3\.\d{1,2}(\.0)?$`)

// checksumDigits are the lengths of checksums in hexadecimal.
var checksumDigits = map[string]int{"md5": 32, "sha1": 40, "sha224": 56, "sha256": 64, "sha384": 96, "sha512": 128}

func (s scope) imageChecksum(img *image, spec *api.VMImageSpec) {
	sum, typ := strings.ToLower(strings.TrimSpace(spec.Checksum)), strings.ToLower(spec.ChecksumType)
	if prefix, rest, ok := strings.Cut(sum, ":"); ok && typ == "" {
		typ, sum = prefix, rest
	}
	if sum == "" {
		if typ != "" {
			s.fail("spec.checksum", "is missing beside checksumType")
		}
		return
	}
	if typ == "" {
		for name, digits := range checksumDigits {
			if digits == len(sum) {
				typ = name
			}
		}
		if typ == "" {
			s.fail("spec.checksum", "its %d digits are of no known kind of checksum", len(sum))
			return
		}
	}
	if _, ok := checksumDigits[typ]; !ok {
		s.checkWord("spec.checksumType", typ, sortedKeys(checksumDigits)...)
		return
	}
	if _, err := hex.DecodeString(sum); err != nil || len(sum) != checksumDigits[typ] {
		s.fail("spec.checksum", "a %s checksum has %d hexadecimal digits", typ, checksumDigits[typ])
		return
	}
	img.model.Checksum, img.model.ChecksumAlgorithm = sum, typ
}

// imageOptions are the options of the template that is made of a fetched image.
func imageOptions(os api.VMImageOS) map[string]string {
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
func (i *image) isoVolume(p *provider) string {
	if strings.Contains(i.spec.ISO, ":") {
		return i.spec.ISO
	}
	storage := i.spec.Storage
	if storage == "" {
		storage = p.isoStorage()
	}
	return storage + ":iso/" + i.spec.ISO
}

// madeOn notes that a Provider has a template of the image, whether or not machines
// use it.
func (i *image) madeOn(name string) {
	for _, p := range i.providers {
		if p.name == name && p.wanted.Provider.Namespace == i.o.key.Namespace {
			i.use(p)
		}
	}
}

// use notes that machines of a Provider are made from the image.
func (i *image) use(p *provider) {
	if !slices.Contains(i.usedBy, p) {
		i.usedBy = append(i.usedBy, p)
	}
}

// lend puts an image of another namespace to the Providers whose machines are made from
// it. What has to be fetched is fetched by a Provider of its own namespace, and is found
// by the VMID that is written down there.
func (i *image) lend() {
	for _, p := range i.usedBy {
		if field, _, _, _ := i.forbiddenSource(p); field != "" {
			continue // the machines that need it there say so
		}
		m := i.model
		m.Lent, m.Deleted, m.Range, m.OnlyTemplate = true, false, p.vmids, p.onlyTemplates() && m.VMID != 0
		if vm := i.o.Object.(*api.VMImage); m.URL != "" {
			m.VMID = vm.Status.VMID
		}
		if i.spec.ISO != "" {
			m.ISO, m.Storage = i.isoVolume(p), ""
		}
		p.wanted.Desired.Images = append(p.wanted.Desired.Images, m)
	}
}

// assignImages puts each image to the Providers that need it.
func (t *translator) assignImages() {
	each(t, func(s scope, _ *api.VMImage) {
		img := t.images[s.o.key]
		switch {
		case s.o.lent:
			img.lend()
			return
		case img.spec.ProviderRef != nil:
			p := s.providerFor(img.spec.ProviderRef)
			for _, user := range img.usedBy {
				if p != nil && user != p {
					s.fail("spec.providerRef.name", "machines of Provider %s use it too", user.name)
				}
			}
			img.usedBy = nil
			if p != nil {
				img.usedBy = []*provider{p}
			}
		case len(img.usedBy) == 0 && len(t.providers) == 1:
			img.usedBy = t.providers
		case len(img.usedBy) == 0 && img.model.URL != "" && len(t.providers) > 1:
			s.tell("spec", "isn't fetched: no machine uses it, and no providerRef says for which Provider it is")
		}
		denied := 0
		for _, p := range img.usedBy {
			m := img.model
			m.OnlyTemplate = p.onlyTemplates() && m.VMID != 0
			if field, what, list, entry := img.forbiddenSource(p); field != "" && !m.Deleted {
				if denied++; denied == len(img.usedBy) {
					s.forbid(p, field, what, list, entry)
				}
				continue // the machines that need it there say so
			}
			m.Hold = s.hold(p)
			m.Range = p.vmids
			if m.URL != "" && m.Storage == "" {
				m.Storage = p.spec.Defaults.Storage
			}
			if img.spec.ISO != "" {
				m.ISO, m.Storage = img.isoVolume(p), ""
			}
			p.wanted.Desired.Images = append(p.wanted.Desired.Images, m)
		}
	})
}
