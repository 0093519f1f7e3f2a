package imagefile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"io"

	"github.com/anchore/go-lzo"

	"github.com/proxplane/proxplane/model"
)

// An .lzo is what the program lzop writes: a header, and blocks that say how long they are, packed and unpacked. The library unpacks a
// block; what is around the blocks is read here, so that no block takes more memory than lzop itself gives one.

const (
	lzopMagic = "\x89LZO\x00\r\n\x1a\n"
	// mostBlock is the longest block that lzop writes.
	mostBlock = 64 << 20
)

// Flags in the header.
const (
	lzopAdler       = 1 << 0 // of a block, unpacked
	lzopAdlerPacked = 1 << 1
	lzopExtra       = 1 << 6
	lzopCRC         = 1 << 8 // of a block, unpacked
	lzopCRCPacked   = 1 << 9
	lzopMultipart   = 1 << 10
	lzopFiltered    = 1 << 11
	lzopHeaderCRC   = 1 << 12
)

var errLZOP = errors.New("its structure is broken")

// lzop unpacks an .lzo.
type lzop struct {
	r           *bufio.Reader
	flags       uint32
	block, left []byte // what was unpacked, and what of it hasn't been read
	packed      []byte
}

func newLZOP(r *bufio.Reader) (io.Reader, error) {
	l := &lzop{r: r}
	return l, l.header()
}

func (l *lzop) Read(p []byte) (int, error) {
	for len(l.left) == 0 {
		if err := l.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.left)
	l.left = l.left[n:]
	return n, nil
}

// number reads an unsigned number of some bytes.
func number(r io.Reader, size int) (uint32, error) {
	b := make([]byte, 4)
	if _, err := io.ReadFull(r, b[4-size:]); err != nil {
		return 0, early(err)
	}
	return binary.BigEndian.Uint32(b), nil
}

// early is the error of a file that ends where more has to come.
func early(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// header reads what comes before the blocks.
func (l *lzop) header() error {
	magic := make([]byte, len(lzopMagic))
	if _, err := io.ReadFull(l.r, magic); err != nil {
		return early(err)
	}
	if string(magic) != lzopMagic {
		return errors.New("it doesn't begin as one")
	}
	var read bytes.Buffer
	r := io.TeeReader(l.r, &read)
	var failed error
	get := func(size int) uint32 {
		n, err := number(r, size)
		failed = errors.Join(failed, err)
		return n
	}
	const (
		levels      = 0x0940 // since this version there is a level, and more
		first, last = 1, 3   // methods: all are LZO1X
	)
	version := get(2)
	get(2) // of the library
	if version >= levels {
		get(2) // that is needed
	}
	method := get(1)
	if version >= levels {
		get(1)
	}
	l.flags = get(4)
	get(4) // mode
	get(4) // time
	if version >= levels {
		get(4)
	}
	for range get(1) {
		get(1) // of the name
	}
	want := adler32.Checksum(read.Bytes())
	if l.flags&lzopHeaderCRC != 0 {
		want = crc32.ChecksumIEEE(read.Bytes())
	}
	switch sum := get(4); {
	case failed != nil:
		return failed
	case l.flags&(lzopMultipart|lzopFiltered|lzopExtra) != 0 || method < first || method > last:
		return errors.New("it is of a kind that only lzop itself unpacks")
	case sum != want:
		return errLZOP
	}
	return nil
}

// next unpacks the next block. After the last one there may be another file, which belongs to the content.
func (l *lzop) next() error {
	size, err := number(l.r, 4)
	if err != nil {
		return err
	}
	if size == 0 {
		if _, err := l.r.Peek(1); err != nil {
			return err
		}
		return l.header()
	}
	packed, err := number(l.r, 4)
	switch {
	case err != nil:
		return err
	case size > mostBlock:
		return fmt.Errorf("%w: unpacking it takes %s of memory", ErrContent, model.Bytes(int64(size)))
	case packed > size || packed == 0:
		return errLZOP
	}
	sums, err := l.sums(packed < size)
	if err != nil {
		return err
	}
	l.packed, l.block = atLeast(l.packed, packed), atLeast(l.block, size)
	if _, err := io.ReadFull(l.r, l.packed); err != nil {
		return early(err)
	}
	if packed == size {
		copy(l.block, l.packed)
	} else if n, err := lzo.Decompress(l.packed, l.block); err != nil || n != int(size) {
		return errors.Join(errLZOP, err)
	}
	for flag, sum := range sums {
		if got := lzopSums[flag](l.block); got != sum {
			return errors.New("a block of it has another checksum")
		}
	}
	l.left = l.block
	return nil
}

var lzopSums = map[uint32]func([]byte) uint32{lzopAdler: adler32.Checksum, lzopCRC: crc32.ChecksumIEEE}

// sums reads the checksums of a block. Those of what is packed say nothing more than those of what is in it.
func (l *lzop) sums(packed bool) (map[uint32]uint32, error) {
	sums := map[uint32]uint32{}
	for _, flag := range []uint32{lzopAdler, lzopCRC, lzopAdlerPacked, lzopCRCPacked} {
		ofPacked := lzopSums[flag] == nil
		if l.flags&flag == 0 || ofPacked && !packed {
			continue
		}
		sum, err := number(l.r, 4)
		if err != nil {
			return nil, err
		}
		if !ofPacked {
			sums[flag] = sum
		}
	}
	return sums, nil
}

// atLeast is a buffer of a length, the same as before if that has room.
func atLeast(b []byte, length uint32) []byte {
	if int(length) <= cap(b) {
		return b[:length]
	}
	return make([]byte, length)
}
