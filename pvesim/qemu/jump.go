//go:build linux

package qemu

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"

	"golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/remote/sshserver"
)

// Jump is an SSH server that leads to guests, as the hosts of a real cluster
// do for `ssh -J`. It does nothing else, and lets everybody through: whoever
// reaches a simulator may do anything with it.
type Jump struct {
	backend *Backend
	network netip.Prefix
	config  *ssh.ServerConfig
	key     ssh.PublicKey
}

// NewJump makes one for guests with addresses of the network.
func (b *Backend) NewJump(network netip.Prefix) (*Jump, error) {
	signer, err := sshserver.HostKey(filepath.Join(b.dir, "ssh_host_key"))
	if err != nil {
		return nil, err
	}
	j := &Jump{backend: b, network: network, config: &ssh.ServerConfig{NoClientAuth: true}, key: signer.PublicKey()}
	j.config.AddHostKey(signer)
	return j, nil
}

// HostKey is the key that it shows.
func (j *Jump) HostKey() ssh.PublicKey { return j.key }

// Serve takes connections until the listener is closed.
func (j *Jump) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go j.attend(ctx, conn)
	}
}

func (j *Jump) attend(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	_, channels, requests, err := ssh.NewServerConn(conn, j.config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		if c.ChannelType() != "direct-tcpip" {
			_ = c.Reject(ssh.Prohibited, "this is only a way to guests")
			continue
		}
		go j.forward(ctx, c)
	}
}

// forward connects a channel with the guest that it names.
func (j *Jump) forward(ctx context.Context, c ssh.NewChannel) {
	sshserver.Forward(c, func(host string, port uint32) (net.Conn, error) {
		addr, err := netip.ParseAddr(host)
		if err != nil {
			return nil, fmt.Errorf("%s is no address", host)
		}
		return j.backend.Dial(ctx, j.network, netip.AddrPortFrom(addr, uint16(port)))
	})
}
