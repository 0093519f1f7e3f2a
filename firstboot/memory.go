package firstboot

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"strings"
	"unicode/utf16"
)

// memory is a file in memory.
type memory struct {
	bytes []byte
	at    int64
}

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	if more := off + int64(len(p)) - int64(len(m.bytes)); more > 0 {
		m.bytes = append(m.bytes, make([]byte, more)...)
	}
	return copy(m.bytes[off:], p), nil
}

func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(m.bytes)) {
		return 0, io.EOF
	}
	n := copy(p, m.bytes[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (m *memory) Read(p []byte) (int, error) {
	n, err := m.ReadAt(p, m.at)
	m.at += int64(n)
	return n, err
}

func (m *memory) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		off += m.at
	case io.SeekEnd:
		off += int64(len(m.bytes))
	}
	if off < 0 {
		return 0, fs.ErrInvalid
	}
	m.at = off
	return off, nil
}

func (m *memory) Stat() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }
func (m *memory) Close() error               { return nil }

const sector = 2048

// extent is where an image holds what is in a file, found by the Joliet directory:
// there, names are as they were given.
func extent(image []byte, name string) ([]byte, bool) {
	for at := 16 * sector; at+sector <= len(image) && string(image[at+1:at+6]) == "CD001" && image[at] != 255; at += sector {
		if d := image[at : at+sector]; d[0] == 2 && d[88] == '%' && d[89] == '/' {
			return inFolder(image, recorded(image, d[156:190]), name)
		}
	}
	return nil, false
}

// recorded is what a directory record points at.
func recorded(image, record []byte) []byte {
	from := int(binary.LittleEndian.Uint32(record[2:])) * sector
	to := from + int(binary.LittleEndian.Uint32(record[10:]))
	if from > to || to > len(image) {
		return nil
	}
	return image[from:to]
}

func inFolder(image, folder []byte, name string) ([]byte, bool) {
	for at := 0; at < len(folder); {
		size := int(folder[at])
		if size == 0 { // records don't cross sectors
			at = (at/sector + 1) * sector
			continue
		}
		record := folder[at : at+size]
		if recordName(record) == name {
			return recorded(image, record), true
		}
		at += size
	}
	return nil, false
}

func recordName(record []byte) string {
	raw := record[33 : 33+int(record[32])]
	units := make([]uint16, 0, len(raw)/2)
	for ; len(raw) > 1; raw = raw[2:] {
		units = append(units, binary.BigEndian.Uint16(raw))
	}
	name, _, _ := strings.Cut(string(utf16.Decode(units)), ";") // a version may follow
	return name
}
