//go:build !linux

package qemu

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"github.com/proxplane/proxplane/pvesim"
)

// Backend is for Linux only.
type Backend struct{ pvesim.Machines }

// Missing returns an error that names what a backend lacks on this machine.
func Missing() error { return errors.New("real machines need Linux") }

// Dial fails here.
func (*Backend) Dial(context.Context, netip.Prefix, netip.AddrPort) (net.Conn, error) {
	return nil, Missing()
}

// Offer is for Linux only.
type Offer struct {
	At  netip.AddrPort
	Run []string
}

// Offer fails here.
func (*Backend) Offer(context.Context, netip.Prefix, ...Offer) error { return Missing() }

// New fails here.
func New(string) (*Backend, error) { return nil, Missing() }
