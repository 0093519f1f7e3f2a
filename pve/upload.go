package pve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// Upload is a file that goes to a storage. It is streamed and never held in memory.
type Upload struct {
	Content   string    // iso, vztmpl or import; Proxmox takes no others, snippets least of all
	Filename  string    // its name on the storage, with the extension that the content asks for
	Body      io.Reader // the file; when it can seek, another endpoint may be tried after a failure
	Size      int64     // its exact length; may be left out when Body can seek
	Checksum  string    // in hexadecimal; Proxmox checks it within the task
	Algorithm string    // of the checksum: sha256 …

	// Progress, if set, is called with the bytes that were handed to the network so far, from
	// another goroutine than the caller's.
	Progress func(sent, size int64)
}

// uploadParams are the fields beside the file. Proxmox needs them in this order, before it.
type uploadParams struct {
	Content   string `pve:"content"`
	Algorithm string `pve:"checksum-algorithm"`
	Checksum  string `pve:"checksum"`
}

// Upload sends a file to the storage and returns the task that puts it into place. A file of
// the same name is overwritten. Cancel ctx to stop; an upload that didn't get through to its
// end leaves nothing behind.
func (s Storage) Upload(ctx context.Context, file Upload) (UPID, error) {
	up, err := newUpload(file)
	if err != nil {
		return UPID{}, fmt.Errorf("upload %q: %w", file.Filename, err)
	}
	upid, err := ask[UPID](ctx, s.c, request{
		method: http.MethodPost, route: "/nodes/{node}/storage/{storage}/upload", args: []any{s.Node, s.Name},
		params: uploadParams{file.Content, file.Algorithm, file.Checksum},
		upload: up, storage: s.Name,
	})
	if failure := up.sourceError(); failure != nil {
		return UPID{}, fmt.Errorf("upload %q: %w", file.Filename, failure)
	}
	return upid, err
}

// upload is the multipart body of a request. It may be sent several times, one after another.
type upload struct {
	file     Upload
	start    int64 // of the body, when it can seek
	seeker   io.Seeker
	boundary string
	head     string
	tail     string
	current  *uploadBody
}

func newUpload(file Upload) (*upload, error) {
	if file.Body == nil || file.Filename == "" || strings.ContainsAny(file.Filename, "\"\\/\r\n\x00") {
		return nil, errors.New("it needs a body, and a name without slashes, quotes and line breaks")
	}
	u := &upload{file: file, boundary: "proxplane-" + rand.Text()}
	if seeker, ok := file.Body.(io.Seeker); ok {
		start, err := seeker.Seek(0, io.SeekCurrent)
		if err == nil {
			u.seeker, u.start = seeker, start
		}
		if err == nil && file.Size == 0 {
			end, err := seeker.Seek(0, io.SeekEnd)
			if err != nil {
				return nil, err
			}
			if _, err := seeker.Seek(start, io.SeekStart); err != nil {
				return nil, err
			}
			u.file.Size = end - start
		}
	}
	if u.file.Size <= 0 {
		return nil, errors.New("its size isn't known, or zero")
	}
	fields, err := formOf(uploadParams{file.Content, file.Algorithm, file.Checksum})
	if err != nil {
		return nil, err
	}
	var head strings.Builder
	for _, p := range fields {
		if strings.ContainsAny(p.value, "\r\n") {
			return nil, fmt.Errorf("field %s has a line break", p.key)
		}
		fmt.Fprintf(&head, "--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n", u.boundary, p.key, p.value)
	}
	fmt.Fprintf(&head, "--%s\r\nContent-Disposition: form-data; name=\"filename\"; filename=\"%s\"\r\n"+
		"Content-Type: application/octet-stream\r\n\r\n", u.boundary, file.Filename)
	u.head, u.tail = head.String(), "\r\n--"+u.boundary+"--\r\n"
	return u, nil
}

func (u *upload) contentType() string { return "multipart/form-data; boundary=" + u.boundary }
func (u *upload) length() int64       { return int64(len(u.head)) + u.file.Size + int64(len(u.tail)) }

// body starts sending.
func (u *upload) body() io.Reader {
	b := &uploadBody{u: u, closed: make(chan struct{})}
	b.r = io.MultiReader(strings.NewReader(u.head), &fileReader{b: b, left: u.file.Size}, strings.NewReader(u.tail))
	u.current = b
	return b
}

// rewind goes back to the file's beginning, and says whether it could.
func (u *upload) rewind() bool {
	if u == nil || u.current == nil {
		return true
	}
	<-u.current.closed // the transport may go on reading for a moment after it gave up
	if u.current.failure != nil {
		return false
	}
	if u.current.fromFile == 0 {
		return true
	}
	if u.seeker == nil {
		return false
	}
	_, err := u.seeker.Seek(u.start, io.SeekStart)
	return err == nil
}

// incomplete says that nothing of the body's closing line was handed out. Without that line
// Proxmox does nothing, so such an upload has certainly not been done.
func (u *upload) incomplete() bool {
	return u != nil && (u.current == nil || !u.current.closing.Load())
}

// sourceError is why the file couldn't be read.
func (u *upload) sourceError() error {
	if u.current == nil {
		return nil
	}
	<-u.current.closed
	return u.current.failure
}

// uploadBody is one pass over the body.
type uploadBody struct {
	u       *upload
	r       io.Reader
	handed  int64
	closing atomic.Bool // some of the tail has left

	close  sync.Once
	closed chan struct{}

	// For the transport while it reads; for others once closed.
	fromFile int64
	failure  error
}

func (b *uploadBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.handed += int64(n)
	if b.handed > b.u.length()-int64(len(b.u.tail)) {
		b.closing.Store(true)
	}
	return n, err
}

func (b *uploadBody) Close() error {
	b.close.Do(func() { close(b.closed) })
	return nil
}

// fileReader reads exactly as many bytes of the file as were announced.
type fileReader struct {
	b    *uploadBody
	left int64
}

func (f *fileReader) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n, err := f.b.u.file.Body.Read(p[:min(int64(len(p)), f.left)])
	f.left -= int64(n)
	f.b.fromFile += int64(n)
	if n > 0 && f.b.u.file.Progress != nil {
		f.b.u.file.Progress(f.b.fromFile, f.b.u.file.Size)
	}
	switch {
	case f.left == 0:
		return n, nil
	case errors.Is(err, io.EOF):
		err = fmt.Errorf("the file ended after %d of %d bytes: %w", f.b.fromFile, f.b.u.file.Size, io.ErrUnexpectedEOF)
	}
	if err != nil {
		f.b.failure = fmt.Errorf("read it: %w", err)
	}
	return n, err
}
