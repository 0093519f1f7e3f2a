// Package sshserver serves what SSH clients ask for: commands and shells, files
// over SFTP, and connections to others. Whoever uses it decides who may log in.
package sshserver

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/crypto/ssh"
)

// Sessions are the services for clients.
type Sessions struct {
	// Command is the program for a command, or for a shell if there is none.
	Command func(text string) *exec.Cmd
	// Run runs a command in place of a program, and returns its exit status;
	// may be nil.
	Run func(Session) (status int)
	// Answer has commands that it knows answered without a program; may be nil.
	Answer func(text string) (output string, status int, known bool)
	// Subsystem serves a subsystem until it ends, if it knows it; may be nil.
	Subsystem func(name string, channel ssh.Channel) (serve func(), known bool)
}

// Session is a command that a client runs, or a shell when there is none.
type Session struct {
	Text     string
	In       io.Reader
	Out, Err io.Writer
	Terminal bool // the client has one
}

// Serve serves a session, until it ends.
func (s Sessions) Serve(c ssh.NewChannel) {
	channel, requests, err := c.Accept()
	if err != nil {
		return
	}
	defer channel.Close()
	var run sync.WaitGroup
	defer run.Wait()
	t := &terminal{}
	for r := range requests {
		serve, ok := s.answer(r, channel, t)
		if r.WantReply {
			_ = r.Reply(ok, nil) // first of all: a quick command closes the channel
		}
		if serve != nil {
			run.Go(serve)
		}
	}
}

// answer decides whether there is what a request asks for, and returns what is to
// be served then.
func (s Sessions) answer(r *ssh.Request, channel ssh.Channel, t *terminal) (serve func(), ok bool) {
	var text struct{ Text string }
	switch r.Type {
	case "pty-req":
		t.open(r.Payload)
		return nil, true
	case "window-change":
		t.resize(r.Payload)
		return nil, true
	case "shell":
		return func() { s.run(channel, t, "") }, true
	case "exec":
		if ssh.Unmarshal(r.Payload, &text) != nil {
			return nil, false
		}
		return func() { s.run(channel, t, text.Text) }, true
	case "subsystem":
		if s.Subsystem == nil || ssh.Unmarshal(r.Payload, &text) != nil {
			return nil, false
		}
		subsystem, known := s.Subsystem(text.Text, channel)
		if !known {
			return nil, false
		}
		return func() {
			subsystem()
			channel.Close()
		}, true
	}
	return nil, false
}

// run runs a command, and sends how it ended.
func (s Sessions) run(channel ssh.Channel, t *terminal, text string) {
	defer channel.Close()
	if s.Run != nil {
		sendStatus(channel, s.Run(Session{Text: text, In: channel, Out: channel, Err: channel.Stderr(), Terminal: t.wanted()}))
		return
	}
	if s.Answer != nil {
		if output, status, known := s.Answer(text); known {
			_, _ = io.WriteString(channel, output)
			sendStatus(channel, status)
			return
		}
	}
	err := t.start(s.Command(text), channel)
	var exit *exec.ExitError
	if err == nil {
		sendStatus(channel, 0)
	} else if !errors.As(err, &exit) {
		fmt.Fprintln(channel.Stderr(), err)
		sendStatus(channel, 127)
	} else if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		_, _ = channel.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Name              string
			CoreDumped        bool
			Message, Language string
		}{Name: signalName(status.Signal())}))
	} else {
		sendStatus(channel, exit.ExitCode())
	}
}

func sendStatus(channel ssh.Channel, status int) {
	_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(status)}))
}
