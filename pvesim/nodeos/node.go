// Package nodeos is what a simulated node runs beside Proxmox' API: an SSH server
// with the node's files and a shell that knows the few programs that clients of
// Proxmox run there. Nothing of it reaches the machine that the simulator is on.
package nodeos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/host/ssh/sshserver"
	"github.com/proxplane/proxplane/pvesim"
)

// Node is a node that can be logged in to.
type Node struct {
	host   *pvesim.Host
	root   *os.Root // what the node has beside its storages
	folder string
	parts  string // where files are while they are being written
	key    ssh.Signer
	keys   []ssh.PublicKey
	guests Dialer
}

// Dialer connects with a guest.
type Dialer func(ctx context.Context, host string, port uint32) (net.Conn, error)

// Config says how a node can be logged in to. Passwords and keys of the world's
// users always do.
type Config struct {
	Folder string          // keeps the files that aren't on storages
	Key    ssh.Signer      // of the node
	Keys   []ssh.PublicKey // that let root in
	Guests Dialer          // nil: the node has no way to guests
}

// New makes a node. Close must be called on it.
func New(host *pvesim.Host, c Config) (*Node, error) {
	n := &Node{host: host, folder: filepath.Join(c.Folder, "files"), parts: filepath.Join(c.Folder, "parts"), key: c.Key, keys: c.Keys, guests: c.Guests}
	if err := os.RemoveAll(n.parts); err != nil { // what an earlier run was writing
		return nil, err
	}
	for _, dir := range []string{n.folder, n.parts} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	var err error
	if n.root, err = os.OpenRoot(n.folder); err != nil {
		return nil, err
	}
	for _, dir := range []string{"root/.ssh", "tmp", "var/tmp", "home", "etc"} {
		if err := n.root.MkdirAll(dir, 0o755); err != nil {
			return nil, errors.Join(err, n.root.Close())
		}
	}
	return n, nil
}

// Close gives up what the node holds open.
func (n *Node) Close() error { return n.root.Close() }

// Serve takes connections until the context ends or the listener is closed.
// Sessions that run then are ended.
func (n *Node) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		open.Go(func() { n.attend(ctx, conn) })
	}
}

func (n *Node) attend(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	if !n.host.Up() {
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	config := &ssh.ServerConfig{PasswordCallback: n.password, PublicKeyCallback: n.publicKey}
	config.AddHostKey(n.key)
	server, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	var open sync.WaitGroup
	defer open.Wait()
	for c := range channels {
		switch {
		case c.ChannelType() == "session":
			open.Go(func() { n.session(ctx, server.User(), c) })
		case c.ChannelType() == "direct-tcpip" && n.guests != nil:
			open.Go(func() {
				sshserver.Forward(c, func(host string, port uint32) (net.Conn, error) { return n.guests(ctx, host, port) })
			})
		default:
			_ = c.Reject(ssh.Prohibited, "not simulated")
		}
	}
}

func (n *Node) password(meta ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
	if n.host.LogIn(meta.User(), string(password)) {
		return nil, nil
	}
	return nil, fmt.Errorf("password of %s: %w", meta.User(), errDenied)
}

var errDenied = errors.New("permission denied")

func (n *Node) publicKey(meta ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
	user := meta.User()
	known := slices.Concat(n.host.Keys(user), n.authorized(user))
	if user == "root" {
		known = append(known, n.keys...)
	}
	for _, k := range known {
		if bytes.Equal(k.Marshal(), key.Marshal()) {
			return nil, nil
		}
	}
	return nil, fmt.Errorf("key of %s: %w", user, errDenied)
}

// authorized are the keys in the account's own authorized_keys.
func (n *Node) authorized(user string) (keys []ssh.PublicKey) {
	if !n.host.Account(user) {
		return nil
	}
	rest, err := n.root.ReadFile(inside(home(user) + "/.ssh/authorized_keys"))
	for err == nil && len(rest) > 0 {
		var key ssh.PublicKey
		if key, _, _, rest, err = ssh.ParseAuthorizedKey(rest); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

func home(user string) string {
	if user == "root" {
		return "/root"
	}
	return "/home/" + user
}

// session serves a command, a shell or SFTP.
func (n *Node) session(ctx context.Context, user string, c ssh.NewChannel) {
	if user != "root" {
		_ = n.root.MkdirAll(inside(home(user)), 0o700) // as at the first login
	}
	sshserver.Sessions{
		Run: func(s sshserver.Session) int { return n.run(ctx, user, s) },
		Subsystem: func(name string, channel ssh.Channel) (func(), bool) {
			return func() { sshserver.ServeFiles(channel, &files{n, user}, home(user)) }, name == "sftp"
		},
	}.Serve(c)
}
