package pve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
)

const uploadUPID = "UPID:pve1:00000128:000694F5:6AF90F4C:imgcopy::ci@pve!t:"

// stream hides everything of a reader but Read.
type stream struct{ io.Reader }

// zeros is a file of n zeros that isn't anywhere.
type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.left)
	clear(p[:n])
	z.left -= n
	return int(n), nil
}

// proxmoxUpload reads an upload with the expressions that Proxmox uses: fields in this order, then the
// file, whose disposition must come first in its part.
func proxmoxUpload(contentType string, body []byte) (fields map[string]string, file []byte, err error) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, nil, err
	}
	delim := `--` + regexp.QuoteMeta(params["boundary"])
	fields = map[string]string{}
	rest := body
	for _, name := range []string{"content", "checksum-algorithm", "checksum"} {
		re := regexp.MustCompile(`(?s)^` + delim + `\r?\n.*?Content-Disposition: form-data; name="` + name + `"\r?\n\r?\n(.*?)\r?\n(` + delim + `)`)
		if m := re.FindSubmatchIndex(rest); m != nil && !bytes.Contains(rest[:m[2]], []byte("filename=")) {
			fields[name] = string(rest[m[2]:m[3]])
			rest = rest[m[4]:]
		}
	}
	re := regexp.MustCompile(`(?s)^` + delim + `\r?\nContent-Disposition: (.*?); name="(.*?)"; filename="([^"]+)".*?\r?\n\r?\n`)
	m := re.FindSubmatch(rest)
	if m == nil || string(m[2]) != "filename" {
		return fields, nil, fmt.Errorf("no file in %.200q", rest)
	}
	fields["filename"] = string(m[3])
	file, _, ok := bytes.Cut(rest[len(m[0]):], []byte("\r\n--"+params["boundary"]+"--"))
	if !ok {
		return fields, nil, errors.New("no closing line")
	}
	return fields, file, nil
}

func TestAnUploadIsWhatProxmoxParserWants(t *testing.T) {
	content := "line\r\n--not the boundary--\r\n\x00\xff"
	for _, c := range []struct {
		reason string
		file   Upload
	}{
		{"a file that can seek", Upload{Body: strings.NewReader(content)}},
		{"a stream of known size", Upload{Body: stream{strings.NewReader(content)}, Size: int64(len(content))}},
		{"with a checksum", Upload{Body: strings.NewReader(content), Algorithm: "sha256", Checksum: "00ff"}},
	} {
		h := &recorder{answer: func(w http.ResponseWriter, _ seen) { answerData(w, uploadUPID) }}
		_, cfg := serve(t, h)
		c.file.Content, c.file.Filename = "iso", "a b.iso"
		upid, err := client(t, cfg).Storage("pve1", "local").Upload(t.Context(), c.file)
		if err != nil || upid.Type != "imgcopy" {
			t.Fatalf("%s: %v, %v", c.reason, upid, err)
		}
		got := h.all[0]
		fields, file, err := proxmoxUpload(got.header.Get("Content-Type"), []byte(got.rawBody))
		if err != nil || string(file) != content || fields["filename"] != "a b.iso" || fields["content"] != "iso" ||
			fields["checksum"] != c.file.Checksum || fields["checksum-algorithm"] != c.file.Algorithm {
			t.Errorf("%s: %q in %v, %v", c.reason, file, fields, err)
		}
		if length := got.header.Get("Content-Length"); length != fmt.Sprint(len(got.rawBody)) || got.header.Get("Transfer-Encoding") != "" {
			t.Errorf("%s: Content-Length %q for %d bytes", c.reason, length, len(got.rawBody))
		}
		// A parser by the book agrees.
		_, params, _ := mime.ParseMediaType(got.header.Get("Content-Type"))
		form, err := multipart.NewReader(strings.NewReader(got.rawBody), params["boundary"]).ReadForm(1 << 20)
		if err != nil || form.File["filename"][0].Size != int64(len(content)) {
			t.Errorf("%s: %v, %v", c.reason, form, err)
		}
	}
}

func TestAGigabyteIsUploadedInLittleMemory(t *testing.T) {
	const size = 1 << 30
	var received int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received, _ = io.Copy(io.Discard, r.Body)
		answerData(w, uploadUPID)
	}))
	defer server.Close()
	c := client(t, Config{
		Endpoints: []string{server.URL}, Credentials: Token("ci@pve!t", "s"), TLS: TLS{Insecure: true}, Proxy: NoProxy,
	})
	var before, stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak, calls, last := uint64(0), 0, int64(0)
	progress := func(sent, total int64) {
		if sent < last || total != size {
			t.Errorf("progress went from %d to %d of %d", last, sent, total)
		}
		last = sent
		if calls++; calls%1000 == 0 {
			runtime.ReadMemStats(&stats)
			peak = max(peak, stats.HeapAlloc)
		}
	}
	_, err := c.Storage("pve1", "local").Upload(t.Context(), Upload{
		Content: "iso", Filename: "big.iso", Body: &zeros{size}, Size: size, Progress: progress,
	})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&stats)
	if received < size || last != size {
		t.Errorf("%d bytes arrived, progress said %d", received, last)
	}
	const limit = 16 << 20
	if grown := int64(peak) - int64(before.HeapAlloc); grown > limit {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if allocated := stats.TotalAlloc - before.TotalAlloc; allocated > 2*limit {
		t.Errorf("%d bytes were allocated in all", allocated)
	}
}

func TestACancelledUploadStopsAndWasNotDone(t *testing.T) {
	arrived := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		arrived <- err
	}))
	defer server.Close()
	c := client(t, Config{
		Endpoints: []string{server.URL}, Credentials: Token("ci@pve!t", "s"), TLS: TLS{Insecure: true}, Proxy: NoProxy,
	})
	ctx, cancel := context.WithCancel(t.Context())
	var once sync.Once
	_, err := c.Storage("pve1", "local").Upload(ctx, Upload{
		Content: "iso", Filename: "big.iso", Body: &zeros{1 << 40}, Size: 1 << 40,
		Progress: func(sent, _ int64) {
			if sent > 1<<20 {
				once.Do(cancel)
			}
		},
	})
	if !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("got %v", err)
	}
	if err := <-arrived; err == nil {
		t.Error("the server took it for complete")
	}
}

func TestAFileThatCannotBeReadFailsWithItsOwnError(t *testing.T) {
	broken := errors.New("disk on fire")
	h := &recorder{answer: func(w http.ResponseWriter, _ seen) { answerData(w, uploadUPID) }}
	_, cfg := serve(t, h)
	s := client(t, cfg).Storage("pve1", "local")
	for _, c := range []struct {
		reason string
		body   io.Reader
		want   error
	}{
		{"it breaks", io.MultiReader(strings.NewReader("abc"), errorReader{broken}), broken},
		{"it is shorter than announced", stream{strings.NewReader("abc")}, io.ErrUnexpectedEOF},
	} {
		_, err := s.Upload(t.Context(), Upload{Content: "iso", Filename: "a.iso", Body: c.body, Size: 1 << 20})
		if !errors.Is(err, c.want) || errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("%s: got %v", c.reason, err)
		}
	}
	for _, file := range []Upload{
		{Filename: "a.iso"},
		{Filename: "a\"b.iso", Body: strings.NewReader("x")},
		{Filename: "../a.iso", Body: strings.NewReader("x")},
		{Filename: "a.iso", Body: stream{strings.NewReader("x")}},
		{Filename: "a.iso", Body: strings.NewReader("x"), Content: "iso\r\nX: y"},
	} {
		if _, err := s.Upload(t.Context(), file); err == nil {
			t.Errorf("%+v was sent", file)
		}
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

func TestAnUploadThatIsRefusedSaysWhy(t *testing.T) {
	// Like Proxmox: the answer comes before the body was read, and the connection is closed.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 403 Permission check failed (/storage/local, Datastore.AllocateTemplate)\r\n"+
			"Connection: close\r\nContent-Length: 0\r\n\r\n")
		conn.Close()
	}))
	defer server.Close()
	c := client(t, Config{
		Endpoints: []string{server.URL}, Credentials: Token("ci@pve!t", "s"), TLS: TLS{Insecure: true}, Proxy: NoProxy,
	})
	_, err := c.Storage("pve1", "local").Upload(t.Context(), Upload{
		Content: "iso", Filename: "a.iso", Body: &zeros{64 << 20}, Size: 64 << 20,
	})
	var e *Error
	if !errors.As(err, &e) || e.Kind != ErrForbidden || e.PermPath != "/storage/local" {
		t.Errorf("got %v", err)
	}
}

func TestAnUploadStartsAgainAtItsBeginningWhereItCan(t *testing.T) {
	content := strings.Repeat("x", 100)
	file := filepath.Join(t.TempDir(), "a.iso")
	if err := os.WriteFile(file, []byte("skipped"+content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, seekable := range []bool{true, false} {
		g := newGatekeeper()
		_, cfg := serve(t, g)
		cfg.Credentials = Password("root@pam", "correct horse")
		c := client(t, cfg)
		if _, err := c.Version(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.voidTickets() // the upload gets a 401 after its body was read
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Seek(int64(len("skipped")), io.SeekStart); err != nil {
			t.Fatal(err)
		}
		up := Upload{Content: "iso", Filename: "a.iso", Body: f}
		if !seekable {
			up.Body, up.Size = stream{f}, int64(len(content))
		}
		_, err = c.Storage("pve1", "local").Upload(t.Context(), up)
		if seekable {
			last := g.all[len(g.all)-1]
			_, sent, perr := proxmoxUpload(last.header.Get("Content-Type"), []byte(last.rawBody))
			if err != nil || perr != nil || string(sent) != content {
				t.Errorf("with a file that can seek: %v, %v, %q", err, perr, sent)
			}
		} else if !errors.Is(err, ErrUnauthorized) {
			t.Errorf("with a stream: %v", err)
		}
	}
}

func TestAnUploadGoesToTheNextEndpointWhenNothingWasSent(t *testing.T) {
	h := &recorder{answer: func(w http.ResponseWriter, _ seen) { answerData(w, uploadUPID) }}
	_, cfg := serve(t, h)
	cfg.Endpoints = append([]string{refused(t)}, cfg.Endpoints...)
	_, err := client(t, cfg).Storage("pve1", "local").Upload(t.Context(), Upload{
		Content: "iso", Filename: "a.iso", Body: stream{strings.NewReader("abc")}, Size: 3,
	})
	if err != nil || len(h.requests()) != 1 {
		t.Errorf("%v after %v", err, h.requests())
	}
}

func TestAnUploadWhoseAnswerIsLostMayHaveBeenDone(t *testing.T) {
	_, cfg := serve(t, &recorder{answer: drop})
	_, err := client(t, cfg).Storage("pve1", "local").Upload(t.Context(), Upload{
		Content: "iso", Filename: "a.iso", Body: strings.NewReader("abc"),
	})
	if !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("got %v", err)
	}
}
