package pve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Terminal is an open terminal: reading gives what is on the screen, writing types on the
// keyboard. Close it when done.
type Terminal struct {
	conn   *websocket.Conn
	ctx    context.Context
	cancel context.CancelFunc

	reading sync.Mutex
	left    bytes.Reader // of the message that is being read
}

const (
	// termproxy hangs up on those who are silent for longer than a minute.
	terminalAlive = 30 * time.Second
	// pveproxy takes no larger frames.
	terminalChunk = 16 << 10
)

// Attach opens the VM's serial console, "serial0" by default, and connects to it. It ends with
// ctx. The VM must run, and have such a port in its config.
//
// Proxmox wants the ticket of a console in the query of the websocket's request. It is good for
// that console only, and for less than a minute.
func (v VM) Attach(ctx context.Context, serial string) (*Terminal, error) {
	console, err := v.Terminal(ctx, serial)
	if err != nil {
		return nil, err
	}
	path, err := expand("/nodes/{node}/qemu/{vmid}/vncwebsocket", []any{v.Node, v.ID})
	if err != nil {
		return nil, err
	}
	t, err := v.c.core.attach(ctx, path, console)
	if err != nil {
		return nil, fmt.Errorf("attach to the console of VM %d: %w", v.ID, err)
	}
	return t, nil
}

// attach connects to a console that was opened on the endpoint that answered last: only there is
// the port that it listens on.
func (c *core) attach(ctx context.Context, path string, console Console) (*Terminal, error) {
	auth, err := c.session.Load().authorize(ctx)
	if err != nil {
		return nil, err
	}
	base := c.endpoints.all[c.endpoints.order()[0]]
	query := url.Values{"port": {strconv.Itoa(console.Port)}, "vncticket": {console.Ticket.Reveal()}}
	header := http.Header{}
	auth.apply(header, false)
	dialing, cancel := withTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	//nolint:bodyclose // Dial has read the body and gives what was in it
	conn, answer, err := websocket.Dial(dialing, base.String()+"/api2/json"+path+"?"+query.Encode(), &websocket.DialOptions{
		// Redirected, the login and the ticket would go wherever the answer says.
		HTTPClient:   &http.Client{Transport: c.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		HTTPHeader:   header,
		Subprotocols: []string{"binary"},
	})
	if err != nil {
		return nil, c.attachError(path, answer, err, append(auth.secrets(), console.Ticket.Reveal()))
	}
	conn.SetReadLimit(-1)
	t := &Terminal{conn: conn}
	t.ctx, t.cancel = context.WithCancel(ctx)
	if err := t.login(dialing, console); err != nil {
		_ = t.Close()
		return nil, err
	}
	go t.keepAlive()
	return t, nil
}

// attachError makes the error of a handshake that failed.
func (c *core) attachError(path string, answer *http.Response, err error, secrets []string) error {
	e := &Error{Kind: ErrConnection, Method: http.MethodGet, Path: path, Text: err.Error(), Err: err}
	if answer != nil && answer.StatusCode/100 == 2 {
		// Something in between has taken the request for an ordinary one.
		return &Error{
			Kind: ErrNotImplemented, Method: http.MethodGet, Path: path, Status: answer.StatusCode,
			Text: "the answer is no websocket: what is at the endpoint, or on the way to it, has none",
		}
	}
	if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
		body, _ := io.ReadAll(io.LimitReader(answer.Body, 1024))
		_, reason, _ := bytes.Cut([]byte(answer.Status), []byte(" "))
		e = answerError(http.MethodGet, path, answer.StatusCode, string(reason), body)
	} else {
		// The library's texts repeat the URL, which has the ticket.
		secrets = append(secrets, url.QueryEscape(secrets[len(secrets)-1]))
		e.Err = nil
	}
	e.hide(secrets)
	return e
}

// login says who we are, which termproxy answers with OK.
func (t *Terminal) login(ctx context.Context, console Console) error {
	line := fmt.Sprintf("%s:%s\n", console.User, console.Ticket.Reveal())
	if err := t.conn.Write(ctx, websocket.MessageText, []byte(line)); err != nil {
		return fmt.Errorf("log in at the console: %w", err)
	}
	_, greeting, err := t.conn.Read(ctx)
	if err != nil {
		return fmt.Errorf("log in at the console: %w", err)
	}
	rest, ok := bytes.CutPrefix(greeting, []byte("OK"))
	if !ok {
		return &Error{Kind: ErrUnauthorized, Text: "the console doesn't take its ticket"}
	}
	t.left.Reset(rest)
	return nil
}

func (t *Terminal) keepAlive() {
	ticker := time.NewTicker(terminalAlive)
	defer ticker.Stop()
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-ticker.C:
			_ = t.conn.Write(t.ctx, websocket.MessageText, []byte("2")) // who reads notices the end
		}
	}
}

// Read gives what is on the screen. At the end of the console it is io.EOF.
func (t *Terminal) Read(p []byte) (int, error) {
	t.reading.Lock()
	defer t.reading.Unlock()
	for t.left.Len() == 0 {
		_, message, err := t.conn.Read(t.ctx)
		switch code := websocket.CloseStatus(err); {
		case code == websocket.StatusNormalClosure, code == websocket.StatusGoingAway, errors.Is(err, io.EOF):
			return 0, io.EOF
		case err != nil:
			return 0, err
		}
		t.left.Reset(message)
	}
	return t.left.Read(p)
}

// Write types on the keyboard.
func (t *Terminal) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		part := p[:min(len(p), terminalChunk)]
		message := append(fmt.Appendf(nil, "0:%d:", len(part)), part...)
		if err := t.conn.Write(t.ctx, websocket.MessageText, message); err != nil {
			return written, err
		}
		written += len(part)
		p = p[len(part):]
	}
	return written, nil
}

// Resize sets the size of the screen.
func (t *Terminal) Resize(columns, rows int) error {
	return t.conn.Write(t.ctx, websocket.MessageText, fmt.Appendf(nil, "1:%d:%d:", columns, rows))
}

// Close hangs up.
func (t *Terminal) Close() error {
	defer t.cancel()
	return t.conn.Close(websocket.StatusNormalClosure, "")
}
