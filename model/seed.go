package model

import (
	"fmt"
	"regexp"
	"strings"
)

// Seed is first-boot data on a CD-ROM drive. Its bytes are made by those who
// act; here is what decides whether it has to be made again.
type Seed struct {
	Storage string            // with content iso; empty: the provider's
	Digest  string            // stands for the files: the mark of a [Seal]
	Also    []string          `json:",omitempty"` // as of a Seal
	Secret  Secret            `json:"-"`          // what Digest is made from
	Once    bool              `json:",omitempty"` // it is read once only, by Ignition: other data mean another guest
	Rerun   bool              `json:"-"`          // the guest does it all again when it changes
	Apart   bool              `json:",omitempty"` // no drive holds it: the hook of the node takes it from the storage
	Files   map[string][]byte `json:"-"`          // user-data, meta-data, network-config
	// Snippets are the parts that are snippets for Proxmox' own drive: "user",
	// "meta", "network". They are on each node that may run the guest. Empty: it is
	// an ISO image.
	Snippets []string `json:",omitempty"`
	Lost     bool     `json:"-"` // its files aren't known any more
	Dropped  bool     `json:"-"` // the guest has done with it, see [Marker.Dropped]
	// Leased stands for the addresses from pools that are among the data; empty: there are none.
	Leased string `json:"-"`
	// Kept is the name of the file that the guest has, where it has these data already;
	// empty: it follows from Digest.
	Kept string `json:"-"`
	// Recipe is what the files are made from where they depend on the VMID; nil: they
	// don't.
	Recipe *Recipe `json:"-"`
}

// SeedFiles begin the names of files with first-boot data.
const SeedFiles = "proxplane-"

var seedName = regexp.MustCompile(`(^|/)` + SeedFiles + `\d+-[0-9a-f]+\.iso$`)

// IsSeed reports whether an ISO image, by its volume or name, has the first-boot data of
// some guest: what may be secrets of its owner.
func IsSeed(iso string) bool { return seedName.MatchString(iso) }

// Volume is where the data of a guest are kept; for snippets it is what the names
// of all of them begin with.
func (s Seed) Volume(vmid int) string { return s.VolumeOf(s.Name(vmid)) }

// VolumeOf is the volume of data with a name.
func (s Seed) VolumeOf(name string) string {
	if len(s.Snippets) > 0 {
		return s.Storage + snippetsOf + name
	}
	return s.Storage + isoOf + name + isoEnd
}

// File is the name of the ISO image: the same data have the same one.
func (s Seed) File(vmid int) string { return s.Name(vmid) + isoEnd }

// Name is the name of a guest's data.
func (s Seed) Name(vmid int) string {
	if s.Kept != "" {
		return s.Kept
	}
	return fmt.Sprintf("%s%d-%s%s", SeedFiles, vmid, digits(s.Digest), s.Leased)
}

// Seal is what stands for the data.
func (s Seed) Seal() Seal { return Seal{s.Digest, s.Also} }

// At are the same data as they are kept in a volume; false: those that are wanted aren't
// kept there, or in another way.
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

// SnippetVolume is the volume of one part of first-boot data.
func SnippetVolume(volume, part string) string { return volume + "-" + part + ".yaml" }

// SeedVolumes are the files that first-boot data may have been kept in.
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

// SeedSnippets reports whether first-boot data are kept in snippets.
func SeedSnippets(volume string) bool { return strings.Contains(volume, snippetsOf) }
