//go:build !linux

package qemu

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/pvesim"
)

// Backend is for Linux only.
type Backend struct{ pvesim.Machines }

// Missing says what a backend would lack here.
func Missing() error { return errors.New("real machines need Linux") }

// Jump is for Linux only.
type Jump struct{}

// NewJump fails here.
func (*Backend) NewJump(netip.Prefix) (*Jump, error) { return nil, Missing() }

// HostKey is none here.
func (*Jump) HostKey() ssh.PublicKey { return nil }

// Serve fails here.
func (*Jump) Serve(context.Context, net.Listener) error { return Missing() }

// New fails here.
func New(string) (*Backend, error) { return nil, Missing() }
