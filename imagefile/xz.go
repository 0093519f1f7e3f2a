package imagefile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"

	"github.com/proxplane/proxplane/model"
)

// An .xz is streams of blocks, and each block says how much memory it takes to unpack it. The library takes as much as the
// block says, and keeps a record of each block: bounded passes a file on to the library and follows its structure, so that no block is
// passed on that takes too much, nor too many of them.

// mostBlocks is how many blocks a stream may have. A gigabyte that is packed by several threads has some hundreds.
const mostBlocks = 1 << 20

// newXZ unpacks an .xz within bounds.
func newXZ(r *bufio.Reader) (io.Reader, error) {
	return xz.NewReader(&bounded{r: r, next: (*bounded).stream})
}

// bounded passes an .xz on.
type bounded struct {
	r    *bufio.Reader
	next func(*bounded) error // what comes when all that is left was passed on
	left int64

	check   int64  // how many bytes follow a block, to verify it
	data    int64  // how long the block was so far
	blocks  int    // of the stream
	index   int64  // how long the index was so far
	numbers uint64 // that it still has
}

func (b *bounded) Read(p []byte) (int, error) {
	for b.left == 0 {
		if err := b.next(b); err != nil {
			return 0, err
		}
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

var errXZ = errors.New("its structure is broken")

// peek looks at the next bytes.
func (b *bounded) peek(n int) ([]byte, error) {
	head, err := b.r.Peek(n)
	if errors.Is(err, io.EOF) {
		return head, io.ErrUnexpectedEOF
	}
	return head, err
}

// stream is before the header of a stream, or before padding.
func (b *bounded) stream() error {
	const header, padding = 12, 4
	head, err := b.peek(padding)
	if len(head) == 0 && errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	if err != nil {
		return err
	}
	if bytes.Equal(head, make([]byte, padding)) {
		b.left = padding
		return nil
	}
	if head, err = b.peek(header); err != nil {
		return err
	}
	if !bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")) {
		return errors.New("it doesn't begin as one")
	}
	sizes := map[byte]int64{0: 0, 1: 4, 4: 8, 10: 32}
	size, known := sizes[head[7]]
	if !known {
		return errXZ
	}
	b.check, b.blocks, b.left, b.next = size, 0, header, (*bounded).block
	return nil
}

// block is before the header of a block, or before the index.
func (b *bounded) block() error {
	head, err := b.peek(1)
	if err != nil {
		return err
	}
	if head[0] == 0 {
		b.index, b.left, b.next = 1, 1, (*bounded).indexCount
		return nil
	}
	if b.blocks++; b.blocks > mostBlocks {
		return fmt.Errorf("%w: it has more than %d blocks", ErrContent, mostBlocks)
	}
	if head, err = b.peek(4 * (int(head[0]) + 1)); err != nil {
		return err
	}
	if err := checkMemory(head); err != nil {
		return err
	}
	b.data, b.left, b.next = 0, int64(len(head)), (*bounded).chunk
	return nil
}

// checkMemory reads from the header of a block how much memory the block takes.
func checkMemory(head []byte) error {
	const lzma2, packedSize, size, filters = 0x21, 0x40, 0x80, 0x03
	flags, rest := head[1], head[2:]
	number := func() uint64 {
		n, length := binary.Uvarint(rest)
		if length <= 0 {
			rest = nil
			return 0
		}
		rest = rest[length:]
		return n
	}
	for _, bit := range []byte{packedSize, size} {
		if flags&bit != 0 {
			number()
		}
	}
	for range flags&filters + 1 {
		id, length := number(), number()
		if length > uint64(len(rest)) || id == lzma2 && length != 1 {
			return errXZ
		}
		if id == lzma2 {
			most, err := lzma.DecodeDictCap(rest[0])
			if err != nil {
				return err
			}
			if most > mostDictionary {
				return fmt.Errorf("%w: unpacking it takes %s of memory; pack it with xz -9 or less", ErrContent, model.Bytes(most))
			}
		}
		rest = rest[length:]
	}
	return nil
}

// chunk is before a chunk of a block, or its end.
func (b *bounded) chunk() error {
	const plainReset, plain, packedChunk, withProperties = 1, 2, 0x80, 0xc0
	head, err := b.peek(1)
	if err != nil {
		return err
	}
	switch kind := head[0]; {
	case kind == 0:
		b.data++
		b.left, b.next = 1+padding(b.data)+b.check, (*bounded).block
		return nil
	case kind == plainReset || kind == plain:
		if head, err = b.peek(3); err != nil {
			return err
		}
		b.left = 3 + int64(binary.BigEndian.Uint16(head[1:])) + 1
	case kind >= packedChunk:
		if head, err = b.peek(5); err != nil {
			return err
		}
		b.left = 5 + int64(binary.BigEndian.Uint16(head[3:])) + 1
		if kind >= withProperties {
			b.left++
		}
	default:
		return errXZ
	}
	b.data += b.left
	return nil
}

// padding is how many bytes fill something up to four.
func padding(n int64) int64 { return (4 - n%4) % 4 }

// indexCount is before the number of records in an index.
func (b *bounded) indexCount() error {
	n, err := b.number()
	if err != nil || n > mostBlocks {
		return errors.Join(err, errXZ)
	}
	b.numbers, b.next = 2*n, (*bounded).indexNumber
	return nil
}

// indexNumber is before a number of a record, or before the end of the stream.
func (b *bounded) indexNumber() error {
	const checksum, footer = 4, 12
	if b.numbers == 0 {
		b.left, b.next = padding(b.index)+checksum+footer, (*bounded).stream
		return nil
	}
	b.numbers--
	_, err := b.number()
	return err
}

// number is the next number of an index, which is passed on.
func (b *bounded) number() (uint64, error) {
	head, err := b.r.Peek(9)
	n, length := binary.Uvarint(head)
	if length <= 0 && errors.Is(err, io.EOF) {
		return 0, io.ErrUnexpectedEOF
	}
	if length <= 0 {
		return 0, errors.Join(err, errXZ)
	}
	b.left = int64(length)
	b.index += b.left
	return n, nil
}
