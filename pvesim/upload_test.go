package pvesim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	_ "github.com/proxplane/proxplane/test/kit/chance"
)

// form writes a multipart form: fields as name, value pairs, then the file.
func form(boundary, file string, content []byte, fields ...string) []byte {
	var b bytes.Buffer
	for i := 0; i < len(fields); i += 2 {
		fmt.Fprintf(&b, "--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n", boundary, fields[i], fields[i+1])
	}
	fmt.Fprintf(&b, "--%s\r\nContent-Disposition: form-data; name=\"filename\"; filename=\"%s\"\r\nContent-Type: application/octet-stream\r\n\r\n", boundary, file)
	b.Write(content)
	fmt.Fprintf(&b, "\r\n--%s--\r\n", boundary)
	return b.Bytes()
}

// upload sends a form to a storage; the answer's text is its body.
func (v *visitor) upload(path string, body []byte) (reply, string) {
	v.t.Helper()
	req, err := http.NewRequest("POST", "http://pve/api2/json"+path, bytes.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header = v.header.Clone()
	req.Header.Set("Content-Type", "multipart/form-data; boundary=XX")
	resp, err := v.http.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	var out struct {
		Data   any
		Errors map[string]any
	}
	json.Unmarshal(raw, &out)
	return reply{resp.StatusCode, strings.TrimSpace(strings.TrimLeft(resp.Status, "0123456789")), out.Data, out.Errors}, string(raw)
}

func TestUploadsAreTheSameHoweverTheyArrive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOf(rapid.Byte()).Draw(t, "content")
		if rapid.Bool().Draw(t, "with something like a boundary") {
			content = append(content, "\r\n--X\r\n--XX\r\n-"...)
		}
		body := form("XX", "a.iso", content, "content", "iso", "checksum-algorithm", "md5", "checksum", "0")
		var out bytes.Buffer
		p := newFormReader("XX", &out)
		for len(body) > 0 {
			n := rapid.IntRange(1, len(body)).Draw(t, "chunk")
			p.buf = append(p.buf, body[:n]...)
			if err := p.step(); err != nil {
				t.Fatal(err)
			}
			body = body[n:]
		}
		if p.phase != formDone || p.name != "a.iso" || !bytes.Equal(out.Bytes(), content) {
			t.Fatalf("phase %d, name %q, content %q, want %q", p.phase, p.name, out.Bytes(), content)
		}
		if p.fields["content"] != "iso" || p.fields["checksum-algorithm"] != "md5" || p.fields["checksum"] != "0" {
			t.Fatalf("fields %v", p.fields)
		}
	})
}

func TestFormsThatPveproxyCannotReadAreRefused(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		const path = "/nodes/pve1/storage/local/upload"
		whole := string(form("XX", "a.iso", []byte("abc"), "content", "iso"))
		for _, c := range []struct {
			reason, body string
			status       int
			phrase, text string
		}{
			{"cut off", strings.TrimSuffix(whole, "--\r\n"), 500, "upload failed at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 1370.", ""},
			{"no form", "abc", 500, "upload failed at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 1370.", ""},
			{"another field's name", strings.Replace(whole, `name="filename"`, `name="data"`, 1), 500,
				"wrong field name 'data' for file upload, expected 'filename' at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 1325.", ""},
			{"another disposition", strings.Replace(whole, `form-data; name="content"`, `attachment; name="content"`, 1), 500,
				"wrong Content-Disposition 'attachment' in multipart, expected 'form-data'", ""},
			{"fields in another order", string(form("XX", "a.iso", nil, "checksum", "0", "content", "iso")), 400, "Bad Request", ""},
			{"the file first", strings.Replace(whole, "--XX--", "--XX\r\nContent-Disposition: form-data; name=\"checksum\"\r\n\r\n0\r\n--XX--", 1), 200, "OK", ""},
		} {
			r, body := l.upload(path, []byte(c.body))
			if r.status != c.status || r.reason != c.phrase {
				t.Errorf("%s: %d %q, want %d %q", c.reason, r.status, r.reason, c.status, c.phrase)
			}
			if c.status == 400 && body != "" {
				t.Errorf("%s: body %q", c.reason, body)
			}
			if r.status == 200 {
				l.ended(r.data)
			}
		}
		if v := l.volume("local:iso/a.iso"); v == nil || v.Used <= 3 {
			t.Errorf("what follows the file is part of it: %+v", v)
		}
	})
}

func TestBrokenUploadsLeaveNothing(t *testing.T) {
	var out bytes.Buffer
	p := newFormReader("XX", &out)
	broken := io.MultiReader(bytes.NewReader(form("XX", "a.iso", make([]byte, 1000))[:500]), iotest.ErrReader(errors.New("gone")))
	if err := p.readFrom(broken); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("error %v", err)
	}
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		for i := range 3 {
			l.upload("/nodes/pve1/storage/thin/upload", form("XX", "a.iso", bytes.Repeat([]byte{byte(i)}, 1<<20), "content", "iso"))
		}
		if left := blobFiles(t, l.sim); left != 0 || len(l.sim.blobs.memory) != 0 {
			t.Errorf("%d files and %d blobs left", left, len(l.sim.blobs.memory))
		}
	})
}

// blobFiles counts the files of the blob store.
func blobFiles(t *testing.T, s *Sim) int {
	t.Helper()
	if s.blobs.dir == "" {
		return 0
	}
	files, err := filepath.Glob(filepath.Join(s.blobs.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

func TestUploadedBytesAreKeptUntilTheVolumeGoes(t *testing.T) {
	var dir string
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		const path = "/nodes/pve1/storage/local/upload"
		big := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
		for range 2 { // again replaces
			r, _ := l.upload(path, form("XX", "big.iso", big, "content", "iso"))
			if exit, _ := l.ended(r.data); exit != "OK" {
				t.Fatal(exit)
			}
		}
		dir = l.sim.blobs.dir
		if n := blobFiles(t, l.sim); n != 1 {
			t.Errorf("%d files for one big volume", n)
		}
		v := l.volume("local:iso/big.iso")
		if got, err := l.sim.volumeBytes(v, 20); err != nil || string(got) != "0123456789abcdef0123" || v.Used != int64(len(big)) || l.used("local") != v.Used {
			t.Errorf("%q %v %+v", got, err, v)
		}
		r, _ := l.upload(path, form("XX", "small.iso", []byte("small"), "content", "iso"))
		l.ended(r.data)
		if n := blobFiles(t, l.sim); n != 1 {
			t.Errorf("small volumes need no file, but there are %d", n)
		}
		l.run("DELETE", "/nodes/pve1/storage/local/content/iso/big.iso")
		if n := blobFiles(t, l.sim); n != 0 {
			t.Errorf("%d files left", n)
		}
		if got, _ := l.sim.volumeBytes(l.volume("local:iso/small.iso"), 20); string(got) != "small" {
			t.Errorf("small volume holds %q", got)
		}
	})
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

func TestUploadsAreCheckedByTheirKind(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		const path = "/nodes/pve1/storage/local/upload"
		send := func(name, content string, body []byte, more ...string) (string, []string) {
			t.Helper()
			r, _ := l.upload(path, form("XX", name, body, append([]string{"content", content}, more...)...))
			if r.status != 200 {
				return fmt.Sprint(r.errors), nil
			}
			exit, log := l.ended(r.data)
			return strings.ReplaceAll(exit, tmpOf(log), "TMP"), log
		}
		for _, c := range []struct {
			name, content string
			body          []byte
			want          string
		}{
			{"a.iso", "iso", nil, "OK"},
			{"dir/Ünï code.img", "iso", []byte("x"), "OK"},
			{"a.tar.gz", "vztmpl", []byte("x"), "OK"},
			{"a.tar.lz", "vztmpl", nil, "map[filename:wrong file extension]"},
			{"a.ovf", "import", nil, "map[filename:invalid filename or wrong extension]"},
			{"ok.qcow2", "import", qcow2Image{size: 5 << 30}.bytes(), "OK"},
			{"back.qcow2", "import", qcow2Image{size: 1 << 20, backing: true}.bytes(), "backing file not allowed for untrusted image 'TMP'!"},
			{"data.qcow2", "import", qcow2Image{size: 1 << 20, dataFile: true}.bytes(), "TMP: 'data-file' references are not allowed!"},
			{"new.qcow2", "import", qcow2Image{size: 1 << 20, version: 4}.bytes(), "qemu-img: Could not open 'TMP': Unsupported qcow2 version 4"},
			{"junk.vmdk", "import", []byte("junk"), "qemu-img: Could not open 'TMP': invalid VMDK image descriptor"},
			{"junk.raw", "import", []byte("junk"), "OK"},
			{"disguised.iso", "iso", qcow2Image{size: 1 << 20, backing: true}.bytes(), "backing file not allowed for untrusted image 'TMP'!"},
			{"junk.ova", "import", []byte("junk"), "command 'tar -t -f TMP' failed: exit code 2"},
			{"empty.ova", "import", tarball("readme", "x"), "ova archive has no .ovf file inside"},
			{"app.ova", "import", tarball("app.ovf", "<x/>", "disk.qcow2", string(qcow2Image{size: 3 << 30}.bytes())), "OK"},
		} {
			if got, _ := send(c.name, c.content, c.body); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
		if v := l.volume("local:import/ok.qcow2"); v.Size != 5<<30 || v.Format != "qcow2" || v.Used != int64(len(qcow2Image{size: 5 << 30}.bytes())) {
			t.Errorf("image %+v", v)
		}
		if l.volume("local:iso/__n___code.img") == nil {
			t.Error("odd names aren't normalised")
		}
		for algorithm, sum := range map[string]string{
			"md5": "900150983CD24FB0D6963F7D28E17F72", "sha1": "a9993e364706816aba3e25717850c26c9cd0d89d",
			"sha224": "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
			"sha384": "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
			"sha512": "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
		} {
			if got, log := send("sum.iso", "iso", []byte("abc"), "checksum-algorithm", algorithm, "checksum", sum); got != "OK" || !slices.Contains(log, "calculating checksum...OK, checksum verified") {
				t.Errorf("%s: %q %q", algorithm, got, log)
			}
		}
		l.run("POST", "/nodes/pve1/qemu", "vmid", "100", "scsi0", "thin:0,import-from=local:import/app.ova/disk.qcow2")
		if v := l.volume("thin:vm-100-disk-0"); v == nil || v.Size != 3<<30 {
			t.Errorf("disk out of an archive: %+v", v)
		}
	})
}

// tmpOf is where pveproxy had put the file, as the task's log tells.
func tmpOf(log []string) string {
	for _, line := range log {
		if tmp, ok := strings.CutPrefix(line, "starting file import from: "); ok {
			return tmp
		}
	}
	return "\x00"
}

func TestUploadsForOtherNodesAreSentThere(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		r, _ := l.upload("/nodes/pve2/storage/local/upload", form("XX", "a.iso", []byte("abc"), "content", "iso"))
		exit, log := l.ended(r.data)
		if exit != "OK" || !strings.HasPrefix(r.data.(string), "UPID:pve1:") || !slices.Contains(log, "target node: pve2") {
			t.Errorf("%s %s %q", r.data, exit, log)
		}
		if l.volume("local:iso/a.iso") != nil {
			t.Error("the file is on the wrong node")
		}
		if got := l.must("GET", "/nodes/pve2/storage/local/content", "content", "iso").([]any); len(got) != 1 {
			t.Errorf("pve2 has %v", got)
		}
		l.sim.Do(func(s *State) { s.Nodes["pve2"].State = Offline })
		r, _ = l.upload("/nodes/pve2/storage/local/upload", form("XX", "a.iso", []byte("abc"), "content", "iso"))
		if r.status != 500 || !strings.HasPrefix(r.reason, "can't activate storage 'local' on node 'pve2': command '/usr/bin/ssh ") {
			t.Errorf("%d %s", r.status, r.reason)
		}
	})
}

func TestAFullStorageFailsTheUpload(t *testing.T) {
	w := depotWorld("9.2")
	w.Storages[0].Size = 1000
	inDepot(t, w, func(t *testing.T, l *lab) {
		r, _ := l.upload("/nodes/pve1/storage/local/upload", form("XX", "a.iso", make([]byte, 1001), "content", "iso"))
		if exit, _ := l.ended(r.data); exit != "import failed: cp: error writing '/var/lib/vz/template/iso/a.iso': No space left on device" {
			t.Error(exit)
		}
		if len(l.sim.blobs.memory) != 0 {
			t.Error("the bytes are still there")
		}
	})
}
