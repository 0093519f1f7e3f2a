// Package iso makes small ISO 9660 images, with names of all three kinds.
package iso

import (
	"encoding/binary"
	"unicode/utf16"
)

const sector = 2048

// Build makes an image with files in its root directory: names of the
// plain kind, with Rock Ridge's, or with Joliet's beside them.
func Build(label, kind string, files map[string]string) string {
	const rootAt, jolietAt, filesAt = 20, 21, 22
	img := make([]byte, filesAt*sector)
	record := func(name []byte, at, size uint32, flags byte, extra []byte) []byte {
		r := make([]byte, 33)
		binary.LittleEndian.PutUint32(r[2:], at)
		binary.LittleEndian.PutUint32(r[10:], size)
		r[25], r[32] = flags, byte(len(name))
		r = append(r, name...)
		if len(name)%2 == 0 {
			r = append(r, 0)
		}
		r = append(r, extra...)
		r[0] = byte(len(r))
		return r
	}
	descriptor := func(at int, typ byte, root uint32) {
		d := img[at*sector:]
		d[0] = typ
		copy(d[1:], "CD001")
		copy(d[40:], label+"                                "[len(label):])
		copy(d[156:], record([]byte{0}, root, sector, 2, nil))
		if typ == 2 {
			copy(d[88:], "%/E")
		}
	}
	descriptor(16, 1, rootAt)
	if kind == "joliet" {
		descriptor(17, 2, jolietAt)
	} else {
		descriptor(17, 0, rootAt)
	}
	img[18*sector] = 255
	copy(img[18*sector+1:], "CD001")
	plain, wide := record([]byte{0}, rootAt, sector, 2, nil), record([]byte{0}, jolietAt, sector, 2, nil)
	short := map[string]string{"user-data": "USER_DATA.;1", "meta-data": "META_DATA.;1", "network-config": "NETWORK_CONFIG.;1"}
	for name, text := range files {
		at := uint32(len(img) / sector)
		img = append(img, text...)
		img = append(img, make([]byte, sector-len(img)%sector)...)
		var extra []byte
		if kind == "rockridge" {
			extra = append([]byte{'P', 'X', 5, 1, 0, 'N', 'M', byte(5 + len(name)), 1, 0}, name...)
		}
		plain = append(plain, record([]byte(short[name]), at, uint32(len(text)), 0, extra)...)
		var units []byte
		for _, u := range utf16.Encode([]rune(name)) {
			units = binary.BigEndian.AppendUint16(units, u)
		}
		wide = append(wide, record(units, at, uint32(len(text)), 0, nil)...)
	}
	copy(img[rootAt*sector:], plain)
	copy(img[jolietAt*sector:], wide)
	return string(img)
}
