package sshtest

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// Node is a server that takes connections until its context ends.
type Node interface {
	Serve(context.Context, net.Listener) error
	Close() error
}

// Serve runs a server until the test ends, and returns its address.
func Serve(t testing.TB, n Node) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, n.Close()); err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// Dial logs in where the host key is known.
func Dial(address, user string, auth ssh.AuthMethod, host ssh.PublicKey) (*ssh.Client, error) {
	return ssh.Dial("tcp", address, &ssh.ClientConfig{User: user, Auth: []ssh.AuthMethod{auth}, HostKeyCallback: ssh.FixedHostKey(host), Timeout: time.Minute})
}

// Run runs a command, and returns its standard output and standard error together, and its exit status.
func Run(t testing.TB, c *ssh.Client, command, input string) (output string, status int) {
	t.Helper()
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Stdin = strings.NewReader(input)
	out, err := s.CombinedOutput(command)
	var exit *ssh.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", command, err)
	}
	if exit != nil {
		status = exit.ExitStatus()
	}
	return string(out), status
}
