//go:build unix

package remotetest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"

	"github.com/creack/pty"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// session serves a command, a shell or SFTP.
func (s *Server) session(c ssh.NewChannel) {
	channel, requests, err := c.Accept()
	if err != nil {
		return
	}
	defer channel.Close()
	var run sync.WaitGroup
	defer run.Wait()
	t := &terminal{}
	for r := range requests {
		ok := true
		switch r.Type {
		case "pty-req":
			t.open(r.Payload)
		case "window-change":
			t.resize(r.Payload)
		case "exec", "shell":
			var command struct{ Text string }
			if r.Type == "exec" {
				ok = ssh.Unmarshal(r.Payload, &command) == nil
			}
			run.Go(func() { s.run(channel, t, command.Text) })
		case "subsystem":
			files := &folder{s}
			server := sftp.NewRequestServer(channel, sftp.Handlers{FileGet: files, FilePut: files, FileCmd: files, FileList: files})
			run.Go(func() {
				_ = server.Serve()
				channel.Close()
			})
		default:
			ok = false
		}
		if r.WantReply {
			_ = r.Reply(ok, nil)
		}
	}
}

// run runs a command, and tells how it ended.
func (s *Server) run(channel ssh.Channel, t *terminal, command string) {
	defer channel.Close()
	args := []string{"-c", command}
	if command == "" {
		args = nil
	}
	status := struct{ Code uint32 }{}
	s.mu.Lock()
	answer := s.onCommand
	s.mu.Unlock()
	if answer != nil {
		if output, code, known := answer(command); known {
			_, _ = io.WriteString(channel, output)
			status.Code = uint32(code)
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(status))
			return
		}
	}
	cmd := exec.Command("sh", args...)
	cmd.Dir = s.Folder
	err := t.start(cmd, channel)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status.Code = uint32(exit.ExitCode())
	} else if err != nil {
		fmt.Fprintln(channel.Stderr(), err)
		status.Code = 127
	}
	_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(status))
}

// terminal is what the client asked for, if it did.
type terminal struct {
	mu   sync.Mutex
	kind string
	size pty.Winsize
	set  func(*pty.Winsize)
}

func (t *terminal) open(payload []byte) {
	var ask struct {
		Term                         string
		Columns, Rows, Width, Height uint32
		Modes                        string
	}
	if ssh.Unmarshal(payload, &ask) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kind, t.size = ask.Term, pty.Winsize{Rows: uint16(ask.Rows), Cols: uint16(ask.Columns)}
}

func (t *terminal) resize(payload []byte) {
	var size struct{ Columns, Rows, Width, Height uint32 }
	if ssh.Unmarshal(payload, &size) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.size = pty.Winsize{Rows: uint16(size.Rows), Cols: uint16(size.Columns)}
	if t.set != nil {
		t.set(&t.size)
	}
}

// start runs a command, in a terminal if one was asked for.
func (t *terminal) start(cmd *exec.Cmd, channel ssh.Channel) error {
	t.mu.Lock()
	if t.kind == "" {
		t.mu.Unlock()
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
		go func() {
			_, _ = io.Copy(in, channel)
			in.Close()
		}()
		return cmd.Run()
	}
	cmd.Env = append(cmd.Environ(), "TERM="+t.kind)
	file, err := pty.StartWithSize(cmd, &t.size)
	if err == nil {
		t.set = func(size *pty.Winsize) { _ = pty.Setsize(file, size) }
	}
	t.mu.Unlock()
	if err != nil {
		return err
	}
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.set = nil
		file.Close()
	}()
	go func() { _, _ = io.Copy(file, channel) }()
	_, _ = io.Copy(channel, file)
	return cmd.Wait()
}

// forward connects the client with somebody whom we can reach.
func (s *Server) forward(c ssh.NewChannel) {
	var to struct {
		Host   string
		Port   uint32
		Origin string
		From   uint32
	}
	if err := ssh.Unmarshal(c.ExtraData(), &to); err != nil {
		_ = c.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	address := net.JoinHostPort(to.Host, fmt.Sprint(to.Port))
	s.mu.Lock()
	if other, ok := s.routes[address]; ok {
		address = other
	}
	s.mu.Unlock()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		_ = c.Reject(ssh.ConnectionFailed, strings.TrimSpace(err.Error()))
		return
	}
	defer conn.Close()
	channel, requests, err := c.Accept()
	if err != nil {
		return
	}
	defer channel.Close()
	go ssh.DiscardRequests(requests)
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(conn, channel)
		_ = conn.Close()
	})
	_, _ = io.Copy(channel, conn)
	_ = channel.Close()
	both.Wait()
}
