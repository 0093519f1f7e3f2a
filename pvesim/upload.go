package pvesim

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// upload is a file that came with a request.
type upload struct {
	name   string            // of the file
	fields map[string]string // that stood before it
	tmp    string            // where pveproxy put it
	blob   string
	size   int64
	taken  bool // somebody else looks after the blob now
}

// release gives up the bytes of an upload that nobody took.
func (u *upload) release(s *Sim) {
	if u != nil && !u.taken {
		s.blobs.remove(u.blob)
	}
}

// uploadHead is how much may stand before the file.
const uploadHead = 1 << 20

// receiveUpload takes the file of an upload in, as pveproxy does before it
// calls the API.
func (s *Sim) receiveUpload(a *actor, req *request, boundary string) (*upload, error) {
	blob := s.newBlob()
	up := &upload{blob: blob.name, tmp: "/var/tmp/pveupload-" + hex.EncodeToString(s.random("upload")[:16])}
	p := newFormReader(boundary, blob)
	var err error
	a.outside(func() {
		if err = p.readFrom(req.http.Body); err == nil {
			err = blob.finish()
		}
	})
	if err != nil {
		blob.discard()
		return nil, uploadError(err)
	}
	up.name, up.fields, up.size = p.name, p.fields, blob.size
	return up, nil
}

// uploadError is the answer to an upload that can't be read. A text whose
// first line ends in a carriage return doesn't fit into a status line, and
// pveproxy says just "Bad Request" then.
func uploadError(err error) error {
	text := err.Error()
	if strings.Contains(firstPart(text), "\r") {
		return emptyError(http.StatusBadRequest, "Bad Request")
	}
	return daemonError(http.StatusInternalServerError, "%s\n", text)
}

func firstPart(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// formReader reads multipart forms the way pveproxy does, with patterns on
// what has arrived so far: only a few fields are known, only in their order
// and only before the file; what comes after the file counts as part of it.
type formReader struct {
	boundary string
	out      io.Writer
	phase    formPhase
	buf      []byte
	fields   map[string]string
	name     string

	delim, toData, toDelim, file *regexp.Regexp
	known                        []formField
}

type formPhase int

const (
	beforeForm formPhase = iota
	inFields
	inFile
	formDone
)

type formField struct {
	name string
	re   *regexp.Regexp
}

func newFormReader(boundary string, out io.Writer) *formReader {
	const newline = `\r?\n`
	delim := `--` + regexp.QuoteMeta(boundary) + newline
	p := &formReader{boundary: boundary, out: out, fields: map[string]string{}}
	p.delim = regexp.MustCompile(delim)
	p.toData = regexp.MustCompile(`(?s)^.*?(?:` + newline + `){2}`)
	p.toDelim = regexp.MustCompile(`(?s)^(.*?)(` + delim + `)`)
	p.file = regexp.MustCompile(`(?s)^` + delim + `Content-Disposition: (.*?); name="(.*?)"; filename="([^"]+)"`)
	for _, name := range []string{"content", "checksum-algorithm", "checksum"} {
		re := regexp.MustCompile(`(?s)^` + delim + `.*?Content-Disposition: (.*?); name="` + name + `"(.*?` + delim + `)`)
		p.known = append(p.known, formField{name, re})
	}
	return p
}

// readFrom reads a whole form.
func (p *formReader) readFrom(r io.Reader) error {
	chunk := make([]byte, 64<<10)
	for {
		n, err := r.Read(chunk)
		if n > 0 && p.phase != formDone {
			p.buf = append(p.buf, chunk[:n]...)
			if err := p.step(); err != nil {
				_, _ = io.Copy(io.Discard, r) // the client is to be heard out
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("read upload: %w", err)
		}
	}
	if p.phase != formDone {
		return fmt.Errorf("upload failed at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 1370.")
	}
	return nil
}

// step looks at what has arrived.
func (p *formReader) step() error {
	if p.phase == beforeForm {
		if at := p.delim.FindIndex(p.buf); at != nil {
			p.buf, p.phase = p.buf[at[0]:], inFields
		}
	}
	if p.phase == inFields {
		if err := p.readFields(); err != nil {
			return err
		}
	}
	if p.phase == inFile {
		return p.readFile()
	}
	if len(p.buf) > uploadHead {
		return fmt.Errorf("upload failed at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 1370.")
	}
	return nil
}

func formDisposition(d []byte) error {
	if string(d) != "form-data" {
		return fmt.Errorf("wrong Content-Disposition '%s' in multipart, expected 'form-data'", d)
	}
	return nil
}

func (p *formReader) readFields() error {
	for _, f := range p.known {
		if !bytes.Contains(p.buf, []byte(`name="`+f.name+`"`)) {
			continue // most of what has arrived may be the file, which takes long to search
		}
		m := f.re.FindSubmatchIndex(p.buf)
		if m == nil {
			continue
		}
		if err := formDisposition(p.buf[m[2]:m[3]]); err != nil {
			return err
		}
		p.buf = p.buf[m[4]:]
		p.skipToData()
		if v := p.toDelim.FindSubmatchIndex(p.buf); v != nil {
			p.fields[f.name] = string(bytes.TrimSpace(p.buf[v[2]:v[3]]))
			p.buf = p.buf[v[4]:]
		}
	}
	m := p.file.FindSubmatchIndex(p.buf)
	if m == nil || !p.toData.Match(p.buf[m[1]:]) {
		return nil // pveproxy doesn't wait for the rest of the head, and mixes it up with the file
	}
	if err := formDisposition(p.buf[m[2]:m[3]]); err != nil {
		return err
	}
	if field := string(p.buf[m[4]:m[5]]); field != "filename" {
		return fmt.Errorf("wrong field name '%s' for file upload, expected 'filename' at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 1325.", field)
	}
	p.name = strings.TrimSpace(string(p.buf[m[6]:m[7]]))
	p.buf = p.buf[m[1]:]
	p.skipToData()
	p.phase = inFile
	return nil
}

// skipToData drops the rest of a part's head.
func (p *formReader) skipToData() {
	if at := p.toData.FindIndex(p.buf); at != nil {
		p.buf = p.buf[at[1]:]
	}
}

// readFile passes the file on, but for a tail that may be the end mark.
func (p *formReader) readFile() error {
	var data []byte
	if end := bytes.Index(p.buf, []byte("--"+p.boundary+"--")); end >= 0 {
		data = bytes.TrimSuffix(p.buf[:end], []byte("\n"))
		if len(data) < end {
			data = bytes.TrimSuffix(data, []byte("\r"))
		}
		p.phase, p.buf = formDone, nil
	} else {
		keep := min(len(p.boundary)+8, len(p.buf))
		data = p.buf[:len(p.buf)-keep]
		p.buf = p.buf[len(p.buf)-keep:]
	}
	if _, err := p.out.Write(data); err != nil {
		return fmt.Errorf("write to temporary file failed - %w", err)
	}
	if p.phase == inFile {
		p.buf = append([]byte(nil), p.buf...)
	}
	return nil
}
