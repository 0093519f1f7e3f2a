package model

import (
	"fmt"
	"regexp"
	"strings"
)

// Seed is first-boot data on a CD-ROM drive. Package act makes its bytes; the fields here
// decide whether it has to be made again.
type Seed struct {
	Storage string            // with content iso; empty: the provider's
	Digest  string            // identifies the files: the mark of a [Seal]
	Also    []string          `json:",omitempty"` // see Seal
	Secret  Secret            `json:"-"`          // the input of Digest
	Once    bool              `json:",omitempty"` // it is read only once, by Ignition: other data need another guest
	Rerun   bool              `json:"-"`          // the guest runs it again when it changes
	Apart   bool              `json:",omitempty"` // it is in no drive: the node's hook reads it from the storage
	Files   map[string][]byte `json:"-"`          // user-data, meta-data, network-config
	// Snippets are the parts that are snippets for Proxmox' own drive: "user", "meta",
	// "network". They are on each node that may run the guest. Empty: the data are an ISO
	// image.
	Snippets []string `json:",omitempty"`
	Lost     bool     `json:"-"` // its files aren't known any more
	Dropped  bool     `json:"-"` // the guest doesn't need it any more, see [Marker.Dropped]
	// Leased identifies the addresses from pools in the data; empty: there are none.
	Leased string `json:"-"`
	// Kept is the name of the guest's file, if it has these data already; empty: it follows
	// from Digest.
	Kept string `json:"-"`
	// Recipe is the input of the files if they depend on the VMID; nil: they don't.
	Recipe *Recipe `json:"-"`
}

// SeedFiles is the prefix of names of files with first-boot data.
const SeedFiles = "proxplane-"

var seedName = regexp.MustCompile(`(^|/)` + SeedFiles + `\d+-[0-9a-f]+\.iso$`)

// IsSeed reports whether an ISO image, by its volume or name, has the first-boot data of
// some guest, which may be secrets of its owner.
func IsSeed(iso string) bool { return seedName.MatchString(iso) }

// Volume returns the volume with the data of a guest; for snippets it is the common prefix of
// their names.
func (s Seed) Volume(vmid int) string { return s.VolumeOf(s.Name(vmid)) }

// VolumeOf returns the volume of data with a name.
func (s Seed) VolumeOf(name string) string {
	if len(s.Snippets) > 0 {
		return s.Storage + snippetsOf + name
	}
	return s.Storage + isoOf + name + isoEnd
}

// File returns the name of the ISO image, which follows from the data.
func (s Seed) File(vmid int) string { return s.Name(vmid) + isoEnd }

// Name returns the name of a guest's data.
func (s Seed) Name(vmid int) string {
	if s.Kept != "" {
		return s.Kept
	}
	return fmt.Sprintf("%s%d-%s%s", SeedFiles, vmid, digits(s.Digest), s.Leased)
}

// Seal returns the seal of the data.
func (s Seed) Seal() Seal { return Seal{s.Digest, s.Also} }

// At returns the seed as it is stored in a volume; false: the wanted data aren't stored
// there, or in another form.
func (s Seed) At(volume string) (Seed, bool) {
	_, name, _ := strings.Cut(volume, "/")
	s.Kept = strings.TrimSuffix(name, isoEnd)
	return s, name != "" && s.Volume(0) == volume
}

const (
	isoOf      = ":iso/"
	isoEnd     = ".iso"
	snippetsOf = ":snippets/"
)

// SnippetParts are the parts that first-boot data in snippets can have.
var SnippetParts = []string{"user", "meta", "network"}

// SnippetVolume returns the volume of one part of first-boot data.
func SnippetVolume(volume, part string) string { return volume + "-" + part + ".yaml" }

// SeedVolumes returns the files that first-boot data may be stored in.
func SeedVolumes(volume string) []string {
	if !SeedSnippets(volume) {
		return []string{volume}
	}
	var all []string
	for _, part := range SnippetParts {
		all = append(all, SnippetVolume(volume, part))
	}
	return all
}

// SeedSnippets reports whether first-boot data are stored in snippets.
func SeedSnippets(volume string) bool { return strings.Contains(volume, snippetsOf) }

// FilesLike returns the list that shows a volume, if it was read: snippets have one of their own.
func (o *Observed) FilesLike(volume string) map[string]File {
	if SeedSnippets(volume) {
		return o.Snippets
	}
	return o.Files
}
