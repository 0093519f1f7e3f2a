package sshserver

import (
	"io"
	"os/exec"
	"sync"

	"github.com/creack/pty"
	"golang.org/x/crypto/ssh"
)

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

// wanted reports whether the client asked for a terminal.
func (t *terminal) wanted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kind != ""
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
