//go:build unix

package sshtest

import (
	"fmt"
	"net"
	"os/exec"

	"golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/host/ssh/sshserver"
)

// session serves a command, a shell or SFTP.
func (s *Server) session(c ssh.NewChannel) {
	s.mu.Lock()
	answer := s.onCommand
	s.mu.Unlock()
	sshserver.Sessions{
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
			return func() { sshserver.ServeFiles(channel, &folder{s}, "/") }, name == "sftp"
		},
	}.Serve(c)
}

// forward connects the client with somebody whom we can reach.
func (s *Server) forward(c ssh.NewChannel) {
	sshserver.Forward(c, func(host string, port uint32) (net.Conn, error) {
		address := net.JoinHostPort(host, fmt.Sprint(port))
		s.mu.Lock()
		if other, ok := s.routes[address]; ok {
			address = other
		}
		s.mu.Unlock()
		return net.Dial("tcp", address)
	})
}
