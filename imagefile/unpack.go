package imagefile

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/proxplane/proxplane/model"
)

// mostDictionary is how much memory unpacking may take. The strongest of the usual settings, xz -9 and
// zstd --ultra -22, take 64 and 128 MiB.
const mostDictionary = 256 << 20

// unpack reads what is inside a packed file. It is to be closed.
func unpack(packing string, r io.Reader) (io.ReadCloser, error) {
	var in io.Reader
	var err error
	buffered := bufio.NewReaderSize(r, 64<<10)
	switch packing {
	case "":
		in = buffered
	case "xz":
		in, err = newXZ(buffered)
	case "bz2":
		in = bzip2.NewReader(buffered)
	case "gz":
		in, err = gzip.NewReader(buffered)
	case "zst":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(mostDictionary)); err == nil {
			return &content{packing, d.IOReadCloser()}, nil
		}
	case "lzo":
		in, err = newLZOP(buffered)
	case "ova":
		in = &archive{tar: tar.NewReader(buffered)}
	default:
		err = errors.New("nobody knows how to unpack it")
	}
	if err != nil {
		return nil, unreadable(packing, err)
	}
	return &content{packing, io.NopCloser(in)}, nil
}

// content reads what is inside a packed file. Its errors say that the packing is invalid.
type content struct {
	packing string
	io.ReadCloser
}

func (c *content) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = unreadable(c.packing, err)
	}
	return n, err
}

// unreadable is an error of unpacking, unless the file itself couldn't be read.
func unreadable(packing string, err error) error {
	switch {
	case errors.Is(err, ErrUnreachable), errors.Is(err, ErrContent), stopped(err):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: the file ends too early for %s", ErrContent, packing)
	}
	return fmt.Errorf("%w: it can't be unpacked as %s: %w", ErrContent, packing, err)
}

// archive reads the one disk of an OVA. A second one is an error at the end.
type archive struct {
	tar   *tar.Reader
	disk  string
	inner io.Reader
	ended bool
}

// disks are the endings of disks in an OVA.
var disks = append([]string{"img"}, model.Formats...)

func (a *archive) Read(p []byte) (int, error) {
	if a.inner == nil {
		if err := a.next(); err != nil {
			return 0, err
		}
		if a.disk == "" {
			return 0, fmt.Errorf("%w: there is no disk in it", ErrContent)
		}
	}
	if a.ended {
		return 0, io.EOF
	}
	n, err := a.inner.Read(p)
	if errors.Is(err, io.EOF) {
		a.ended = true
		if more := a.next(); more != nil {
			return n, more
		}
	}
	return n, err
}

// next goes to the next disk, or to the end.
func (a *archive) next() error {
	for {
		h, err := a.tar.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := strings.ToLower(h.Name)
		inside := strings.TrimSuffix(name, ".gz")
		if h.Typeflag != tar.TypeReg || !slices.Contains(disks, strings.TrimPrefix(path.Ext(inside), ".")) {
			continue
		}
		if a.disk != "" {
			return fmt.Errorf("%w: there are several disks in it, %s and %s; give an image with one", ErrContent, a.disk, h.Name)
		}
		a.disk, a.inner = h.Name, a.tar
		if inside != name {
			if a.inner, err = gzip.NewReader(a.tar); err != nil {
				return err
			}
		}
		return nil
	}
}

// format is what a disk image is, by its first bytes.
func format(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("QFI\xfb")):
		return "qcow2"
	case bytes.HasPrefix(head, []byte("KDMV")), bytes.HasPrefix(head, []byte("COWD")), bytes.HasPrefix(head, []byte("# Disk DescriptorFile")):
		return "vmdk"
	}
	return "raw"
}

// diskSize is how large the disk of an image is, by its first bytes; 0: they don't say.
func diskSize(head []byte) int64 {
	var size uint64
	switch {
	case len(head) < 32:
	case bytes.HasPrefix(head, []byte("QFI\xfb")):
		size = binary.BigEndian.Uint64(head[24:])
	case bytes.HasPrefix(head, []byte("KDMV")):
		size = binary.LittleEndian.Uint64(head[12:])
		if size > math.MaxInt64>>9 {
			return 0
		}
		size <<= 9 // sectors
	}
	if size > math.MaxInt64 {
		return 0
	}
	return int64(size)
}

// packings are the first bytes of packed files, which aren't disk images.
var packings = map[string]string{"\xfd7zXZ\x00": "xz", "BZh": "bz2", "\x1f\x8b": "gz", "\x28\xb5\x2f\xfd": "zst", lzopMagic: "lzo", "PK\x03\x04": "zip"}

// packed is how a file is packed, by its first bytes; empty: it isn't, or nobody knows.
func packed(head []byte) string {
	for first, packing := range packings {
		if bytes.HasPrefix(head, []byte(first)) {
			return packing
		}
	}
	return ""
}

// unusable says why a file is no disk image, by the first bytes of what is inside and the format in its name, if that has one. Nobody else
// would notice: anything can be a raw disk.
func unusable(head []byte, named string) error {
	switch {
	case len(head) == 0:
		return fmt.Errorf("%w: it is empty", ErrContent)
	case format(head) != "raw":
		return nil
	case strings.HasPrefix(http.DetectContentType(head), "text/"):
		return fmt.Errorf("%w: it is text, such as a web page; give the URL of the image itself", ErrContent)
	case named != "" && named != "raw" && !partitioned(head):
		return fmt.Errorf("%w: its name ends in .%s, and it isn't one; correct the URL", ErrContent, named)
	}
	return nil
}

// partitioned reports whether a raw disk begins with a boot sector, as those with a table of partitions do.
func partitioned(head []byte) bool { return len(head) >= 512 && head[510] == 0x55 && head[511] == 0xaa }
