package pvesim

import (
	"compress/bzip2"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
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
	if _, err := t.activate(d.file.node, d.file.storage.ID); err != nil {
		return err
	}
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
		unpacked, n, err := d.decompress(t, blob, tmp, dest+".tmp_dcom."+itoa(t.info.PID))
		if err != nil {
			return err
		}
		t.blobs.remove(blob)
		blob, size = unpacked, n
	}
	info, err := t.examine(d.file, blob, tmp, size)
	if err != nil {
		return die("failed to verify file: %v", err)
	}
	if size > t.roomOf(d.file) {
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
	got := false
	defer func() {
		if !got {
			w.discard()
			t.blobs.remove(w.name)
		}
	}()
	free := t.roomOf(d.file)
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
		if res, err = t.client(d.insecure).Do(req); err != nil { //nolint:bodyclose // closed below, inside the closure
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
		panic(interrupted{})
	}
	t.logf("--%s--  %s", started.UTC().Format(time.DateTime), d.url)
	if res == nil {
		return "", 0, d.unreachable(t, err)
	}
	d.logAnswer(t, res)
	switch {
	case err != nil:
		return "", 0, die("download failed: %v", err)
	case res.StatusCode != http.StatusOK:
		_, phrase, _ := strings.Cut(res.Status, " ")
		t.logf("%s ERROR %d: %s.", t.now().UTC().Format(time.DateTime), res.StatusCode, phrase)
		return "", 0, die("download failed: exit code 8")
	case size > free:
		return "", 0, die("download failed: Cannot write to '%s' (No space left on device).", tmp)
	}
	d.logSaved(t, tmp, size, t.now().Sub(started))
	got = true
	return w.name, size, nil
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
	free := t.roomOf(d.file)
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
