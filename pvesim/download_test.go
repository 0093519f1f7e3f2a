package pvesim

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// bzip2 of "packed\n".
const bzipped = "QlpoOTFBWSZTWVvaCagAAANBgAAQLghAACAAMQwBBk2jHAKLuSKcKEgt7QTUAA=="

// fileServer serves a few files over HTTP and HTTPS.
func fileServer(t *testing.T) (plain, secure string) {
	t.Helper()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte("packed\n"))
	z.Close()
	unbz, _ := base64.StdEncoding.DecodeString(bzipped)
	mux := http.NewServeMux()
	serve := func(path string, data []byte, headers ...string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
			w.Write(data)
		})
	}
	serve("/a.iso", []byte("abc"), "Content-Type", "application/x-iso9660-image; charset=x", "Content-Disposition", "attachment; filename=named.iso; x=y")
	serve("/a.iso.gz", zipped.Bytes())
	serve("/a.iso.bz2", unbz)
	serve("/big", make([]byte, 5000))
	serve("/boot.raw", bootable())
	mux.Handle("/moved", http.RedirectHandler("/a.iso", http.StatusFound))
	a, b := httptest.NewServer(mux), httptest.NewTLSServer(mux)
	a.Config.ErrorLog, b.Config.ErrorLog = discardLog, discardLog
	t.Cleanup(func() { a.Close(); b.Close() })
	return a.URL, b.URL
}

const downloadPath = "/nodes/pve1/storage/local/download-url"

func TestDownloadsFetchAndCheckTheFile(t *testing.T) {
	plain, secure := fileServer(t)
	w := depotWorld("9.2")
	w.Storages[0].Volumes = []WorldVolume{{Name: "iso/there.iso", Text: "abc"}}
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := refused.Addr().String()
	refused.Close()
	depot(t, w, func(t *testing.T, l *lab) {
		for _, c := range []struct {
			reason string
			params []string
			want   string
		}{
			{"as it is", []string{"url", plain + "/a.iso", "filename", "a.iso"}, "OK"},
			{"again", []string{"url", plain + "/a.iso", "filename", "a.iso"}, "refusing to override existing file '/var/lib/vz/template/iso/a.iso'"},
			{"again, and it is the right one", []string{"url", plain + "/a.iso", "filename", "a.iso", "checksum", strings.ToUpper(abc), "checksum-algorithm", "sha256"}, "OK"},
			{"again, and it is another one", []string{"url", plain + "/a.iso", "filename", "there.iso", "checksum", "00", "checksum-algorithm", "sha256"},
				"checksum mismatch: got '" + abc + "' != expect '00', aborting"},
			{"with a checksum", []string{"url", plain + "/moved", "filename", "b.iso", "checksum", "900150983cd24fb0d6963f7d28e17f72", "checksum-algorithm", "md5"}, "OK"},
			{"with the wrong one", []string{"url", plain + "/a.iso", "filename", "c.iso", "checksum", "00", "checksum-algorithm", "sha256"}, "checksum mismatch: got '" + abc + "' != expect '00'"},
			{"gzipped", []string{"url", plain + "/a.iso.gz", "filename", "gz.iso", "compression", "gz"}, "OK"},
			{"bzipped", []string{"url", plain + "/a.iso.bz2", "filename", "bz.iso", "compression", "bz2"}, "OK"},
			{"not gzipped", []string{"url", plain + "/a.iso", "filename", "c.iso", "compression", "gz"}, "command 'zcat /var/lib/vz/template/iso/c.iso.tmp_dwnl.PID' failed: exit code 1"},
			{"only ISOs are unpacked", []string{"url", plain + "/a.iso.gz", "filename", "c.raw", "compression", "gz", "content", "import"}, "decompression not supported for import"},
			{"something that boots", []string{"url", plain + "/boot.raw", "filename", "boot.raw", "content", "import"}, "OK"},
			{"no image", []string{"url", plain + "/a.iso", "filename", "c.qcow2", "content", "import"},
				"failed to verify file: qemu-img: Could not open '/var/lib/vz/import/c.qcow2.tmp_dwnl.PID': Image is not in qcow2 format"},
			{"missing", []string{"url", plain + "/nope", "filename", "c.iso"}, "download failed: exit code 8"},
			{"nobody there", []string{"url", "http://" + nobody + "/x", "filename", "c.iso"}, "download failed: Connecting to " + nobody + "... failed: Connection refused."},
			{"no such name", []string{"url", "http://nope.invalid/x", "filename", "c.iso"}, "download failed: wget: unable to resolve host address 'nope.invalid'"},
			{"an unknown certificate", []string{"url", secure + "/a.iso", "filename", "c.iso"}, "download failed: To connect to 127.0.0.1 insecurely, use `--no-check-certificate'."},
			{"any certificate will do", []string{"url", secure + "/a.iso", "filename", "s.iso", "verify-certificates", "0"}, "OK"},
		} {
			params := c.params
			if !slices.Contains(params, "content") {
				params = append(params, "content", "iso")
			}
			exit, log := l.ended(l.must("POST", downloadPath, params...))
			if got := withoutPID(exit); got != c.want {
				t.Errorf("%s: %q, want %q\n%s", c.reason, got, c.want, strings.Join(log, "\n"))
			}
		}
		for volid, want := range map[string]string{"iso/a.iso": "abc", "iso/b.iso": "abc", "iso/s.iso": "abc", "iso/gz.iso": "packed\n", "iso/bz.iso": "packed\n"} {
			v := l.volume("local:" + volid)
			if v == nil {
				t.Errorf("%s isn't there", volid)
				continue
			}
			if got, _ := l.sim.volumeBytes(v, 100); string(got) != want || v.Used != int64(len(want)) {
				t.Errorf("%s holds %q, want %q", volid, got, want)
			}
		}
		if v := l.volume("local:import/boot.raw"); v.System != WithAgent {
			t.Errorf("an image with a boot sector holds %q", v.System)
		}
		// Six downloads and a file that two nodes have.
		if n := len(l.sim.blobs.memory); n != 8 {
			t.Errorf("%d blobs, want 8", n)
		}
	})
}

// withoutPID hides the number of the process in names of temporary files.
func withoutPID(text string) string {
	at := strings.Index(text, ".tmp_dwnl.")
	if at < 0 {
		return text
	}
	at += len(".tmp_dwnl.")
	end := at
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	return text[:at] + "PID" + text[end:]
}

func TestDownloadsAreRefusedBeforeTheyBegin(t *testing.T) {
	depot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		l.expect(l.post("/nodes/pve1/storage/thin/download-url", "url", "http://x/y", "content", "iso", "filename", "a.iso"), 500,
			"can't upload to storage type 'lvmthin', not a file based storage!")
		l.expect(l.post("/nodes/pve1/storage/nas/download-url", "url", "http://x/y", "content", "import", "filename", "a.raw"), 500,
			"storage 'nas' is not configured for content-type 'import'")
		l.expect(l.post("/nodes/pve1/storage/nope/download-url", "url", "http://x/y", "content", "iso", "filename", "a.iso"), 500, "storage 'nope' does not exist")
		r := l.post(downloadPath, "url", "http://x/y", "content", "import", "filename", "a.ovf")
		l.expect(r, 400, "Parameter verification failed.")
		l.same(r.errors, object{"filename": "invalid filename or wrong extension"}, "errors")
		l.must("PUT", "/access/acl", "path", "/storage/local", "roles", "PVEDatastoreAdmin", "users", "ann@pve")
		ann := l.login("ann@pve", "secret")
		if r := ann.post(downloadPath, "url", "http://x/y", "content", "iso", "filename", "a.iso"); r.status != 403 {
			t.Errorf("%d %s", r.status, r.reason)
		}
	})
}

func TestADownloadThatDoesNotFitFails(t *testing.T) {
	plain, _ := fileServer(t)
	w := depotWorld("9.2")
	w.Storages[0].Size = 4999
	depot(t, w, func(t *testing.T, l *lab) {
		exit, _ := l.ended(l.must("POST", downloadPath, "url", plain+"/big", "content", "iso", "filename", "a.iso"))
		if got, want := withoutPID(exit), "download failed: Cannot write to '/var/lib/vz/template/iso/a.iso.tmp_dwnl.PID' (No space left on device)."; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestAStoppedDownloadEnds(t *testing.T) {
	asked, end := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("a"))
		w.(http.Flusher).Flush()
		close(asked)
		select {
		case <-r.Context().Done():
		case <-end:
		}
	}))
	defer server.Close()
	defer close(end)
	depot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		upid := l.must("POST", downloadPath, "url", server.URL+"/x", "content", "iso", "filename", "a.iso").(string)
		<-asked
		l.must("DELETE", "/nodes/pve1/tasks/"+upid)
		if exit, _ := l.ended(upid); exit != "received interrupt" {
			t.Errorf("task ended with %q", exit)
		}
		if l.volume("local:iso/a.iso") != nil || len(l.sim.blobs.memory) != 0 {
			t.Error("something is left")
		}
	})
}

func TestURLsTellTheirMetadata(t *testing.T) {
	plain, secure := fileServer(t)
	depot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		const path = "/nodes/pve1/query-url-metadata"
		l.same(l.must("GET", path, "url", plain+"/a.iso"), object{"filename": "named.iso", "size": 3.0, "mimetype": "application/x-iso9660-image"}, "a named file")
		l.same(l.must("GET", path, "url", secure+"/big?x=/y", "verify-certificates", "0"), object{"filename": "big", "size": 5000.0, "mimetype": "application/octet-stream"}, "named by its path")
		l.expect(l.get(path, "url", plain+"/nope"), 500, "invalid server response: '404 Not Found'")
	})
}

// unnamed is an Internet in which no name leads to a server.
type unnamed struct{}

func (unnamed) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: r.URL.Hostname(), IsNotFound: true}}
}

// libwww-perl names the port, also where the URL doesn't.
func TestServersWithoutAnAddressAreNamed(t *testing.T) {
	depot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		l.sim.internet = unnamed{}
		const path = "/nodes/pve1/query-url-metadata"
		l.expect(l.get(path, "url", "https://nohost.invalid/a.iso"), 500, "invalid server response: '500 Can't connect to nohost.invalid:443 (Name or service not known)'")
		l.expect(l.get(path, "url", "http://nohost.invalid:8080/a.iso"), 500, "invalid server response: '500 Can't connect to nohost.invalid:8080 (Name or service not known)'")
	})
}
