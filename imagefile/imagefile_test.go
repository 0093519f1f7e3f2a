package imagefile_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/proxplane/proxplane/imagefile"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/packed"
)

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// serve has one file at any path.
func serve(t *testing.T, content []byte) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = w.Write(content)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestWhatIsPackedIsFoundMeasuredAndRead(t *testing.T) {
	image := pvesim.BootableImage()
	for _, packing := range append([]string{""}, model.Packings...) {
		file, want, format := packed.Bootable(packing), image, "qcow2"
		src := imagefile.Source{URL: serve(t, file) + "/image", Packing: packing, Checksum: sum(file), Algorithm: "sha256"}
		web := imagefile.New(nil)
		said, err := web.Look(t.Context(), src)
		if err != nil || said.Format != format || said.Size != int64(len(file)) {
			t.Errorf("%q: %+v %v", packing, said, err)
		}
		part := 0.0
		m, err := web.Measure(t.Context(), src, 1<<30, func(f float64) { part = f })
		if err != nil || m.Size != int64(len(want)) || m.SHA256 != sum(want) || m.Format != format || part != 1 {
			t.Errorf("%q: %+v %v, told %v", packing, m, err, part)
		}
		in, err := web.Open(t.Context(), src)
		if err != nil {
			t.Errorf("%q: %v", packing, err)
			continue
		}
		got, err := io.ReadAll(in)
		if err != nil || !bytes.Equal(got, want) || in.Close() != nil {
			t.Errorf("%q: %d bytes, %v", packing, len(got), err)
		}
	}
}

func TestFormatsAreToldByTheFirstBytes(t *testing.T) {
	for format, image := range map[string][]byte{"qcow2": pvesim.BootableImage(), "raw": packed.Raw(), "vmdk": packed.VMDK()} {
		for _, packing := range []string{"", "xz", "ova"} {
			said, err := imagefile.New(nil).Look(t.Context(), imagefile.Source{URL: serve(t, packed.As(packing, image)), Packing: packing})
			if err != nil || said.Format != format {
				t.Errorf("%s in %q: %+v %v", format, packing, said, err)
			}
		}
	}
}

func TestSizesOfDisksAreToldByTheFirstBytes(t *testing.T) {
	raw := packed.Raw()
	for _, c := range []struct {
		image   []byte
		packing string
		disk    int64
	}{
		{pvesim.BootableImage(), "", 2 << 30},
		{pvesim.BootableImage(), "xz", 2 << 30},
		{packed.VMDK(), "", 1 << 30},
		{raw, "", int64(len(raw))},
		{raw, "gz", 0}, // the server says how large the packed file is
	} {
		said, err := imagefile.New(nil).Look(t.Context(), imagefile.Source{URL: serve(t, packed.As(c.packing, c.image)), Packing: c.packing})
		if err != nil || said.Disk != c.disk {
			t.Errorf("%q, packed as %q: %+v %v, want %d", c.image[:4], c.packing, said, err, c.disk)
		}
	}
}

func TestWhatIsWrongWithAFileIsSaid(t *testing.T) {
	image := pvesim.BootableImage()
	xzed := packed.As("xz", image)
	large := bytes.Clone(xzed)
	// The header of the first block follows twelve bytes: its size, flags, the filter, the size of its
	// properties, and the dictionary.
	large[12+4] = 40
	for _, c := range []struct {
		name    string
		content []byte
		src     imagefile.Source
		room    int64
		kind    error
		says    string
	}{
		{"another checksum", xzed, imagefile.Source{Packing: "xz", Checksum: strings.Repeat("0", 64), Algorithm: "sha256"}, 0, imagefile.ErrChecksum, "its sha256 is " + sum(xzed)},
		{"not packed at all", image, imagefile.Source{Packing: "xz"}, 0, imagefile.ErrContent, "can't be unpacked as xz"},
		{"cut off", xzed[:len(xzed)-20], imagefile.Source{Packing: "xz"}, 0, imagefile.ErrContent, "ends too early"},
		{"larger than the room", packed.As("gz", packed.Raw()), imagefile.Source{Packing: "gz"}, 4096, imagefile.ErrRoom, "more than the 4 KiB"},
		{"empty", packed.As("gz", nil), imagefile.Source{Packing: "gz"}, 0, imagefile.ErrContent, "empty"},
		{"too much memory", large, imagefile.Source{Packing: "xz"}, 0, imagefile.ErrContent, "pack it with xz -9 or less"},
		{"an OVA with two disks", packed.OVA(map[string][]byte{"a.vmdk": packed.VMDK(), "b.vmdk": packed.VMDK()}), imagefile.Source{Packing: "ova"}, 0, imagefile.ErrContent, "several disks"},
		{"an OVA without a disk", packed.OVA(nil), imagefile.Source{Packing: "ova"}, 0, imagefile.ErrContent, "no disk"},
	} {
		c.src.URL = serve(t, c.content)
		_, err := imagefile.New(nil).Measure(t.Context(), c.src, c.room, nil)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	_, err := imagefile.New(nil).Look(t.Context(), imagefile.Source{URL: serve(t, xzed)})
	if !errors.Is(err, imagefile.ErrContent) || !strings.Contains(err.Error(), "its name doesn't end in .xz") {
		t.Errorf("packed under another name: %v", err)
	}
}

func TestWhatIsNoDiskIsNotTakenForARawOne(t *testing.T) {
	page := []byte("\n<!DOCTYPE html><title>Log in</title>" + strings.Repeat("<p>Please log in.</p>\n", 50))
	filesystem := make([]byte, 4096) // without a boot sector
	filesystem[1080], filesystem[1081] = 0x53, 0xef
	for _, c := range []struct {
		reason  string
		content []byte
		name    string
		format  string
		says    string
	}{
		{reason: "a page that asks to log in", content: page, name: "/download", says: "it is text, such as a web page; give the URL of the image itself"},
		{reason: "the same, called an image", content: page, name: "/debian.img", says: "it is text"},
		{reason: "the same, called raw", content: page, name: "/debian.raw", says: "it is text"},
		{reason: "an error of a mirror", content: []byte("no such release\n"), name: "/debian.qcow2", says: "it is text"},
		{reason: "nothing", content: nil, name: "/debian.img", says: "it is empty"},
		{reason: "bytes that nothing vouches for", content: filesystem, name: "/debian.qcow2", says: "its name ends in .qcow2, and it isn't one; correct the URL"},
		{reason: "the same, called raw", content: filesystem, name: "/debian.raw", format: "raw"},
		{reason: "the same, whatever it is called", content: filesystem, name: "/debian.img", format: "raw"},
		{reason: "a raw disk that is called otherwise", content: packed.Raw(), name: "/debian.qcow2", format: "raw"},
		{reason: "a VMDK that is called otherwise", content: packed.VMDK(), name: "/debian.qcow2", format: "vmdk"},
		{reason: "a text that describes a VMDK", content: []byte("# Disk DescriptorFile\nversion=1\n"), name: "/debian.vmdk", format: "vmdk"},
	} {
		said, err := imagefile.New(nil).Look(t.Context(), imagefile.Source{URL: serve(t, c.content) + c.name + "?from=here"})
		switch {
		case c.says != "" && (!errors.Is(err, imagefile.ErrContent) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s (%s): %+v %v", c.reason, c.name, said, err)
		case c.says == "" && (err != nil || said.Format != c.format):
			t.Errorf("%s (%s): %+v %v", c.reason, c.name, said, err)
		}
	}
	src := imagefile.Source{URL: serve(t, packed.As("gz", page)), Packing: "gz"}
	if _, err := imagefile.New(nil).Look(t.Context(), src); !errors.Is(err, imagefile.ErrContent) || !strings.Contains(err.Error(), "it is text") {
		t.Errorf("a page that is packed: %v", err)
	}
	if _, err := imagefile.New(nil).Measure(t.Context(), src, 0, nil); !errors.Is(err, imagefile.ErrContent) || !strings.Contains(err.Error(), "it is text") {
		t.Errorf("a page that is packed, measured: %v", err)
	}
}

func TestServersThatDoNotHaveIt(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	_, err := imagefile.New(nil).Look(t.Context(), imagefile.Source{URL: srv.URL})
	if !errors.Is(err, imagefile.ErrMissing) || !strings.Contains(err.Error(), "404 Not Found") {
		t.Errorf("%v", err)
	}
	srv.Close()
	_, err = imagefile.New(nil).Look(t.Context(), imagefile.Source{URL: srv.URL + "/image?token=secret"})
	if !errors.Is(err, imagefile.ErrUnreachable) || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	_, err = imagefile.New(nil).Look(t.Context(), imagefile.Source{URL: "http://169.254.169.254/latest/meta-data"})
	if !errors.Is(err, imagefile.ErrUnreachable) || !strings.Contains(err.Error(), "an address of the link") {
		t.Errorf("%v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err = imagefile.New(nil).Measure(ctx, imagefile.Source{URL: srv.URL}, 0, nil); !errors.Is(err, context.Canceled) || errors.Is(err, imagefile.ErrUnreachable) {
		t.Errorf("stopped: %v", err)
	}
}

func TestRedirects(t *testing.T) {
	file := packed.Bootable("xz")
	there := serve(t, file)
	sent := httptest.NewServer(http.RedirectHandler(there, http.StatusFound))
	defer sent.Close()
	src := imagefile.Source{URL: sent.URL, Packing: "xz"}
	web := imagefile.New(nil)
	if said, err := web.Look(t.Context(), src); err != nil || said.Elsewhere != strings.TrimPrefix(there, "http://") {
		t.Errorf("%+v %v", said, err)
	}
	if _, err := web.Measure(t.Context(), src, 0, nil); !errors.Is(err, imagefile.ErrRedirect) {
		t.Errorf("without a checksum: %v", err)
	}
	src.Checksum, src.Algorithm = sum(file), "sha256"
	if _, err := web.Measure(t.Context(), src, 0, nil); err != nil {
		t.Errorf("with its checksum: %v", err)
	}
	tls := httptest.NewTLSServer(http.RedirectHandler(there, http.StatusFound))
	defer tls.Close()
	web, src.URL = imagefile.New(tls.Client().Transport), tls.URL
	if said, err := web.Look(t.Context(), src); err != nil || !said.Plain || said.Format != "" || said.Elsewhere != strings.TrimPrefix(there, "http://") {
		t.Errorf("to no TLS: %+v %v", said, err)
	}
	if _, err := web.Measure(t.Context(), src, 0, nil); !errors.Is(err, imagefile.ErrRedirect) || !strings.Contains(err.Error(), "without TLS") {
		t.Errorf("to no TLS: %v", err)
	}
}

// TestRedirectsThatLeadNowhere: what the server says is told, and what to do about it.
func TestRedirectsThatLeadNowhere(t *testing.T) {
	sendTo := func(there string) imagefile.Source {
		srv := httptest.NewServer(http.RedirectHandler(there, http.StatusFound))
		t.Cleanup(srv.Close)
		return imagefile.Source{URL: srv.URL + "/img.qcow2"}
	}
	web := imagefile.New(nil)
	if _, err := web.Look(t.Context(), sendTo("/again")); !errors.Is(err, imagefile.ErrRedirect) || !strings.Contains(err.Error(), "more than 10 times; give the URL") {
		t.Errorf("in a circle: %v", err)
	}
	if _, err := web.Look(t.Context(), sendTo("file:///etc/passwd")); !errors.Is(err, imagefile.ErrRedirect) || !strings.Contains(err.Error(), `a URL of "file", which isn't fetched`) {
		t.Errorf("to a file: %v", err)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	said, err := web.Look(t.Context(), sendTo(strings.Replace(gone.URL, "http://", "http://me:secret@", 1)+"/img.qcow2?sig=secret"))
	if !errors.Is(err, imagefile.ErrUnreachable) || strings.Contains(err.Error(), "secret") || said.Elsewhere != strings.TrimPrefix(gone.URL, "http://") {
		t.Errorf("to a host that isn't reached: %+v %v", said, err)
	}
	if said, err := web.Look(t.Context(), imagefile.Source{URL: gone.URL}); !errors.Is(err, imagefile.ErrUnreachable) || said.Elsewhere != "" {
		t.Errorf("itself not reached: %+v %v", said, err)
	}
}

// zeros is an endless disk.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestMemoryDoesNotGrowWithTheImage reads 64 MiB that are packed into a few KiB.
func TestMemoryDoesNotGrowWithTheImage(t *testing.T) {
	const size = 64 << 20
	var b bytes.Buffer
	w, err := xz.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(w, zeros{}, size); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	src := imagefile.Source{URL: serve(t, b.Bytes()), Packing: "xz"}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, err := imagefile.New(nil).Measure(t.Context(), src, 0, nil)
	runtime.ReadMemStats(&after)
	if err != nil || m.Size != size {
		t.Fatalf("%+v %v", m, err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 32<<20 {
		t.Errorf("it took %s of memory", model.Bytes(int64(took)))
	}
}
