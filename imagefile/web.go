// Package imagefile reads disk images at URLs where Proxmox can't do it alone: those that are packed,
// which it doesn't unpack, and those whose names don't show their format.
//
// Images pass through: nothing is written to a disk, and memory doesn't grow with their size. Proxmox
// wants to know the length of an upload beforehand, and most packed files don't have it, so they are read
// twice: once to verify the checksum and to measure what is inside, and once to send it.
package imagefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// What can go wrong with a file.
var (
	ErrMissing     = errors.New("there is no such file")
	ErrUnreachable = errors.New("this machine doesn't reach it")
	ErrRedirect    = errors.New("the server sends us elsewhere")
	ErrChecksum    = errors.New("the file isn't what the checksum says")
	ErrContent     = errors.New("it isn't a disk image that can be used")
	ErrRoom        = errors.New("there is too little room for it")
)

// Source is a file at a URL.
type Source struct {
	URL       string
	Packing   string // as [model.Packing] has it; empty: it isn't packed
	Checksum  string // of the file as it is there, in hexadecimal; empty: none is given
	Algorithm string // of the checksum
}

const (
	stall       = time.Minute      // without a byte, after which a transfer has failed
	lookFor     = 15 * time.Second // that a look may take
	askFor      = 5 * time.Second  // that one may take whose answer can be done without
	manyTurns   = 10               // redirects that are followed
	headerLimit = 30 * time.Second
)

// Web fetches files. It obeys the proxies that the environment names.
type Web struct{ client *http.Client }

// New fetches over the network. A transport that isn't nil is used instead of it.
func New(transport http.RoundTripper) *Web {
	if transport == nil {
		transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, DisableCompression: true, ForceAttemptHTTP2: true,
			ResponseHeaderTimeout: headerLimit, TLSHandshakeTimeout: headerLimit,
			DialContext: (&net.Dialer{Timeout: headerLimit, Control: notLinkLocal}).DialContext,
		}
	}
	return &Web{&http.Client{Transport: transport, CheckRedirect: follow}}
}

// notLinkLocal refuses addresses of the link, at which clouds keep what only the machine itself may
// know: URLs are written by people who may not log in to it.
func notLinkLocal(_, address string, _ syscall.RawConn) error {
	if at, err := netip.ParseAddrPort(address); err == nil && at.Addr().Unmap().IsLinkLocalUnicast() {
		return fmt.Errorf("%s is an address of the link: images aren't fetched from there", at.Addr())
	}
	return nil
}

// UnprotectedError is a redirect from TLS to no TLS.
type UnprotectedError struct{ Host string }

func (e *UnprotectedError) Error() string {
	return fmt.Sprintf("%v: to http://%s, without TLS", ErrRedirect, e.Host)
}

// Unwrap returns the kind of the error.
func (*UnprotectedError) Unwrap() error { return ErrRedirect }

// follow decides about a redirect: from TLS to no TLS none is followed, nor to what isn't HTTP. Proxmox, which has wget
// fetch files, doesn't follow the latter either.
func follow(next *http.Request, before []*http.Request) error {
	switch last := before[len(before)-1].URL; {
	case len(before) >= manyTurns:
		return fmt.Errorf("%w: more than %d times; give the URL that the file is really at", ErrRedirect, manyTurns)
	case next.URL.Scheme != "https" && next.URL.Scheme != "http":
		return fmt.Errorf("%w: to a URL of %q, which isn't fetched; give the URL that the file is really at", ErrRedirect, next.URL.Scheme)
	case last.Scheme == "https" && next.URL.Scheme != "https":
		return &UnprotectedError{next.URL.Host}
	}
	return nil
}

// transfer is a file that is being read, as it is on the server.
type transfer struct {
	body      io.ReadCloser
	size      int64  // -1: the server doesn't say
	elsewhere string // the host that has it, when the server has sent us to another one

	ctx    context.Context
	cancel context.CancelCauseFunc
	quiet  *time.Timer
}

// errStalled isn't a deadline of ours: the server is too slow.
var errStalled = fmt.Errorf("no byte within %v", stall)

// get asks for a file.
func (w *Web) get(ctx context.Context, src Source) (*transfer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := &transfer{ctx: ctx, cancel: cancel, quiet: time.AfterFunc(stall, func() { cancel(errStalled) })}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, src.URL, http.NoBody)
	if err != nil {
		t.end()
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	res, err := w.client.Do(req) //nolint:bodyclose // the transfer has it, and closes it
	if err != nil {
		defer t.end()
		return nil, sentTo(req.URL, err, t.failure(err))
	}
	t.body, t.size = res.Body, res.ContentLength
	if res.Request != nil && res.Request.URL.Host != req.URL.Host {
		t.elsewhere = res.Request.URL.Host
	}
	switch {
	case res.StatusCode == http.StatusOK:
		return t, nil
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= http.StatusInternalServerError:
		err = fmt.Errorf("%w: %s", ErrUnreachable, res.Status)
	default:
		err = fmt.Errorf("%w: %s", ErrMissing, res.Status)
	}
	_ = t.Close()
	return nil, err
}

// elsewhereError is why a file can't be read that the server has sent us to another host for.
type elsewhereError struct {
	error
	host string
}

// Unwrap returns the reason.
func (e *elsewhereError) Unwrap() error { return e.error }

// sentTo adds to a reason which other host didn't answer, if the server has sent us there.
func sentTo(from *url.URL, err, why error) error {
	var failed *url.Error
	if !errors.As(err, &failed) || errors.Is(why, ErrRedirect) {
		return why
	}
	last, bad := url.Parse(failed.URL)
	if bad != nil || last.Host == from.Host {
		return why
	}
	return &elsewhereError{why, last.Host}
}

// failure is why a file can't be read. That the caller has stopped stays what it is.
func (t *transfer) failure(err error) error {
	if cause := context.Cause(t.ctx); cause != nil && !errors.Is(cause, errStalled) {
		return cause
	}
	if errors.Is(err, ErrRedirect) {
		var wrapped interface{ Unwrap() error }
		if errors.As(err, &wrapped) {
			return wrapped.Unwrap() // without the URL, which was named already
		}
		return err
	}
	if errors.Is(context.Cause(t.ctx), errStalled) {
		err = errStalled
	}
	return fmt.Errorf("%w: %s", ErrUnreachable, reason(err))
}

// reason is an error of the network without the URL.
func reason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Error()
	}
	var wrapped interface{ Unwrap() error }
	if errors.As(err, &wrapped) && wrapped.Unwrap() != nil {
		return wrapped.Unwrap().Error()
	}
	return err.Error()
}

func (t *transfer) Read(p []byte) (int, error) {
	n, err := t.body.Read(p)
	t.quiet.Reset(stall)
	if err != nil && !errors.Is(err, io.EOF) {
		err = t.failure(err)
	}
	return n, err
}

func (t *transfer) end() { t.quiet.Stop(); t.cancel(nil) }

// Close ends it.
func (t *transfer) Close() error {
	defer t.end()
	return t.body.Close()
}
