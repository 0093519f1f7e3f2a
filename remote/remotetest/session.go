//go:build unix

package remotetest

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/remote/remotetest/shell"
)

// session serves a command, a shell or SFTP.
func (s *Server) session(c ssh.NewChannel) {
	s.mu.Lock()
	answer := s.onCommand
	s.mu.Unlock()
	shell.Sessions{
		Command: func(text string) *exec.Cmd {
			cmd := exec.Command("sh", "-c", text)
			if text == "" {
				cmd = exec.Command("sh")
			}
			cmd.Dir = s.Folder
			return cmd
		},
		Answer: answer,
		Subsystem: func(name string, channel ssh.Channel) (func(), bool) {
			files := &folder{s}
			server := sftp.NewRequestServer(channel, sftp.Handlers{FileGet: files, FilePut: files, FileCmd: files, FileList: files})
			return func() { _ = server.Serve() }, name == "sftp"
		},
	}.Serve(c)
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
