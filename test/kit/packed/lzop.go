package packed

import (
	"bytes"
	"encoding/binary"
	"hash/adler32"
	"slices"
)

// lzop packs as the program lzop does: blocks of 256 KiB, each of literals and repetitions (LZO1X).
func lzop(image []byte) []byte {
	var b bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			if err := binary.Write(&b, binary.BigEndian, v); err != nil {
				panic(err)
			}
		}
	}
	const version, library, needed, method, level, flags, mode = uint16(0x1040), uint16(0x20a0), uint16(0x0940), uint8(1), uint8(5), uint32(0x03000001), uint32(0o100644)
	b.WriteString("\x89LZO\x00\r\n\x1a\n")
	header := b.Len()
	put(version, library, needed, method, level, flags, mode, uint32(1), uint32(0), uint8(0))
	put(adler32.Checksum(b.Bytes()[header:]))
	for block := range slices.Chunk(image, 256<<10) {
		data := lzo1x(block)
		if len(data) >= len(block) {
			data = block // it is stored
		}
		put(uint32(len(block)), uint32(len(data)), adler32.Checksum(block))
		b.Write(data)
	}
	put(uint32(0))
	return b.Bytes()
}

// lzo1x packs a block.
func lzo1x(in []byte) (out []byte) {
	const window, least = 1 << 14, 4
	last, done := map[[least]byte]int{}, 0 // where these bytes were last, and what is packed
	for i := 0; i+least <= len(in); {
		here := [least]byte(in[i : i+least])
		from, known := last[here]
		last[here] = i
		if !known || i-from > window {
			i++
			continue
		}
		length := least
		for i+length < len(in) && in[from+length] == in[i+length] {
			length++
		}
		out = literals(out, in[done:i])
		out = append(long(out, 0x20, length-2, 31), byte((i-from-1)<<2), byte((i-from-1)>>6))
		i += length
		done = i
	}
	return append(literals(out, in[done:]), 0x11, 0, 0)
}

// literals are bytes that repeat nothing. Up to three are part of what comes before them.
func literals(out, bytes []byte) []byte {
	switch n := len(bytes); {
	case n == 0:
	case n < 4 && len(out) == 0:
		out = append(out, byte(17+n))
	case n < 4:
		out[len(out)-2] |= byte(n)
	default:
		out = long(out, 0, n-3, 15)
	}
	return append(out, bytes...)
}

// long is an instruction with a length, which goes on in further bytes if it is more than fits.
func long(out []byte, instruction byte, length, most int) []byte {
	if length <= most {
		return append(out, instruction|byte(length))
	}
	out = append(out, instruction)
	for length -= most; length > 255; length -= 255 {
		out = append(out, 0)
	}
	return append(out, byte(length))
}
