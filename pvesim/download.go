package pvesim

import (
	"compress/bzip2"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// downloadContent fetches a file from the URL, for real, in a task.
func downloadContent(c *call) (any, error) {
	node, storage := c.node(), c.params.Str("storage")
	st, err := c.storageOn(node, storage)
	if err != nil {
		return nil, err
	}
	content := c.params.Str("content")
	switch {
	case !st.plugin().files:
		return nil, die("can't upload to storage type '%s', not a file based storage!", st.Type)
	case !st.HasContent(content):
		return nil, die("storage '%s' is not configured for content-type '%s'", storage, content)
	}
	f := &newFile{node: node, storage: st, content: content, name: normalizeFilename(c.params.Str("filename"))}
	if err := f.checkName(); err != nil {
		return nil, err
	}
	if _, err := c.activate(node, storage); err != nil {
		return nil, err
	}
	d := &download{
		file: f, url: c.params.Str("url"), insecure: c.params.Has("verify-certificates") && !c.params.Bool("verify-certificates"),
		compression: c.params.Str("compression"),
	}
	if c.params.Str("checksum") != "" {
		d.algorithm, d.want = c.params.Str("checksum-algorithm"), c.params.Str("checksum")
	}
	return c.fork(node, "download", encodeText(f.name), c.who, func(t *task) error { return d.run(t) }), nil
}

// encodeText makes a name fit into a UPID.
func encodeText(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c == '%' || c == ':' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// download is one download-url task.
type download struct {
	file            *newFile
	url             string
	insecure        bool
	compression     string
	algorithm, want string
}

func (d *download) run(t *task) error {
	dest := d.file.dest()
	if d.compression != "" && d.file.content != "iso" {
		return die("decompression not supported for %s", d.file.content)
	}
	t.logf("downloading %s to %s", d.url, dest)
	if old := t.space(d.file.storage.ID, d.file.node).Volumes[d.file.key()]; old != nil {
		return d.existing(t, old)
	}
	tmp := dest + ".tmp_dwnl." + itoa(t.info.PID)
	blob, size, err := d.fetch(t, tmp)
	if err != nil {
		return err
	}
	stored := false
	defer func() {
		if !stored {
			t.blobs.remove(blob)
		}
	}()
	if err := t.verifyChecksum(blob, d.algorithm, d.want); err != nil {
		return err
	}
	if d.compression != "" {
		packed := blob
		if blob, size, err = d.decompress(t, packed, tmp, dest+".tmp_dcom."+itoa(t.info.PID)); err != nil {
			t.blobs.remove(packed)
			return err
		}
		t.blobs.remove(packed)
	}
	info, err := t.examine(d.file, blob, tmp, size)
	if err != nil {
		return die("failed to verify file: %v", err)
	}
	if !t.fits(d.file, size) {
		return die("unable to rename temporary file: No space left on device")
	}
	t.putFile(d.file, blob, size, info)
	stored = true
	t.logf("download of '%s' to '%s' finished", d.url, dest)
	return nil
}

// existing decides what becomes of a download whose file is there already.
// Files of a world that have no bytes match no checksum.
func (d *download) existing(t *task, old *Volume) error {
	if d.algorithm == "" {
		return die("refusing to override existing file '%s'", d.file.dest())
	}
	got := ""
	if old.Blob != "" {
		var err error
		if got, err = t.checksum(old.Blob, d.algorithm); err != nil {
			return err
		}
	}
	if strings.EqualFold(got, d.want) {
		t.logf("calculating checksum of existing file...OK, got correct file already, no need to download")
		return nil
	}
	t.logf("calculating checksum of existing file...")
	return die("checksum mismatch: got '%s' != expect '%s', aborting", got, d.want)
}

// client asks the outside world; it keeps no connections.
func (s *Sim) client(insecure bool) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives:     true,
		ResponseHeaderTimeout: time.Minute,
		TLSClientConfig:       &tls.Config{InsecureSkipVerify: insecure},
		DialContext:           (&net.Dialer{Timeout: time.Minute}).DialContext,
	}}
}

// untilStopped is a context that ends when the actor is told to stop.
func (a *actor) untilStopped() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-a.stop:
		case <-a.closed:
		case <-ctx.Done():
		}
		cancel()
	}()
	return ctx, cancel
}

// fetch does what wget does, and says what wget says.
func (d *download) fetch(t *task, tmp string) (blob string, size int64, err error) {
	w := t.newBlob()
	free := t.space(d.file.storage.ID, d.file.node).Free()
	started := t.now()
	ctx, cancel := t.untilStopped()
	defer cancel()
	var res *http.Response
	t.outside(func() {
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, "GET", d.url, nil); err != nil {
			return
		}
		req.Header.Set("User-Agent", "Wget/1.25.0")
		req.Header.Set("Accept-Encoding", "identity")
		if res, err = t.client(d.insecure).Do(req); err != nil {
			return
		}
		defer res.Body.Close()
		if res.StatusCode == http.StatusOK {
			size, err = io.Copy(w, io.LimitReader(res.Body, free+1))
		}
		if err == nil {
			err = w.finish()
		}
	})
	t.sleep(t.world.Timing.Download.D())
	if ctx.Err() != nil {
		w.discard()
		panic(interrupted{})
	}
	t.logf("--%s--  %s", started.UTC().Format(time.DateTime), d.url)
	if res == nil {
		w.discard()
		return "", 0, d.unreachable(t, err)
	}
	d.logAnswer(t, res)
	switch {
	case err != nil:
		w.discard()
		return "", 0, die("download failed: %v", err)
	case res.StatusCode != http.StatusOK:
		t.blobs.remove(w.name)
		_, phrase, _ := strings.Cut(res.Status, " ")
		t.logf("%s ERROR %d: %s.", t.now().UTC().Format(time.DateTime), res.StatusCode, phrase)
		return "", 0, die("download failed: exit code 8")
	case size > free:
		t.blobs.remove(w.name)
		return "", 0, die("download failed: Cannot write to '%s' (No space left on device).", tmp)
	}
	d.logSaved(t, tmp, size, t.now().Sub(started))
	return w.name, size, nil
}

// hostPort is where the URL leads, as wget writes it.
func (d *download) hostPort() (host, port string) {
	u, err := url.Parse(d.url)
	if err != nil {
		return d.url, ""
	}
	port = u.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[u.Scheme]
		if port == "" {
			port = "80"
		}
	}
	return u.Hostname(), port
}

// unreachable is what wget says when there is no answer.
func (d *download) unreachable(t *task, err error) error {
	host, port := d.hostPort()
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &dns):
		t.logf("Resolving %s (%s)... failed: Name or service not known.", host, host)
		return die("download failed: wget: unable to resolve host address '%s'", host)
	case errors.As(err, &cert), errors.As(err, &unknown):
		t.logf("Connecting to %s:%s... connected.", host, port)
		t.logf("ERROR: cannot verify %s's certificate:", host)
		return die("download failed: To connect to %s insecurely, use `--no-check-certificate'.", host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return die("download failed: Connecting to %s:%s... failed: Connection refused.", host, port)
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return die("download failed: Connecting to %s:%s... failed: Connection timed out.", host, port)
	}
	return die("download failed: Connecting to %s:%s... failed: %v.", host, port, errors.Unwrap(err))
}

func (d *download) logAnswer(t *task, res *http.Response) {
	host, port := d.hostPort()
	t.logf("Connecting to %s:%s... connected.", host, port)
	t.logf("HTTP request sent, awaiting response... %s", res.Status)
}

// wgetSize writes a size as wget does: "2.9K".
func wgetSize(n float64) string {
	unit := ""
	for _, next := range []string{"K", "M", "G", "T"} {
		if n < 1024 {
			break
		}
		n, unit = n/1024, next
	}
	switch {
	case unit == "":
		return strconv.FormatInt(int64(n), 10)
	case n < 10:
		return fmt.Sprintf("%.1f%s", n, unit)
	}
	return fmt.Sprintf("%.0f%s", n, unit)
}

// logSaved writes the progress and the end of a download.
func (d *download) logSaved(t *task, tmp string, size int64, took time.Duration) {
	took = max(took, 5*time.Millisecond)
	rate := float64(size) / took.Seconds()
	t.logf("Length: %d (%s)", size, wgetSize(float64(size)))
	t.logf("Saving to: '%s'", tmp)
	const line = 32 << 20
	for at := int64(line); at < size; at += max(line, (size/copySteps+line-1)/line*line) {
		t.logf("%6dK ........ ........ ........ ........ %2d%% %s %.0fs", (at-line)>>10, at*100/size, wgetSize(rate), float64(size-at)/rate)
	}
	t.logf("%6dK                                    100%% %5s=%gs", size/line*line>>10, wgetSize(rate), float64(took.Milliseconds())/1000)
	t.logf("%s (%s) - '%s' saved [%d/%d]", t.now().UTC().Format(time.DateTime), wgetRate(rate), tmp, size, size)
}

func wgetRate(rate float64) string {
	unit := "B/s"
	for _, next := range []string{"KB/s", "MB/s", "GB/s"} {
		if rate < 1024 {
			break
		}
		rate, unit = rate/1024, next
	}
	return fmt.Sprintf("%.3g %s", rate, unit)
}

// decompress unpacks a downloaded ISO.
func (d *download) decompress(t *task, packed, tmp, tmpOut string) (blob string, size int64, err error) {
	t.logf("decompressing %s to %s", tmp, tmpOut)
	in, err := t.blobs.open(packed)
	if err != nil {
		return "", 0, err
	}
	defer in.Close()
	var r io.Reader
	tool := "zcat"
	switch d.compression {
	case "gz":
		r, err = gzip.NewReader(in)
	case "bz2":
		r, tool = bzip2.NewReader(in), "bzcat -q"
	default:
		return "", 0, die("decompression of %s isn't simulated", d.compression)
	}
	w := t.newBlob()
	free := t.space(d.file.storage.ID, d.file.node).Free()
	if err == nil {
		t.outside(func() {
			if size, err = io.Copy(w, io.LimitReader(r, free+1)); err == nil {
				err = w.finish()
			}
		})
	}
	if err != nil || size > free {
		w.discard()
		t.blobs.remove(w.name)
		return "", 0, die("command '%s %s' failed: exit code 1", tool, tmp)
	}
	return w.name, size, nil
}

var (
	quotedName = regexp.MustCompile(`filename="([^"]*)"`)
	bareName   = regexp.MustCompile(`filename=([^;]*)`)
	urlName    = regexp.MustCompile(`^[^?]+/([^?/]*)(?:\?.*)?$`)
)

// queryURL asks a server what a URL leads to.
func queryURL(c *call) (any, error) {
	target := c.params.Str("url")
	insecure := c.params.Has("verify-certificates") && !c.params.Bool("verify-certificates")
	ctx, cancel := c.untilStopped()
	defer cancel()
	var res *http.Response
	var err error
	c.outside(func() {
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, "HEAD", target, nil); err != nil {
			return
		}
		req.Header.Set("User-Agent", "Proxmox VE")
		if res, err = c.client(insecure).Do(req); err == nil {
			res.Body.Close()
		}
	})
	if err != nil {
		u, _ := url.Parse(target)
		if u != nil && errors.Is(err, syscall.ECONNREFUSED) {
			return nil, die("invalid server response: '500 Can't connect to %s (Connection refused)'", u.Host)
		}
		return nil, die("invalid server response: '500 %v'", err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, die("invalid server response: '%s'", res.Status)
	}
	out := map[string]any{}
	disposition := res.Header.Get("Content-Disposition")
	name := ""
	if m := quotedName.FindStringSubmatch(disposition); m != nil {
		name = m[1]
	} else if m := bareName.FindStringSubmatch(disposition); m != nil {
		name = m[1]
	} else if m := urlName.FindStringSubmatch(target); m != nil {
		name = m[1]
	}
	if name != "" && name != "0" {
		out["filename"] = name
	}
	if res.ContentLength > 0 {
		out["size"] = res.ContentLength
	}
	if kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); kind != "" {
		out["mimetype"] = kind
	}
	return out, nil
}
