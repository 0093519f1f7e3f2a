//go:build unix

// Package sshtest is an SSH server for tests: it has a folder as its file
// system, runs commands for real, forwards connections, and breaks when told to.
package sshtest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// Server is an SSH server on this machine.
type Server struct {
	Address string // host:port
	Folder  string // what it has as "/"; commands run in it, too

	t        testing.TB
	listener net.Listener
	root     *os.Root
	serving  sync.WaitGroup

	mu         sync.Mutex
	hostKeys   []ssh.Signer
	authorized []ssh.PublicKey
	conns      map[net.Conn]bool
	limit      int64 // bytes that the next connection may send; 0: any
	onWrite    func() error
	onFile     func(path string)
	onCommand  func(string) (output string, status int, known bool)
	routes     map[string]string
	logins     []string
}

// Start starts a server that ends with the test. Its folder is empty.
func Start(t testing.TB) *Server {
	t.Helper()
	return StartIn(t, t.TempDir())
}

// StartIn starts a server with a folder that is there.
func StartIn(t testing.TB, folder string) *Server {
	t.Helper()
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Address: listener.Addr().String(), Folder: folder, t: t, listener: listener, root: root, conns: map[net.Conn]bool{}}
	_, key := Key(t)
	s.SetHostKeys(key)
	s.serving.Go(s.accept)
	t.Cleanup(func() {
		listener.Close()
		s.DropAll()
		s.serving.Wait()
		root.Close()
	})
	return s
}

// Key makes a key: as a file of ssh-keygen, and as a signer.
func Key(t testing.TB) ([]byte, ssh.Signer) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(block), signer
}

// Authorize lets a key in, and returns it as Key does.
func (s *Server) Authorize() []byte {
	s.t.Helper()
	file, _ := Key(s.t)
	s.AuthorizeKey(file)
	return file
}

// AuthorizeKey lets a key in that is there.
func (s *Server) AuthorizeKey(file []byte) {
	s.t.Helper()
	signer, err := ssh.ParsePrivateKey(file)
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.authorized = append(s.authorized, signer.PublicKey())
}

// SetHostKeys replaces the server's host keys, as if it were another server.
func (s *Server) SetHostKeys(keys ...ssh.Signer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hostKeys = keys
}

// Fingerprint returns the fingerprint of the first host key.
func (s *Server) Fingerprint() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ssh.FingerprintSHA256(s.hostKeys[0].PublicKey())
}

// KnownHosts returns the lines that a client needs to know the server.
func (s *Server) KnownHosts() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []byte
	for _, k := range s.hostKeys {
		lines = append(lines, knownhosts.Line([]string{knownhosts.Normalize(s.Address)}, k.PublicKey())+"\n"...)
	}
	return lines
}

// DropAfter breaks the next connection when it has sent so many bytes.
func (s *Server) DropAfter(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = bytes
}

// OnWrite sets a function that is called before each write to a file, which may fail
// it; nil: no longer.
func (s *Server) OnWrite(f func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onWrite = f
}

// OnFile sets a function that is called when a file has been put into its place.
func (s *Server) OnFile(f func(path string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onFile = f
}

// OnCommand sets a function that answers commands that it knows; others run.
func (s *Server) OnCommand(f func(command string) (output string, status int, known bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onCommand = f
}

// Route redirects connections from one address to another.
func (s *Server) Route(from, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.routes == nil {
		s.routes = map[string]string{}
	}
	s.routes[from] = to
}

// DropAll breaks all connections.
func (s *Server) DropAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}

// Logins returns the users that have logged in.
func (s *Server) Logins() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.logins)
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.limit > 0 {
			conn = &limitedConn{Conn: conn, left: s.limit}
			s.limit = 0
		}
		s.conns[conn] = true
		s.mu.Unlock()
		s.serving.Go(func() {
			s.serve(conn)
			conn.Close()
			s.mu.Lock()
			delete(s.conns, conn)
			s.mu.Unlock()
		})
	}
}

// limitedConn breaks after so many bytes.
type limitedConn struct {
	net.Conn
	left int64
}

func (c *limitedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.left -= int64(n); c.left <= 0 {
		c.Close()
		return 0, errors.New("the connection was told to break")
	}
	return n, err
}

func (s *Server) serve(conn net.Conn) {
	config := &ssh.ServerConfig{PublicKeyCallback: func(meta ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, k := range s.authorized {
			if string(k.Marshal()) == string(key.Marshal()) {
				return nil, nil
			}
		}
		return nil, errors.New("no such key")
	}, AuthLogCallback: func(meta ssh.ConnMetadata, _ string, err error) {
		if err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.logins = append(s.logins, meta.User())
		}
	}}
	s.mu.Lock()
	for _, k := range s.hostKeys {
		config.AddHostKey(k)
	}
	s.mu.Unlock()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	s.serving.Go(func() { ssh.DiscardRequests(requests) })
	var open sync.WaitGroup
	for c := range channels {
		switch c.ChannelType() {
		case "session":
			open.Go(func() { s.session(c) })
		case "direct-tcpip":
			open.Go(func() { s.forward(c) })
		default:
			_ = c.Reject(ssh.UnknownChannelType, "there is none")
		}
	}
	open.Wait()
}
