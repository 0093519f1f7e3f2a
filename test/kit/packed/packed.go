// Package packed packs disk images as people find them in the Internet, and serves them.
package packed

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	_ "embed" // the image that nothing here can pack
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/proxplane/proxplane/pvesim"
)

// There is no well-kept library that packs as bzip2.
//
//go:embed bootable.qcow2.bz2
var bootable []byte

// Bootable is [pvesim.BootableImage], packed: xz, bz2, gz, zst, lzo or ova.
func Bootable(packing string) []byte {
	if packing == "bz2" {
		return bootable
	}
	return As(packing, pvesim.BootableImage())
}

// packs are images that were packed: that takes xz more than the tests around it.
var packs sync.Map

// As packs an image: xz, gz, zst, lzo or ova; another word leaves it as it is.
func As(packing string, image []byte) []byte {
	key := packing + " " + string(image)
	if done, ok := packs.Load(key); ok {
		return slices.Clone(done.([]byte))
	}
	done := pack(packing, image)
	packs.Store(key, slices.Clone(done))
	return done
}

func pack(packing string, image []byte) []byte {
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch packing {
	case "xz":
		w, err = xz.NewWriter(&b)
	case "gz":
		w = gzip.NewWriter(&b)
	case "zst":
		w, err = zstd.NewWriter(&b)
	case "lzo":
		return lzop(image)
	case "ova":
		return OVA(map[string][]byte{"box-disk1.vmdk": image})
	default:
		return image
	}
	if err == nil {
		_, err = w.Write(image)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err)
	}
	return b.Bytes()
}

// OVA is an archive with a description and disks.
func OVA(disks map[string][]byte) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(name string, content []byte) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			panic(err)
		}
		if _, err := w.Write(content); err != nil {
			panic(err)
		}
	}
	add("box.ovf", []byte("<Envelope/>\n"))
	for name, content := range disks {
		add(name, content)
	}
	add("box.mf", []byte("SHA256(box.ovf)= 0\n"))
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// VMDK is the header of a disk of 1 GiB, which is all that the simulator looks at.
func VMDK() []byte {
	b := make([]byte, 4096)
	copy(b, "KDMV")
	b[14] = 0x20 // 2^21 sectors
	return b
}

// Server has images by the endings of their names: whatever.xz is one that is packed as xz, and whatever.img isn't packed. A
// name with "raw" in it is of a raw image, one with "missing" isn't there, and one with "moved" is at another host.
type Server struct{ Elsewhere string }

func (s Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	switch {
	case strings.Contains(name, "missing"):
		http.NotFound(w, r)
		return
	case strings.Contains(name, "forbidden"):
		http.Error(w, "not for you", http.StatusForbidden)
		return
	case strings.Contains(name, "moved") && s.Elsewhere != "":
		http.Redirect(w, r, s.Elsewhere+strings.Replace(r.URL.Path, "moved", "here", 1), http.StatusFound)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	content := Bootable(strings.TrimPrefix(path.Ext(name), "."))
	switch ext := strings.TrimPrefix(path.Ext(name), "."); {
	case ext == "ova":
		content = As(ext, VMDK())
	case strings.Contains(name, "page"):
		content = []byte("<!DOCTYPE html><title>Log in</title>\n")
	case strings.Contains(name, "raw"):
		content = As(ext, Raw())
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	_, _ = w.Write(content)
}

// Raw is a raw disk with a boot sector.
func Raw() []byte {
	b := make([]byte, 64<<10)
	b[510], b[511] = 0x55, 0xaa
	return b
}
