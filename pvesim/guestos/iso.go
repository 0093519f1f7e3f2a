package guestos

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

const isoSector = 2048

// isoImage is an ISO 9660 image in memory: enough of it to read the files of
// a seed for cloud-init.
type isoImage struct {
	data   []byte
	Label  string
	joliet bool
	root   []byte // directory record
}

// OpenISO reads the volume descriptors; false: this is no ISO image.
func OpenISO(data []byte) (*isoImage, bool) {
	img := &isoImage{data: data}
	for sector := 16; ; sector++ {
		d := img.extent(uint32(sector), isoSector)
		if len(d) < isoSector || string(d[1:6]) != "CD001" || d[0] == 255 {
			return img, img.root != nil
		}
		switch {
		case d[0] == 1:
			img.Label = strings.TrimRight(string(d[40:72]), " \x00")
			if !img.joliet {
				img.root = d[156:190]
			}
		case d[0] == 2 && d[88] == '%' && d[89] == '/':
			img.joliet, img.root = true, d[156:190]
		}
	}
}

// extent is a run of bytes from a sector on; what isn't there is cut off.
func (img *isoImage) extent(sector uint32, length uint32) []byte {
	from := uint64(sector) * isoSector
	to := min(from+uint64(length), uint64(len(img.data)))
	if from >= to {
		return nil
	}
	return img.data[from:to]
}

// Files returns the files in the root directory, by name.
func (img *isoImage) Files() map[string]string {
	out := map[string]string{}
	place := func(record []byte) (uint32, uint32) {
		return binary.LittleEndian.Uint32(record[2:]), binary.LittleEndian.Uint32(record[10:])
	}
	dir := img.extent(place(img.root))
	for at := 0; at < len(dir); {
		size := int(dir[at])
		if size == 0 { // records don't cross sectors
			at = (at/isoSector + 1) * isoSector
			continue
		}
		if size < 34 || at+size > len(dir) || 33+int(dir[at+32]) > size {
			break
		}
		record := dir[at : at+size]
		at += size
		if isFolder := record[25]&2 != 0; isFolder {
			continue
		}
		out[img.name(record)] = string(img.extent(place(record)))
	}
	return out
}

// name is a file's name: the Joliet or Rock Ridge one if there is one.
func (img *isoImage) name(record []byte) string {
	n := int(record[32])
	raw := record[33 : 33+n]
	if img.joliet {
		units := make([]uint16, 0, n/2)
		for i := 0; i+1 < n; i += 2 {
			units = append(units, binary.BigEndian.Uint16(raw[i:]))
		}
		return trimVersion(string(utf16.Decode(units)))
	}
	rest := record[33+n:]
	if n%2 == 0 && len(rest) > 0 {
		rest = rest[1:]
	}
	for len(rest) >= 5 && int(rest[2]) >= 5 && int(rest[2]) <= len(rest) {
		if string(rest[:2]) == "NM" {
			return string(rest[5:rest[2]])
		}
		rest = rest[rest[2]:]
	}
	// Plain ISO names have no hyphens: NETWORK_CONFIG.;1
	return strings.ReplaceAll(strings.ToLower(trimVersion(string(raw))), "_", "-")
}

func trimVersion(name string) string {
	name, _, _ = strings.Cut(name, ";")
	return strings.TrimSuffix(name, ".")
}
