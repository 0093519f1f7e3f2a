package simulator

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// redirectListener takes connections for TLS. Who comes without it is sent
// on to HTTPS, as Proxmox does.
type redirectListener struct{ net.Listener }

func (l redirectListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &redirectConn{Conn: c, in: bufio.NewReader(c)}, nil
}

// redirectConn looks at the first byte when somebody reads: accepting must
// not wait for it.
type redirectConn struct {
	net.Conn
	in    *bufio.Reader
	first sync.Once
	plain bool
}

// tlsHandshake is the first byte of a TLS connection.
const tlsHandshake = 0x16

func (c *redirectConn) Read(b []byte) (int, error) {
	c.first.Do(func() {
		if begin, err := c.in.Peek(1); err == nil && begin[0] != tlsHandshake {
			c.plain = true
			c.redirect()
		}
	})
	if c.plain {
		return 0, io.EOF
	}
	return c.in.Read(b)
}

func (c *redirectConn) redirect() {
	if c.SetDeadline(time.Now().Add(time.Second)) != nil {
		return
	}
	req, err := http.ReadRequest(c.in)
	if err != nil {
		return
	}
	status := http.StatusPermanentRedirect
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		status = http.StatusMovedPermanently
	}
	fmt.Fprintf(c.Conn, "HTTP/1.1 %d %s\r\nLocation: https://%s%s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		status, http.StatusText(status), req.Host, req.URL.RequestURI())
}
