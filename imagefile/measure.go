package imagefile

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/proxplane/proxplane/model"
)

// hashes are the algorithms that Proxmox knows, too.
var hashes = map[string]func() hash.Hash{"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New}

// Said is what this machine finds at a URL.
type Said struct {
	Size      int64  // of the file as it is there; 0: the server doesn't say
	Format    string // of the disk image in it
	Disk      int64  // how large the disk is that is made of it; 0: not known
	Elsewhere string // the host that has it, when the server has sent us to another one
	Plain     bool   // it is sent without TLS there, though the URL is of HTTPS: we don't follow
}

// Look reads the first bytes of a file. It needs no checksum.
func (w *Web) Look(ctx context.Context, src Source) (Said, error) {
	patience := lookFor
	if src.Packing == "" && model.NamedFormat(src.URL) != "" {
		patience = askFor
	}
	within, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("%w: no answer within %v", ErrUnreachable, patience))
	defer cancel()
	t, err := w.get(within, src)
	var unprotected *UnprotectedError
	var away *elsewhereError
	switch {
	case errors.As(err, &unprotected):
		return Said{Elsewhere: unprotected.Host, Plain: true}, nil
	case errors.As(err, &away):
		return Said{Elsewhere: away.host}, err
	case err != nil:
		return Said{}, err
	}
	defer t.Close()
	said := Said{Size: max(t.size, 0), Elsewhere: t.elsewhere}
	in, err := unpack(src.Packing, t)
	if err != nil {
		return said, err
	}
	defer in.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(in, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return said, err
	}
	if more := packed(head[:n]); more != "" {
		return said, fmt.Errorf("%w: it is packed as %s, and its name doesn't end in .%s", ErrContent, more, more)
	}
	if err := unusable(head[:n], model.NamedFormat(src.URL)); err != nil {
		return said, err
	}
	said.Format = format(head[:n])
	if said.Disk = diskSize(head[:n]); said.Format == "raw" && src.Packing == "" {
		said.Disk = said.Size
	}
	return said, nil
}

// Measured is what is inside a file.
type Measured struct {
	Size   int64
	SHA256 string
	Format string
}

// Measure reads a whole file, verifies its checksum, and measures what is in it. It ends with ErrRoom as soon as
// that is more than room; 0: nobody knows how much there is. Told is called with the part that is
// done, where that is known.
func (w *Web) Measure(ctx context.Context, src Source, room int64, progress func(float64)) (Measured, error) {
	t, err := w.get(ctx, src)
	if err != nil {
		return Measured{}, err
	}
	defer t.Close()
	if t.elsewhere != "" && src.Checksum == "" {
		return Measured{}, fmt.Errorf("%w: to %s, and no checksum says what the file is", ErrRedirect, t.elsewhere)
	}
	sum := newSum(src.Algorithm)
	file := io.TeeReader(&counted{Reader: t, size: t.size, progress: progress}, sum)
	in, err := unpack(src.Packing, file)
	if err != nil {
		return Measured{}, err
	}
	defer in.Close()
	m, err := measure(in, room)
	if err != nil {
		return Measured{}, err
	}
	// What follows the packed image belongs to the file, too.
	if _, err := io.Copy(io.Discard, file); err != nil {
		return Measured{}, err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); src.Checksum != "" && got != src.Checksum {
		return Measured{}, fmt.Errorf("%w: its %s is %s, and %s was declared", ErrChecksum, src.Algorithm, got, src.Checksum)
	}
	return m, nil
}

// measure reads an image.
func measure(in io.Reader, room int64) (Measured, error) {
	sum := sha256.New()
	head := &beginning{}
	limited := in
	if room > 0 {
		limited = io.LimitReader(in, room+1)
	}
	size, err := io.Copy(io.MultiWriter(sum, head), limited)
	switch {
	case err != nil:
		return Measured{}, err
	case room > 0 && size > room:
		return Measured{}, fmt.Errorf("%w: unpacked it has more than the %s that are free", ErrRoom, model.Bytes(room))
	case size == 0:
		return Measured{}, fmt.Errorf("%w: it is empty", ErrContent)
	}
	if err := unusable(head.bytes, ""); err != nil {
		return Measured{}, err
	}
	return Measured{Size: size, SHA256: hex.EncodeToString(sum.Sum(nil)), Format: format(head.bytes)}, nil
}

func newSum(algorithm string) hash.Hash {
	if h := hashes[algorithm]; h != nil {
		return h()
	}
	return sha256.New()
}

// Open reads what is inside a file, a second time: that it is the same is for the receiver to check.
func (w *Web) Open(ctx context.Context, src Source) (io.ReadCloser, error) {
	t, err := w.get(ctx, src)
	if err != nil {
		return nil, err
	}
	in, err := unpack(src.Packing, t)
	if err != nil {
		_ = t.Close()
		return nil, err
	}
	return &both{in, t}, nil
}

// both ends the unpacking and the transfer.
type both struct {
	io.ReadCloser
	under io.Closer
}

func (b *both) Close() error { return errors.Join(b.ReadCloser.Close(), b.under.Close()) }

// counted says how much was read.
type counted struct {
	io.Reader
	read, size int64
	progress   func(float64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if c.read += int64(n); c.progress != nil && c.size > 0 && n > 0 {
		c.progress(float64(c.read) / float64(c.size))
	}
	return n, err
}

// beginning keeps the first bytes that are written.
type beginning struct{ bytes []byte }

func (b *beginning) Write(p []byte) (int, error) {
	const enough = 512
	b.bytes = append(b.bytes, p[:min(len(p), enough-len(b.bytes))]...)
	return len(p), nil
}

// stopped reports whether the caller has stopped.
func stopped(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
