//go:build linux

package qemu

import (
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
)

// lan is the network of the simulated cluster: a switch that all network
// cards are plugged into, each into the segment of its bridge and VLAN.
// Frames are datagrams on socket pairs, which takes no privileges.
type lan struct {
	mu    sync.Mutex
	ports map[*port]bool
}

// segment is what a broadcast reaches.
type segment struct {
	bridge string
	tag    int
}

type hardwareAddr [6]byte

// port is where a network card is plugged in.
type port struct {
	lan  *lan
	conn net.Conn

	// All below is guarded by the lan.
	segment segment
	uplink  bool         // part of all segments; gives no leases, takes none
	lease   netip.Prefix // for whoever asks here
	seen    map[hardwareAddr]bool
}

func newLAN() *lan { return &lan{ports: map[*port]bool{}} }

// plug makes a port. The file is the card's end of the cable.
func (l *lan) plug(seg segment, lease netip.Prefix) (*port, *os.File, error) {
	conn, far, err := socketPair(syscall.SOCK_DGRAM)
	if err != nil {
		return nil, nil, err
	}
	p := &port{lan: l, conn: conn, segment: seg, lease: lease, seen: map[hardwareAddr]bool{}}
	l.mu.Lock()
	l.ports[p] = true
	l.mu.Unlock()
	go p.read()
	return p, far, nil
}

// move plugs the cable into another segment.
func (p *port) move(seg segment) {
	p.lan.mu.Lock()
	defer p.lan.mu.Unlock()
	p.segment = seg
}

// unplug takes the cable out.
func (p *port) unplug() {
	p.lan.mu.Lock()
	delete(p.lan.ports, p)
	p.lan.mu.Unlock()
	_ = p.conn.Close()
}

// maxFrame is more than the largest frame that QEMU sends, which may be one
// to be cut up by a network card.
const maxFrame = 1 << 17

func (p *port) read() {
	buf := make([]byte, maxFrame)
	for {
		n, err := p.conn.Read(buf)
		if err != nil {
			return
		}
		if n >= ethernetHeader {
			p.lan.forward(p, buf[:n])
		}
	}
}

// forward sends a frame where it belongs: to the port that its destination
// was seen on or, when nobody knows, to all of the segment.
func (l *lan) forward(from *port, frame []byte) {
	dst, src := hardwareAddr(frame[0:6]), hardwareAddr(frame[6:12])
	l.mu.Lock()
	from.seen[src] = true
	if question, ok := parseDHCP(frame); ok {
		// Ours is the only DHCP server; what is said to another isn't
		// passed on.
		var answer []byte
		if !from.uplink {
			answer = question.answer(from.lease)
		}
		l.mu.Unlock()
		if answer != nil {
			_, _ = from.conn.Write(answer)
		}
		return
	}
	var to []*port
	for p := range l.ports {
		if p == from || p.segment != from.segment && !p.uplink && !from.uplink {
			continue
		}
		if p.seen[dst] {
			to = []*port{p}
			break
		}
		to = append(to, p)
	}
	l.mu.Unlock()
	for _, p := range to {
		_, _ = p.conn.Write(frame) // a guest that takes no more loses it
	}
}

// socketPair makes two connected sockets: ours, and one for another process.
func socketPair(kind int) (net.Conn, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, kind|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	near, far := os.NewFile(uintptr(fds[0]), "near"), os.NewFile(uintptr(fds[1]), "far")
	conn, err := net.FileConn(near)
	_ = near.Close()
	if err != nil {
		_ = far.Close()
		return nil, nil, err
	}
	return conn, far, nil
}
