//go:build linux

package qemu

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
)

// gateway is the way from this host into the private network: QEMU's own
// network stack in user space, in a process without a machine, plugged into
// the switch. It forwards ports of 127.0.0.1 to guests; guests can't get out
// through it.
type gateway struct {
	process *process
	port    *port
	qmp     *qmp

	mu       sync.Mutex
	forwards map[netip.AddrPort]string // what is forwarded from where
}

// startGateway puts a router into a network, at its first address.
func (b *Backend) startGateway(ctx context.Context, network netip.Prefix) (*gateway, error) {
	port, cable, err := b.lan.plug(segment{}, netip.Prefix{})
	if err != nil {
		return nil, err
	}
	b.lan.mu.Lock()
	port.uplink = true
	b.lan.mu.Unlock()
	monitor, end, err := socketPair(syscall.SOCK_STREAM)
	if err != nil {
		port.unplug()
		return nil, errors.Join(err, cable.Close())
	}
	router := firstHost(network)
	p, err := b.launcher.start(b.dir, []*os.File{end, cable}, b.tools.qemu,
		"-machine", "none", "-nodefaults", "-no-user-config", "-display", "none",
		"-chardev", "socket,id=qmp,fd=3", "-mon", "chardev=qmp,mode=control",
		"-netdev", fmt.Sprintf("user,id=stack,net=%s,host=%s,dhcpstart=%s,restrict=on,ipv6=off", network.Masked(), router, router.Next()),
		"-netdev", "dgram,id=cable,local.type=fd,local.str=4",
		"-netdev", "hubport,id=hub0,hubid=0,netdev=stack", "-netdev", "hubport,id=hub1,hubid=0,netdev=cable")
	if err != nil {
		port.unplug()
		_ = monitor.Close()
		return nil, err
	}
	q, err := newQMP(ctx, monitor.(*net.UnixConn))
	if err != nil {
		p.kill()
		<-p.ended
		port.unplug()
		_ = monitor.Close()
		return nil, fmt.Errorf("gateway: %w: %s", err, p.stderr.String())
	}
	return &gateway{process: p, port: port, qmp: q, forwards: map[netip.AddrPort]string{}}, nil
}

func (g *gateway) close() {
	g.process.kill()
	<-g.process.ended
	g.port.unplug()
	_ = g.qmp.conn.Close()
}

// Dial connects with a guest in the private network, which is the one that
// DHCP gives addresses of.
func (b *Backend) Dial(ctx context.Context, network netip.Prefix, to netip.AddrPort) (net.Conn, error) {
	b.mu.Lock()
	if b.gate == nil && !b.closed {
		gate, err := b.startGateway(ctx, network)
		if err != nil {
			b.mu.Unlock()
			return nil, err
		}
		b.gate = gate
	}
	gate := b.gate
	b.mu.Unlock()
	if gate == nil {
		return nil, net.ErrClosed
	}
	from, err := gate.forward(ctx, to)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", from)
}

// forward gives a guest's port an address of this host.
func (g *gateway) forward(ctx context.Context, to netip.AddrPort) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if from := g.forwards[to]; from != "" {
		return from, nil
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	from := free.Addr().String()
	_ = free.Close()
	out, err := g.qmp.monitor(ctx, fmt.Sprintf("hostfwd_add stack tcp:%s-%s", from, to))
	if err == nil && out != "" {
		err = errors.New(out)
	}
	if err != nil {
		return "", fmt.Errorf("forward %s to %s: %w", from, to, err)
	}
	g.forwards[to] = from
	return from, nil
}
