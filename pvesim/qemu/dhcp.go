//go:build linux

package qemu

import (
	"bytes"
	"encoding/binary"
	"net/netip"
)

const (
	ethernetHeader = 14
	ipv4Header     = 20
	udpHeader      = 8
	// dhcpFixed is the part of a DHCP message before its options, with the
	// cookie that says that there are any.
	dhcpFixed = 240

	dhcpServer, dhcpClient = 67, 68
	leaseSeconds           = 24 * 60 * 60
)

// Kinds of DHCP messages and the options that we read or write.
const (
	dhcpDiscover, dhcpOffer, dhcpRequest, dhcpAck = 1, 2, 3, 5

	optMask, optRouter, optTime, optKind, optServer, optEnd = 1, 3, 51, 53, 54, 255
)

var (
	dhcpCookie = []byte{99, 130, 83, 99}
	// routerMAC is what frames of the DHCP server come from.
	routerMAC = [6]byte{0x02, 0x70, 0x78, 0x70, 0x6c, 0x01}
)

// dhcpMessage is what a client asks.
type dhcpMessage struct {
	client [6]byte // hardware address that sent the frame
	fixed  []byte  // without the cookie
	kind   byte
}

// parseDHCP reports whether a frame is DHCP over IPv4, in either direction.
func parseDHCP(frame []byte) (dhcpMessage, bool) {
	be := binary.BigEndian
	if len(frame) < ethernetHeader+ipv4Header || be.Uint16(frame[12:]) != 0x0800 {
		return dhcpMessage{}, false
	}
	ip := frame[ethernetHeader:]
	header := int(ip[0]&15) * 4
	const udp = 17
	if ip[9] != udp || len(ip) < header+udpHeader+dhcpFixed {
		return dhcpMessage{}, false
	}
	if port := be.Uint16(ip[header+2:]); port != dhcpServer && port != dhcpClient {
		return dhcpMessage{}, false
	}
	body := ip[header+udpHeader:]
	if !bytes.Equal(body[dhcpFixed-4:dhcpFixed], dhcpCookie) {
		return dhcpMessage{}, false
	}
	m := dhcpMessage{client: [6]byte(frame[6:12]), fixed: body[:dhcpFixed-4]}
	for opts := body[dhcpFixed:]; len(opts) >= 2 && opts[0] != optEnd; {
		if opts[0] == 0 { // padding
			opts = opts[1:]
			continue
		}
		n := int(opts[1])
		if len(opts) < 2+n {
			break
		}
		if opts[0] == optKind && n == 1 {
			m.kind = opts[2]
		}
		opts = opts[2+n:]
	}
	return m, true
}

// answer is the frame that gives the client its address; nil: no answer.
func (m dhcpMessage) answer(lease netip.Prefix) []byte {
	kind := map[byte]byte{dhcpDiscover: dhcpOffer, dhcpRequest: dhcpAck}[m.kind]
	const fromClient = 1
	if kind == 0 || m.fixed[0] != fromClient || !lease.Addr().Is4() {
		return nil
	}
	router, addr := firstHost(lease).As4(), lease.Addr().As4()
	body := make([]byte, dhcpFixed, dhcpFixed+64)
	copy(body, m.fixed[:4]) // kind of hardware
	body[0] = 2             // to the client
	body[3] = 0
	copy(body[4:12], m.fixed[4:12])            // transaction, seconds, flags
	copy(body[16:20], addr[:])                 // yours
	copy(body[20:24], router[:])               // mine
	copy(body[28:dhcpFixed-4], m.fixed[28:44]) // hardware address
	copy(body[dhcpFixed-4:], dhcpCookie)
	option := func(code byte, value ...byte) { body = append(append(body, code, byte(len(value))), value...) }
	option(optKind, kind)
	option(optServer, router[:]...)
	option(optTime, binary.BigEndian.AppendUint32(nil, leaseSeconds)...)
	option(optMask, binary.BigEndian.AppendUint32(nil, ^uint32(0)<<(32-lease.Bits()))...)
	option(optRouter, router[:]...)
	body = append(body, optEnd)
	return udpFrame(m.client, router, body)
}

// firstHost is the first address of a network: the router's.
func firstHost(p netip.Prefix) netip.Addr { return p.Masked().Addr().Next() }

// udpFrame wraps a message of the DHCP server to all, sent to one client.
func udpFrame(to [6]byte, from [4]byte, body []byte) []byte {
	be := binary.BigEndian
	frame := make([]byte, ethernetHeader+ipv4Header+udpHeader, ethernetHeader+ipv4Header+udpHeader+len(body))
	copy(frame, to[:])
	copy(frame[6:], routerMAC[:])
	be.PutUint16(frame[12:], 0x0800)
	ip := frame[ethernetHeader:]
	ip[0], ip[8], ip[9] = 0x45, 64, 17
	be.PutUint16(ip[2:], uint16(ipv4Header+udpHeader+len(body)))
	copy(ip[12:], from[:])
	copy(ip[16:], []byte{255, 255, 255, 255})
	var sum uint32
	for i := 0; i < ipv4Header; i += 2 {
		sum += uint32(be.Uint16(ip[i:]))
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	be.PutUint16(ip[10:], ^uint16(sum))
	udp := ip[ipv4Header:]
	be.PutUint16(udp[0:], dhcpServer)
	be.PutUint16(udp[2:], dhcpClient)
	be.PutUint16(udp[4:], uint16(udpHeader+len(body))) // no checksum: IPv4 allows that
	return append(frame, body...)
}
