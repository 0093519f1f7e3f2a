//go:build linux

package qemu

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"
)

// card is the guest's end of a cable.
type card struct {
	net.Conn
	mac hardwareAddr
}

func plugIn(t *testing.T, l *lan, bridge string, tag, number int, lease string) *card {
	t.Helper()
	var prefix netip.Prefix
	if lease != "" {
		prefix = netip.MustParsePrefix(lease)
	}
	port, file, err := l.plug(segment{bridge, tag}, prefix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(port.unplug)
	conn, err := net.FileConn(file)
	if err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	t.Cleanup(func() { _ = conn.Close() })
	return &card{Conn: conn, mac: hardwareAddr{2, 0, 0, 0, 0, byte(number)}}
}

var everybody = hardwareAddr{255, 255, 255, 255, 255, 255}

func (c *card) send(t *testing.T, to hardwareAddr, kind uint16, body string) {
	t.Helper()
	frame := append(append(append([]byte{}, to[:]...), c.mac[:]...), binary.BigEndian.AppendUint16(nil, kind)...)
	if _, err := c.Write(append(frame, body...)); err != nil {
		t.Fatal(err)
	}
}

func (c *card) receive(t *testing.T) []byte {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, maxFrame)
	n, err := c.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

// silent fails if something has come. Whatever was sent before has been
// forwarded by then, since the sender has seen its own answer.
func (c *card) silent(t *testing.T) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, maxFrame)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %d bytes, %v; want nothing", n, err)
	}
}

func TestFramesStayInTheirSegment(t *testing.T) {
	l := newLAN()
	a, b := plugIn(t, l, "vmbr0", 0, 1, ""), plugIn(t, l, "vmbr0", 0, 2, "")
	otherBridge, otherVLAN := plugIn(t, l, "vmbr1", 0, 3, ""), plugIn(t, l, "vmbr0", 7, 4, "")

	a.send(t, everybody, 0x88b5, "who is there?")
	if got := b.receive(t); !bytes.HasSuffix(got, []byte("who is there?")) {
		t.Errorf("b got %q", got)
	}
	b.send(t, a.mac, 0x88b5, "me")
	if got := a.receive(t); !bytes.HasSuffix(got, []byte("me")) {
		t.Errorf("a got %q", got)
	}
	for _, c := range []*card{otherBridge, otherVLAN} {
		c.silent(t)
	}
}

func TestKnownCardsGetTheirFramesAlone(t *testing.T) {
	l := newLAN()
	a, b, c := plugIn(t, l, "vmbr0", 0, 1, ""), plugIn(t, l, "vmbr0", 0, 2, ""), plugIn(t, l, "vmbr0", 0, 3, "")
	a.send(t, everybody, 0x88b5, "here is a")
	b.receive(t)
	c.receive(t)
	b.send(t, a.mac, 0x88b5, "for a")
	a.receive(t)
	c.silent(t)
}

func TestCardsGetTheirLeases(t *testing.T) {
	l := newLAN()
	a, b := plugIn(t, l, "vmbr0", 0, 1, "192.168.77.50/24"), plugIn(t, l, "vmbr0", 0, 2, "192.168.77.51/24")
	for _, step := range []struct{ ask, answer byte }{{dhcpDiscover, dhcpOffer}, {dhcpRequest, dhcpAck}} {
		body := make([]byte, dhcpFixed, dhcpFixed+8)
		body[0], body[1], body[2] = 1, 1, 6
		copy(body[4:], "xact")
		copy(body[28:], a.mac[:])
		copy(body[dhcpFixed-4:], dhcpCookie)
		body = append(body, 0, optKind, 1, step.ask, optEnd)
		question := udpFrame(everybody, [4]byte{}, body)
		copy(question[6:], a.mac[:])
		binary.BigEndian.PutUint16(question[ethernetHeader+ipv4Header:], dhcpClient)
		binary.BigEndian.PutUint16(question[ethernetHeader+ipv4Header+2:], dhcpServer)
		if _, err := a.Write(question); err != nil {
			t.Fatal(err)
		}
		got := a.receive(t)
		m, ok := parseDHCP(got)
		if !ok || m.kind != step.answer {
			t.Fatalf("asked %d, got kind %d of %x", step.ask, m.kind, got)
		}
		if yours, _ := netip.AddrFromSlice(m.fixed[16:20]); yours != netip.MustParseAddr("192.168.77.50") {
			t.Errorf("asked %d, got the address %v", step.ask, yours)
		}
		if string(m.fixed[4:8]) != "xact" || !bytes.Equal(m.fixed[28:34], a.mac[:]) {
			t.Errorf("the answer is for another question: %x", m.fixed)
		}
		for option, want := range map[byte][]byte{optMask: {255, 255, 255, 0}, optRouter: {192, 168, 77, 1}, optServer: {192, 168, 77, 1}} {
			if !bytes.Contains(got[ethernetHeader+ipv4Header+udpHeader+dhcpFixed:], append([]byte{option, 4}, want...)) {
				t.Errorf("option %d isn't %v in %x", option, want, got)
			}
		}
	}
	b.silent(t)
}

func TestOffersThatCantBeAreRefused(t *testing.T) {
	b := &Backend{}
	network := netip.MustParsePrefix("192.168.77.0/24")
	for _, c := range []struct {
		reason, at string
		run        []string
	}{
		{"an address of another network", "192.168.78.4:443", []string{"/bin/cat"}},
		{"the router's own", "192.168.77.1:443", []string{"/bin/cat"}},
		{"no program", "192.168.77.4:443", nil},
		{"a word that a shell would take apart", "192.168.77.4:443", []string{"/bin/cat", "a b"}},
		{"an option of QEMU's", "192.168.77.4:443", []string{"/bin/cat,restrict=off"}},
	} {
		if err := b.Offer(t.Context(), network, Offer{At: netip.MustParseAddrPort(c.at), Run: c.run}); err == nil {
			t.Errorf("%s is offered", c.reason)
		}
	}
	b.closed = true
	if err := b.Offer(t.Context(), network); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a backend that is closed says: %v", err)
	}
}
