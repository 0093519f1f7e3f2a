package pve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"
)

// maxConns bounds the connections to an endpoint. Making one costs more than a request, on both
// sides, so that a burst had better share them; a request that takes long keeps one to itself.
const maxConns = 256

// newTransport makes the HTTP transport of a client. It speaks HTTP/1.1, as Proxmox does.
func newTransport(cfg Config) (http.RoundTripper, error) {
	if cfg.RoundTripper != nil {
		return cfg.RoundTripper, nil
	}
	tlsConfig, err := cfg.TLS.Config()
	if err != nil {
		return nil, err
	}
	dial := cfg.DialContext
	if dial == nil {
		dial = (&net.Dialer{Timeout: cfg.DialTimeout, KeepAlive: 15 * time.Second}).DialContext
	}
	return &http.Transport{
		Proxy:               cfg.Proxy,
		DialContext:         dial,
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: cfg.DialTimeout,
		MaxConnsPerHost:     maxConns,
		MaxIdleConnsPerHost: maxConns,
		// Proxmox closes idle connections after five seconds. A write on a connection that is
		// just being closed ends as an unknown outcome, so we must be the first to let go.
		IdleConnTimeout: 4 * time.Second,
		// Proxmox never says 100 Continue, but its refusals come at once.
		ExpectContinueTimeout: 300 * time.Millisecond,
	}, nil
}

// answer is what came back over HTTP.
type answer struct {
	status int
	reason string
	body   []byte
	failed *Error // what it says went wrong; nil: nothing
}

// lost is an exchange without an answer.
type lost struct {
	err  error
	sent bool // whether Proxmox may have got the request
}

func (l *lost) Error() string { return l.err.Error() }
func (l *lost) Unwrap() error { return l.err }

var errTooLarge = errors.New("the answer is too large")

// roundTrip makes one HTTP exchange. Any error is a *lost.
func (c *core) roundTrip(req *http.Request) (*answer, error) {
	var connected atomic.Bool
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		// The transport looks for another connection by itself only when nothing was written.
		GetConn: func(string) { connected.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	res, err := c.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return nil, &lost{err, connected.Load() || !c.unsent(err)}
	}
	defer res.Body.Close()
	c.hearClock(res.Header.Get("Date"))
	body, err := io.ReadAll(io.LimitReader(res.Body, c.cfg.MaxAnswer+1))
	if err != nil {
		return nil, &lost{fmt.Errorf("answer broke off: %w", err), true}
	}
	if int64(len(body)) > c.cfg.MaxAnswer {
		return nil, &lost{errTooLarge, true}
	}
	reason := strings.TrimSpace(strings.TrimPrefix(res.Status, fmt.Sprint(res.StatusCode)))
	return &answer{status: res.StatusCode, reason: reason, body: body}, nil
}

// unsent reports whether an error without a connection proves that nothing was sent. With our own
// transport it always does: nothing is written before there is a connection and TLS stands.
// Of somebody else's RoundTripper we only believe errors of dialling.
func (c *core) unsent(err error) bool {
	if _, own := c.transport.(*http.Transport); own {
		return true
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// withTimeout bounds one exchange. Errors that come of it can be told from the end of the
// caller's own context.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, noAnswerError(d))
}

// noAnswerError is the error of an exchange that took longer than it may.
type noAnswerError time.Duration

func (d noAnswerError) Error() string {
	return fmt.Sprintf("no answer within %v: %v", time.Duration(d), context.DeadlineExceeded)
}

func (d noAnswerError) Unwrap() error { return context.DeadlineExceeded }
