// Package isofile finds files in ISO images. Images are untrusted, and the process may be
// root: no image can make it read beyond its end, read much, or loop.
package isofile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf16"
)

const (
	sector         = 2048
	maxDescriptors = 64
	maxFolder      = 1 << 20
)

// ErrNotISO means that an image isn't one.
var ErrNotISO = errors.New("it is no ISO 9660 image")

// Find finds a file in the top folder of an image. Its name is the Joliet or the
// Rock Ridge one, if the image has such, else that of ISO 9660 in small letters.
func Find(image io.ReaderAt, size int64, name string) (*io.SectionReader, error) {
	i := iso{image, size}
	primary, joliet, err := i.roots()
	if err != nil {
		return nil, err
	}
	for _, root := range []struct {
		record []byte
		name   func([]byte) string
	}{{joliet, jolietName}, {primary, primaryName}} {
		if root.record == nil {
			continue
		}
		folder, err := i.extent(root.record, maxFolder)
		if err != nil {
			return nil, fmt.Errorf("the top folder: %w", err)
		}
		content := make([]byte, folder.Size())
		if _, err := io.ReadFull(folder, content); err != nil {
			return nil, fmt.Errorf("the top folder: %w", err)
		}
		if record := find(content, name, root.name); record != nil {
			file, err := i.extent(record, size)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			return file, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

type iso struct {
	image io.ReaderAt
	size  int64
}

// roots are the records of the top folder, one for each set of names.
func (i iso) roots() (primary, joliet []byte, err error) {
	const first, end = 16, 255
	for n := range int64(maxDescriptors) {
		d := make([]byte, sector)
		if (first+n+1)*sector > i.size {
			break
		}
		if _, err := i.image.ReadAt(d, (first+n)*sector); err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
		if string(d[1:6]) != "CD001" || d[0] == end {
			break
		}
		const root, rootEnd, escape = 156, 190, 88
		switch {
		case d[0] == 1 && primary == nil:
			primary = d[root:rootEnd]
		case d[0] == 2 && joliet == nil && d[escape] == '%' && d[escape+1] == '/':
			joliet = d[root:rootEnd]
		}
	}
	if primary == nil {
		return nil, nil, ErrNotISO
	}
	return primary, joliet, nil
}

// Places in a directory record.
const (
	atPlace   = 2
	atSize    = 10
	atFlags   = 25
	atNameLen = 32
	atName    = 33

	isFolder   = 0x02
	continues  = 0x80
	otherFlags = isFolder | continues
)

// extent is what a record points at.
func (i iso) extent(record []byte, limit int64) (*io.SectionReader, error) {
	from := int64(binary.LittleEndian.Uint32(record[atPlace:])) * sector
	size := int64(binary.LittleEndian.Uint32(record[atSize:]))
	switch {
	case from+size > i.size:
		return nil, errors.New("it would end behind the image")
	case size > limit:
		return nil, fmt.Errorf("it has %d bytes, more than %d", size, limit)
	}
	return io.NewSectionReader(i.image, from, size), nil
}

// find is the record of a plain file.
func find(folder []byte, name string, nameOf func([]byte) string) []byte {
	for at := 0; at < len(folder); {
		size := int(folder[at])
		if size == 0 { // records don't cross sectors
			at = (at/sector + 1) * sector
			continue
		}
		if size < atName+1 || at+size > len(folder) || atName+int(folder[at+atNameLen]) > size {
			return nil
		}
		if record := folder[at : at+size]; record[atFlags]&otherFlags == 0 && nameOf(record) == name {
			return record
		}
		at += size
	}
	return nil
}

func jolietName(record []byte) string {
	raw := record[atName : atName+int(record[atNameLen])]
	units := make([]uint16, 0, len(raw)/2)
	for ; len(raw) > 1; raw = raw[2:] {
		units = append(units, binary.BigEndian.Uint16(raw))
	}
	return plain(string(utf16.Decode(units)))
}

func primaryName(record []byte) string {
	end := atName + int(record[atNameLen])
	if name := rockRidgeName(record[min(len(record), end+end%2):]); name != "" {
		return name
	}
	return strings.ToLower(strings.TrimSuffix(plain(string(record[atName:end])), "."))
}

// plain is a name without its version.
func plain(name string) string {
	name, _, _ = strings.Cut(name, ";")
	return name
}

// rockRidgeName puts the parts of a name together, of which there may be several.
func rockRidgeName(fields []byte) string {
	var name strings.Builder
	for len(fields) >= 4 {
		size := int(fields[2])
		if size < 4 || size > len(fields) {
			break
		}
		if string(fields[:2]) == "NM" && size >= 5 {
			name.Write(fields[5:size])
		}
		fields = fields[size:]
	}
	return name.String()
}
