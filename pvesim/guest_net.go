package pvesim

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
)

// interfaces are the guest's network cards as its agent shows them.
func (s *Sim) interfaces(vm *VM) []map[string]any {
	list := []map[string]any{netInterface("lo", "00:00:00:00:00:00", 0, []netip.Prefix{
		netip.MustParsePrefix("127.0.0.1/8"), netip.MustParsePrefix("::1/128"),
	})}
	for i, key := range vm.Conf.nets() {
		value := vm.Conf[key]
		mac := netMAC(value)
		var addrs []netip.Prefix
		if down, _ := property(value, "link_down", ""); !perlBool(down) {
			addrs = s.addresses(vm, key, mac)
		}
		list = append(list, netInterface(ethName(i), mac, 6, addrs))
	}
	return list
}

// Addresses returns the addresses of the guest in a VM, as its agent would report them; none while it doesn't run.
func (s *Sim) Addresses(vmid int) []netip.Prefix {
	s.mu.Lock()
	defer s.mu.Unlock()
	vm := s.state.VMs[vmid]
	if vm == nil || vm.Run == nil || vm.Run.Guest == nil {
		return nil
	}
	var list []netip.Prefix
	for _, key := range vm.Conf.nets() {
		if down, _ := property(vm.Conf[key], "link_down", ""); !perlBool(down) {
			list = append(list, s.addresses(vm, key, netMAC(vm.Conf[key]))...)
		}
	}
	return list
}

// nets lists the network cards of a config.
func (c Conf) nets() []string {
	var keys []string
	for i := range maxNets {
		if key := fmt.Sprintf("net%d", i); c[key] != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// ethName is the guest's name for its i-th network card.
func ethName(i int) string { return fmt.Sprintf("eth%d", i) }

// netMAC is the address of a network card, in lower case.
func netMAC(value string) string {
	first, _, _ := strings.Cut(value, ",")
	_, mac, _ := strings.Cut(first, "=")
	if m, ok := property(value, "macaddr", ""); ok {
		mac = m
	}
	return strings.ToLower(mac)
}

func netInterface(name, mac string, sent int, addrs []netip.Prefix) map[string]any {
	stats := map[string]any{"tx-packets": sent, "tx-bytes": sent * 86}
	for _, key := range []string{"tx-errs", "tx-dropped", "rx-packets", "rx-bytes", "rx-errs", "rx-dropped"} {
		stats[key] = 0
	}
	out := map[string]any{"name": name, "hardware-address": mac, "statistics": stats}
	ips := []map[string]any{}
	for _, p := range addrs {
		kind := "ipv4"
		if p.Addr().Is6() {
			kind = "ipv6"
		}
		ips = append(ips, map[string]any{"ip-address": p.Addr().String(), "ip-address-type": kind, "prefix": p.Bits()})
	}
	out["ip-addresses"] = ips
	return out
}

// addresses are those of a network card: what the guest's seed says, or the
// static ones that cloud-init is told, else one by DHCP; and the link-local
// one.
func (s *Sim) addresses(vm *VM, key, mac string) []netip.Prefix {
	var configured []string
	if net := vm.Run.Guest.Net; net != nil {
		configured = net[mac]
	} else {
		configured = ipConfig(vm.Conf, strings.TrimPrefix(key, "net"))
	}
	var addrs []netip.Prefix
	for _, text := range configured {
		p, err := netip.ParsePrefix(text)
		if text == "dhcp" {
			p = s.lease(mac)
		}
		if (err == nil || text == "dhcp") && p.IsValid() {
			addrs = append(addrs, p)
		}
	}
	if p := linkLocal(mac); p.IsValid() {
		addrs = append(addrs, p)
	}
	return addrs
}

// ipConfig is what ipconfigN says, if there is a cloud-init drive to say it.
func ipConfig(c Conf, id string) []string {
	config := c["ipconfig"+id]
	if config == "" || c.cloudInitKey("") == "" {
		return []string{"dhcp"}
	}
	ip, hasIP := property(config, "ip", "")
	ip6, hasIP6 := property(config, "ip6", "")
	if !hasIP && !hasIP6 {
		return []string{"dhcp"}
	}
	if ip6 == "dhcp" { // there are no leases of IPv6 addresses
		ip6 = ""
	}
	return []string{ip, ip6}
}

// linkLocal is the IPv6 address that a card gives itself.
func linkLocal(mac string) netip.Prefix {
	var b [6]byte
	if n, _ := fmt.Sscanf(mac, "%02x:%02x:%02x:%02x:%02x:%02x", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]); n != 6 {
		return netip.Prefix{}
	}
	addr := [16]byte{0xfe, 0x80, 8: b[0] ^ 2, b[1], b[2], 0xff, 0xfe, b[3], b[4], b[5]}
	return netip.PrefixFrom(netip.AddrFrom16(addr), 64)
}

// lease is the address that the DHCP server has for a card. When the range
// is used up, cards that are gone lose theirs.
func (s *Sim) lease(mac string) netip.Prefix {
	d := &s.state.DHCP
	if d.Leases == nil {
		d.Leases = map[string]string{}
	}
	if ip, ok := d.Leases[mac]; ok {
		addr, _ := netip.ParseAddr(ip)
		return netip.PrefixFrom(addr, d.Bits)
	}
	from, to, _ := strings.Cut(d.Range, "-")
	first, err1 := netip.ParseAddr(from)
	last, err2 := netip.ParseAddr(to)
	if err1 != nil || err2 != nil || mac == "" {
		return netip.Prefix{}
	}
	addr := nth(first, s.serial("dhcp")-1)
	if last.Less(addr) { // each was given out once
		if addr = s.freeAddress(first, last); !addr.IsValid() {
			s.dropOldLeases()
			addr = s.freeAddress(first, last)
		}
	}
	if !addr.IsValid() {
		return netip.Prefix{}
	}
	d.Leases[mac] = addr.String()
	s.dirty()
	return netip.PrefixFrom(addr, d.Bits)
}

// nth counts addresses up.
func nth(first netip.Addr, n uint64) netip.Addr {
	b := first.As16()
	binary.BigEndian.PutUint64(b[8:], binary.BigEndian.Uint64(b[8:])+n)
	return netip.AddrFrom16(b).Unmap()
}

// freeAddress finds an address that nobody has.
func (s *Sim) freeAddress(first, last netip.Addr) netip.Addr {
	taken := make(map[string]bool, len(s.state.DHCP.Leases))
	for _, ip := range s.state.DHCP.Leases {
		taken[ip] = true
	}
	for a := first; a.Compare(last) <= 0; a = a.Next() {
		if !taken[a.String()] {
			return a
		}
	}
	return netip.Addr{}
}

// dropOldLeases forgets cards that no VM has.
func (s *Sim) dropOldLeases() {
	there := s.guests().macs
	for mac := range s.state.DHCP.Leases {
		if there[mac] == 0 {
			delete(s.state.DHCP.Leases, mac)
		}
	}
}
