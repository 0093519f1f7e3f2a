package pvesim

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
)

// BootableImage returns a disk of 2 GiB in the format qcow2 with a boot sector and
// nothing else. Simulated guests need no more to boot.
func BootableImage() []byte {
	const bits = 9
	const cluster = 1 << bits
	be := binary.BigEndian
	b := make([]byte, 4*cluster) // header, first table, second table, boot sector
	copy(b, "QFI\xfb")
	be.PutUint32(b[4:], 2)        // version
	be.PutUint32(b[20:], bits)    // size of clusters
	be.PutUint64(b[24:], 2<<30)   // size of the disk
	be.PutUint32(b[36:], 1<<16)   // entries of the first table
	be.PutUint64(b[40:], cluster) // where it is
	be.PutUint64(b[cluster:], 2*cluster|1<<63)
	be.PutUint64(b[2*cluster:], 3*cluster|1<<63)
	b[4*cluster-2], b[4*cluster-1] = 0x55, 0xaa
	return b
}

// BootableImages is an Internet that answers every request with
// [BootableImage], packed if the path ends in .gz and isn't an archive; see [WithInternet].
type BootableImages struct{}

// RoundTrip answers with the image.
func (BootableImages) RoundTrip(r *http.Request) (*http.Response, error) {
	image := BootableImage()
	if strings.HasSuffix(r.URL.Path, ".gz") && !strings.HasSuffix(r.URL.Path, ".tar.gz") {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(image); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		image = packed.Bytes()
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {"application/octet-stream"}},
		ContentLength: int64(len(image)), Body: io.NopCloser(bytes.NewReader(image)), Request: r,
	}, nil
}
