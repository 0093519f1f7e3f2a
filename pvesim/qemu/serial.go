//go:build linux

package qemu

import (
	"io"
	"net"
	"os"
	"sync"
)

// serial is a serial port of a guest: what comes out goes to a file and to
// everybody who is connected, what they type goes in.
type serial struct {
	conn net.Conn
	log  *os.File

	mu        sync.Mutex
	listeners map[*console]bool
	closed    bool
}

func newSerial(conn net.Conn, log *os.File) *serial {
	s := &serial{conn: conn, log: log, listeners: map[*console]bool{}}
	go s.read()
	return s
}

func (s *serial) read() {
	buf := make([]byte, 4096)
	for {
		n, err := s.conn.Read(buf)
		s.mu.Lock()
		_, _ = s.log.Write(buf[:n]) // a full disk must not stop the guest
		for c := range s.listeners {
			c.put(buf[:n])
		}
		if err != nil {
			s.closed = true
			for c := range s.listeners {
				c.end()
			}
			_ = s.log.Close()
		}
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// connect gives somebody the port. What was printed before isn't shown, as
// with a cable.
func (s *serial) connect() io.ReadWriteCloser {
	c := &console{serial: s}
	c.more = sync.NewCond(&c.mu)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.end()
	}
	s.listeners[c] = true
	return c
}

// maxScreen is how much of a guest's output is kept for a reader that is
// slow.
const maxScreen = 1 << 20

// console is one end of a serial port.
type console struct {
	serial *serial

	mu    sync.Mutex
	more  *sync.Cond
	data  []byte
	ended bool
}

func (c *console) put(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.data = append(c.data, b...)
	if len(c.data) > maxScreen {
		c.data = c.data[len(c.data)-maxScreen:]
	}
	c.more.Broadcast()
}

func (c *console) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.more.Broadcast()
}

func (c *console) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.data) == 0 {
		if c.ended {
			return 0, io.EOF
		}
		c.more.Wait()
	}
	n := copy(p, c.data)
	c.data = c.data[n:]
	return n, nil
}

func (c *console) Write(p []byte) (int, error) { return c.serial.conn.Write(p) }

// Close lets others go on with the port.
func (c *console) Close() error {
	c.serial.mu.Lock()
	delete(c.serial.listeners, c)
	c.serial.mu.Unlock()
	c.end()
	return nil
}
