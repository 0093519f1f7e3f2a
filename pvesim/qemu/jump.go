//go:build linux

package qemu

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/crypto/ssh"
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
	signer, err := hostKey(filepath.Join(b.dir, "ssh_host_key"))
	if err != nil {
		return nil, err
	}
	j := &Jump{backend: b, network: network, config: &ssh.ServerConfig{NoClientAuth: true}, key: signer.PublicKey()}
	j.config.AddHostKey(signer)
	return j, nil
}

// hostKey is the one in the file, so that a simulator that is started again
// with what it had is known; there is one afterwards.
func hostKey(file string) (ssh.Signer, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		var private ed25519.PrivateKey
		if _, private, err = ed25519.GenerateKey(rand.Reader); err != nil {
			return nil, err
		}
		block, err := ssh.MarshalPrivateKey(private, "")
		if err != nil {
			return nil, err
		}
		text = pem.EncodeToMemory(block)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return signer, nil
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
	var to struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	if err := ssh.Unmarshal(c.ExtraData(), &to); err != nil {
		_ = c.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	addr, err := netip.ParseAddr(to.Host)
	if err != nil || to.Port > 65535 {
		_ = c.Reject(ssh.ConnectionFailed, fmt.Sprintf("%s:%d is no address", to.Host, to.Port))
		return
	}
	guest, err := j.backend.Dial(ctx, j.network, netip.AddrPortFrom(addr, uint16(to.Port)))
	if err != nil {
		_ = c.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	defer guest.Close()
	channel, requests, err := c.Accept()
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(channel, guest) // either end may hang up
		_ = channel.CloseWrite()
	})
	both.Go(func() {
		_, _ = io.Copy(guest, channel)
		if tcp, ok := guest.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
	})
	both.Wait()
	_ = channel.Close()
}
