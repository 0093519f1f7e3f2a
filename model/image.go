package model

import (
	"strconv"
	"strings"
)

// Image is a source of guests: a template, a file at a URL or an ISO image.
type Image struct {
	Owner Owner
	// Exactly one of these:
	Template string // a template's name, on one node or on several
	VMID     int    // a template or VM
	URL      string // fetched through Proxmox and made into a template
	ISO      string // volume, or a name on a storage with content iso

	// Pin says which of the templates of that name are meant.
	Pin `json:",inline"`

	Checksum          string
	ChecksumAlgorithm string
	Storage           string // storage for the disk of a fetched image
	// Ahead are the nodes that get a template of the image before a machine needs it there,
	// where templates are on local storages; [AllNodes]: all of them.
	Ahead []string `json:",omitempty"`
	// Asked are the nodes on which machines of other namespaces wait for a template of the image.
	Asked []string `json:",omitempty"`
	// NoCopies says that a template that people made isn't copied to nodes that don't reach its
	// disks.
	NoCopies bool `json:",omitempty"`
	// Origin identifies the template that is copied; the planner sets it, see [OriginOf].
	Origin string `json:",omitempty"`
	// On is the node of this template of the image; empty: it is the image itself. See
	// [Image.Copy].
	On string `json:",omitempty"`
	// Used says that machines are to be made from it.
	Used    bool `json:"-"`
	Options map[string]string
	// Tags and Description are those of templates that are made of the image, beside our marks.
	Tags        []string `json:",omitempty"`
	Description string   `json:",omitempty"`

	Range   Range
	Deleted bool
	Hold    Hold `json:",omitzero"` // see VM
	// OnlyTemplate says that what VMID names must be a template.
	OnlyTemplate bool `json:",omitempty"`
	// Implied says that no object describes the image: guests name the template directly.
	Implied bool `json:",omitempty"`
	// Lent says that another namespace manages the image: here guests are only made from it.
	// With a URL, VMID is the template that was made there; 0: none yet.
	Lent bool `json:",omitempty"`
}

// Made reports whether the image is a template that people made: by name or VMID.
func (i Image) Made() bool { return i.URL == "" && i.ISO == "" && (i.Template != "" || i.VMID != 0) }

// OriginOf returns what identifies a template, also against a later one with the same VMID: Proxmox
// gives each new VM a UUID.
func OriginOf(vmid int, options map[string]string) string {
	return strconv.Itoa(vmid) + " " + options["vmgenid"] + " " + options["smbios1"]
}

// CopyName returns the name of copies of a template that people made. It differs from the
// template's own name, which stands for templates that people made.
func (i Image) CopyName() string {
	const ending, most = "-copy", 63
	name := i.Owner.Name
	last := name[strings.LastIndexByte(name, '.')+1:]
	if over := len(last) + len(ending) - most; over > 0 {
		name = strings.TrimRight(name[:len(name)-over], "-.")
	}
	return name + ending
}

// AllNodes stands for every node of the cluster.
const AllNodes = "*"

// Copy returns the template of an image for one node, where templates are on local
// storages. It is planned as an object of its own, so that nodes don't wait for each other.
func (i Image) Copy(node string) Image {
	i.On, i.Ahead, i.Asked = node, nil, nil
	return i
}

// Object returns the key that the image is planned as: its owner's, or that of one of its
// templates.
func (i Image) Object() Owner {
	o := i.Owner
	if i.On != "" {
		o.Name += copySign + i.On
	}
	return o
}

// copySign is between the name of an image and the node of one of its templates. Names of
// objects can't have it.
const copySign = "@"

// CopyOf parses the key of an image's template; ok: it is one.
func (k Key) CopyOf() (image Key, node string, ok bool) {
	k.Name, node, ok = strings.Cut(k.Name, copySign)
	return k, node, ok
}

// Template is a guest that an image stands for.
type Template struct {
	VMID int
	Name string
	Node string
}

// Pin selects one of several templates of the same name: names aren't unique, and whoever
// may configure a VM may rename it. The zero value is no pin.
type Pin struct {
	Pool  string   `json:",omitempty"`
	Tag   string   `json:",omitempty"`
	Nodes []string `json:",omitempty"`
	// DiskStorage is the storage of its root disk.
	DiskStorage string `json:",omitempty"`
}

// IsZero reports whether the pin matches any template.
func (p Pin) IsZero() bool {
	return p.Pool == "" && p.Tag == "" && len(p.Nodes) == 0 && p.DiskStorage == ""
}

// Identity identifies the content of the image: the same name may stand for another content
// later.
func (i Image) Identity() string {
	switch {
	case i.Template != "":
		return i.Template
	case i.VMID != 0:
		return strconv.Itoa(i.VMID)
	case i.URL != "":
		return "fetched " + i.Version()
	}
	return ""
}

// Version changes when the image has to be recreated.
func (i Image) Version() string {
	if i.Made() {
		return Digest("copy of\x00" + i.Origin)
	}
	return Digest(i.URL + "\x00" + i.Checksum)
}
