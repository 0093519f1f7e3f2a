package pvesim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// door is a console that was opened and waits for its visitor.
type door struct {
	vm     *VM
	port   int
	serial string // "": the VM's first one
	shut   bool   // nobody may come any more
	came   chan struct{}
	left   chan struct{}
}

// openDoor takes a port and starts the task that waits for a connection, and
// then for its end.
func (c *call) openDoor(vm *VM, serial string) (*door, string) {
	d := &door{
		vm: vm, port: 5900 + int(c.serial("console"))%100, serial: serial,
		came: make(chan struct{}), left: make(chan struct{}),
	}
	c.doors[d.port] = d
	upid := c.fork(c.entry, "vncproxy", strconv.Itoa(vm.ID), c.who, func(t *task) error {
		defer func() { d.shut = true }()
		if !t.waitFor(d.came, consoleWait) {
			return die("connection timed out")
		}
		t.waitFor(d.left, longestConsole)
		return nil
	})
	return d, upid
}

// longestConsole is how long anybody may stay.
const longestConsole = 365 * 24 * time.Hour

// isUpgrade reports whether a client wants to speak websocket.
func isUpgrade(r *http.Request) bool { return strings.EqualFold(r.Header.Get("Upgrade"), "websocket") }

// serveConsole lets a client work at a console.
func (s *Sim) serveConsole(w http.ResponseWriter, r *http.Request, d *door) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"binary"}, InsecureSkipVerify: true})
	if err != nil {
		return // the answer says so
	}
	defer func() { _ = conn.CloseNow() }()
	s.mu.Lock()
	if d.shut {
		s.mu.Unlock()
		return
	}
	d.shut = true
	close(d.came)
	s.mu.Unlock()
	defer close(d.left)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-s.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	s.attend(ctx, conn, d)
	_ = conn.Close(websocket.StatusNormalClosure, "")
}

// attend is what termproxy does: it lets in who has the ticket, and passes on
// what is typed and what is shown.
func (s *Sim) attend(ctx context.Context, conn *websocket.Conn, d *door) {
	conn.SetReadLimit(1 << 20)
	_, line, err := conn.Read(ctx)
	if err != nil {
		return
	}
	user, ticket, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), ":")
	s.mu.Lock()
	valid := s.consoleValid(ticket, user, d.vm.ID, d.port)
	s.mu.Unlock()
	if !valid || conn.Write(ctx, websocket.MessageBinary, []byte("OK")) != nil {
		return
	}
	far, err := s.serialPort(ctx, d)
	if err != nil {
		_ = conn.Write(ctx, websocket.MessageBinary, []byte(err.Error()+"\r\n"))
		return
	}
	defer far.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		buf := make([]byte, 4096)
		for {
			n, err := far.Read(buf)
			if n > 0 && conn.Write(ctx, websocket.MessageBinary, buf[:n]) != nil || err != nil {
				return
			}
		}
	}()
	var typed []byte
	for {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return
		}
		typed = append(typed, message...)
		var keys []byte
		if keys, typed, err = keystrokes(typed); err != nil {
			return
		}
		if _, err := far.Write(keys); err != nil {
			return
		}
	}
}

// keystrokes takes what was typed out of termproxy's messages: "0:3:abc" is
// typed, "1:80:24:" is a new size of the screen, "2" a sign of life. The rest
// is the beginning of a message.
func keystrokes(buf []byte) (keys, rest []byte, err error) {
	for len(buf) > 0 {
		parts := bytes.SplitN(buf, []byte(":"), 3)
		switch {
		case buf[0] == '2':
			buf = buf[1:]
			continue
		case len(parts) < 3:
			return keys, buf, nil
		case buf[0] == '0':
			n, err := strconv.Atoi(string(parts[1]))
			if err != nil || n < 0 {
				return nil, nil, fmt.Errorf("length %q", parts[1])
			}
			if len(parts[2]) < n {
				return keys, buf, nil
			}
			keys, buf = append(keys, parts[2][:n]...), parts[2][n:]
		case buf[0] == '1':
			_, after, whole := bytes.Cut(parts[2], []byte(":"))
			if !whole {
				return keys, buf, nil
			}
			buf = after
		default:
			return nil, nil, fmt.Errorf("message %q", buf[0])
		}
	}
	return keys, nil, nil
}

// serialPort connects with the VM's serial port, as qm terminal does.
func (s *Sim) serialPort(ctx context.Context, d *door) (io.ReadWriteCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	port, conf := d.serial, d.vm.Conf
	for i := 0; port == "" && i < 4; i++ {
		if name := fmt.Sprintf("serial%d", i); conf[name] == "socket" {
			port = name
		}
	}
	switch {
	case port == "":
		return nil, errors.New("unable to find a serial interface")
	case conf[port] == "":
		return nil, fmt.Errorf("serial interface '%s' is not configured", port)
	case conf[port] != "socket":
		return nil, fmt.Errorf("wrong serial type on interface '%s'", port)
	case d.vm.Run == nil:
		return nil, notRunning(d.vm.ID)
	}
	var far io.ReadWriteCloser
	if s.machines == nil {
		far = newEcho(d.vm.Run.gone())
	} else {
		var err error
		if far, err = s.machines.Console(ctx, d.vm.ID, port); err != nil {
			return nil, err
		}
	}
	return &greeted{far, strings.NewReader("starting serial terminal on interface " + port + "\r\n")}, nil
}

// greeted is a port with something to be read first.
type greeted struct {
	io.ReadWriteCloser
	greeting *strings.Reader
}

func (g *greeted) Read(p []byte) (int, error) {
	if g.greeting.Len() > 0 {
		return g.greeting.Read(p)
	}
	return g.ReadWriteCloser.Read(p)
}

// echo is the serial port of a simulated guest: it shows what is typed. Who
// types needn't look at the screen.
type echo struct {
	mu     sync.Mutex
	more   *sync.Cond
	screen []byte
	ended  bool
	left   chan struct{}
}

// newEcho makes one that ends with the guest.
func newEcho(gone <-chan struct{}) *echo {
	e := &echo{left: make(chan struct{})}
	e.more = sync.NewCond(&e.mu)
	go func() {
		select {
		case <-gone:
		case <-e.left:
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.ended = true
		e.more.Broadcast()
	}()
	return e
}

func (e *echo) Read(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.screen) == 0 {
		if e.ended {
			return 0, io.EOF
		}
		e.more.Wait()
	}
	n := copy(p, e.screen)
	e.screen = e.screen[n:]
	return n, nil
}

func (e *echo) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.screen = append(e.screen, bytes.ReplaceAll(p, []byte("\r"), []byte("\r\n"))...)
	e.more.Broadcast()
	return len(p), nil
}

// Close ends the console. It is called once.
func (e *echo) Close() error {
	close(e.left)
	return nil
}
