package model

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

// Packings are the endings of files that hold a disk image which has to be unpacked. Proxmox doesn't:
// it unpacks ISO images only.
var Packings = []string{"xz", "bz2", "gz", "zst", "lzo", "ova"}

// Formats are the formats of disk images, which are also the endings that Proxmox wants their files to have.
var Formats = []string{"qcow2", "raw", "vmdk"}

// Packing returns the ending of the packed file at a URL; empty: the file isn't packed.
func Packing(address string) string {
	if ending := ending(address); slices.Contains(Packings, ending) {
		return ending
	}
	return ""
}

// Packing returns the ending of the image's packed file; empty: the file isn't packed.
func (i Image) Packing() string { return Packing(i.URL) }

// Address returns the URL of an image without its query, which may hold a secret.
func (i Image) Address() string {
	address, _, _ := strings.Cut(i.URL, "?")
	return address
}

// NamedFormat returns the format in the name of a file at a URL; empty: none.
func NamedFormat(address string) string {
	if ending := ending(address); slices.Contains(Formats, ending) {
		return ending
	}
	return ""
}

// ending returns how the name of the file at a URL ends, without the dot.
func ending(address string) string {
	name := address
	if u, err := url.Parse(address); err == nil {
		name = u.Path
	}
	return strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
}
