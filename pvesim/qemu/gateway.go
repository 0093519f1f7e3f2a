//go:build linux

package qemu

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
)

// gateway is the way from this host into the private network: QEMU's own
// network stack in user space, in a process without a machine, plugged into
// the switch. It forwards ports of 127.0.0.1 to guests; guests can't get out
// through it, but for what is offered to them.
type gateway struct {
	process *process
	port    *port
	qmp     *qmp

	mu       sync.Mutex
	forwards map[netip.AddrPort]string // what is forwarded from where
}

// Offer is something that guests can connect to.
type Offer struct {
	// At is where guests find it: an address of their network that nobody else has.
	At netip.AddrPort
	// Run is a program with its arguments. It is started for each connection, which is its standard
	// input and output. No word may need quotes for a shell, or have a comma.
	Run []string
}

// Offer lets guests of a network reach programs of this host, and nothing else. It is called once,
// before anybody calls Dial.
func (b *Backend) Offer(ctx context.Context, network netip.Prefix, list ...Offer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return net.ErrClosed
	case b.gate != nil:
		return errors.New("the gateway runs, and offers what it did when it was started")
	}
	for _, o := range list {
		if o.At.Addr() == firstHost(network) || !network.Contains(o.At.Addr()) {
			return fmt.Errorf("offer %s: want an address of %s, and not the router's", o.At, network)
		}
		if words := strings.Join(o.Run, " "); len(o.Run) == 0 || strings.ContainsAny(words, "'\"\\$`*?;&|<>(),\n") || len(strings.Fields(words)) != len(o.Run) {
			return fmt.Errorf("offer %s: QEMU can't start %q", o.At, o.Run)
		}
	}
	var err error
	b.gate, err = b.startGateway(ctx, network, list...)
	return err
}

// startGateway puts a router into a network, at its first address.
func (b *Backend) startGateway(ctx context.Context, network netip.Prefix, offers ...Offer) (*gateway, error) {
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
	stack := fmt.Sprintf("user,id=stack,net=%s,host=%s,dhcpstart=%s,restrict=on,ipv6=off", network.Masked(), router, router.Next())
	for _, o := range offers {
		stack += fmt.Sprintf(",guestfwd=tcp:%s-cmd:%s", o.At, strings.Join(o.Run, " "))
	}
	p, err := b.launcher.start(b.dir, []*os.File{end, cable}, b.tools.qemu,
		"-machine", "none", "-nodefaults", "-no-user-config", "-display", "none",
		"-chardev", "socket,id=qmp,fd=3", "-mon", "chardev=qmp,mode=control",
		"-netdev", stack,
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
