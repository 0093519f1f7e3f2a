package pvesim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Proxmox puts the error text into the reason phrase, which net/http can't
// send. So connections that Serve accepts know how to replace the phrase of
// the next status line; through any other server the texts are still in the
// bodies, as behind a reverse proxy that drops the phrase.

type reasonConn struct {
	net.Conn
	mu     sync.Mutex
	reason string // of the response that is written next
}

type connKey struct{}

func (c *reasonConn) setReason(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reason = reason
}

func (c *reasonConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	reason := c.reason
	c.reason = ""
	c.mu.Unlock()
	const statusLen = len("HTTP/1.1 500 ")
	end := bytes.Index(b, []byte("\r\n"))
	if reason == "" || end < statusLen || !bytes.HasPrefix(b, []byte("HTTP/1.1 ")) {
		return c.Conn.Write(b)
	}
	out := make([]byte, 0, len(b)+len(reason))
	out = append(out, b[:statusLen]...)
	out = append(out, reason...)
	out = append(out, b[end:]...)
	if _, err := c.Conn.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

type reasonListener struct{ net.Listener }

func (l reasonListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &reasonConn{Conn: c}, nil
}

// Serve answers requests on l, as the node (empty: the entry node), until l
// is closed or the context ends. For HTTPS, l is a TLS listener.
func (s *Sim) Serve(ctx context.Context, l net.Listener, node string) error {
	srv := &http.Server{
		Handler: s.HandlerFor(node),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          discardLog,
	}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	err := srv.Serve(reasonListener{l})
	if ctx.Err() != nil || errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}

// pipeListener accepts in-memory connections.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pvesim" }

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Transport returns an HTTP transport whose every connection ends in the
// simulator, in memory and without TLS, and a function that closes it. It
// works under testing/synctest. The URL's host doesn't matter.
func (s *Sim) Transport() (*http.Transport, func()) {
	l := newPipeListener()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(ctx, l, "") // ends with the listener
	}()
	tr := &http.Transport{
		DialContext:       l.dial,
		DialTLSContext:    l.dial,
		DisableKeepAlives: false,
		ForceAttemptHTTP2: false,
	}
	return tr, func() {
		tr.CloseIdleConnections()
		cancel()
		_ = l.Close()
		<-done
	}
}
