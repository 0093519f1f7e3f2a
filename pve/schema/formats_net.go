package schema

import (
	"strings"
)

const (
	octet = `(?:25[0-5]|(?:2[0-4]|1[0-9]|[1-9])?[0-9])`
	ipv4  = `(?:(?:` + octet + `\.){3}` + octet + `)`
	h16   = `(?:[0-9a-fA-F]{1,4})`
	ls32  = `(?:` + ipv4 + `|` + h16 + `:` + h16 + `)`
	label = nodeRE
)

// ipv6 spells out where the double colon of an IPv6 address may stand.
var ipv6 = func() string {
	forms := []string{`(?:` + h16 + `:){6}` + ls32, `::(?:` + h16 + `:){5}` + ls32}
	for before, after := range []string{
		`(?:` + h16 + `:){4}` + ls32, `(?:` + h16 + `:){3}` + ls32, `(?:` + h16 + `:){2}` + ls32,
		h16 + `:` + ls32, ls32, h16, ``,
	} {
		left := `(?:` + h16 + `:){0,` + string(rune('0'+before)) + `}` + h16
		forms = append(forms, `(?:`+left+`)?::`+after)
	}
	return `(?:` + strings.Join(forms, `|`) + `)`
}()

var (
	isIP      = matching(`^(?:`+ipv4+`|`+ipv6+`)$`, "value does not look like a valid IP address")
	isDNSName = matching(`^(`+label+`\.)*`+label+`$`, "value does not look like a valid DNS name")
	isCIDRv4  = cidrChecker(ipv4, 32, "value does not look like a valid IPv4 CIDR network")
	isCIDRv6  = cidrChecker(ipv6, 128, "value does not look like a valid IPv6 CIDR network")
	isIface   = matching(`^(?^i:[a-z][a-z0-9_]{1,20}([:\.]\d+)?)$`, "invalid network interface name '%s'")
)

const (
	mailUser = `[\w\+\-\~]+(\.[\w\+\-\~]+)*`
	mail     = mailUser + `@[a-zA-Z0-9\-]+(\.[a-zA-Z0-9\-]+)*`
)

var _ = register(map[string]checker{
	"ip":         isIP,
	"ipv4":       matching(`^`+ipv4+`$`, "value does not look like a valid IPv4 address"),
	"ipv6":       matching(`^`+ipv6+`$`, "value does not look like a valid IPv6 address"),
	"ipv4mask":   netmask,
	"CIDRv4":     isCIDRv4,
	"CIDRv6":     isCIDRv6,
	"CIDR":       either("value does not look like a valid CIDR network", isCIDRv4, isCIDRv6),
	"dns-name":   isDNSName,
	"address":    hostChecker("value does not look like a valid address: %s"),
	"mac-addr":   matching(`^(?^i:[a-f0-9][02468ace](?::[a-f0-9]{2}){5})$`, "value does not look like a valid unicast MAC address"),
	"mac-prefix": matching(`^(?^i:[a-f0-9][02468ace](?::[a-f0-9]{2}){0,2}(?::[a-f0-9]?)?)$`, "value is not a valid unicast MAC address prefix"),
	"pve-iface":  isIface,
	"pve-ipv4-config": either("value does not look like a valid ipv4 network configuration",
		matching(`^(?:dhcp|manual)$`, ""), isCIDRv4),
	"pve-ipv6-config": either("value does not look like a valid ipv6 network configuration",
		matching(`^(?:auto|dhcp|manual)$`, ""), isCIDRv6),
	"pve-vlan-id-or-range": vlans,
	"lxc-ip-with-ll-iface": linkLocal,

	"email":             matching(`^`+mail+`$`, "value does not look like a valid email address"),
	"email-or-username": either("value does not look like a valid email address or user name", matching(`^`+mail+`$`, ""), matching(`^`+mailUser+`$`, "")),

	"pve-sdn-subnet-id": func(s *Schema, id string) error {
		cidr := id
		if !strings.Contains(id, "/") {
			parts := append(strings.Split(id, "-"), "", "")
			cidr = parts[1] + "/" + parts[2]
		}
		return checkers["CIDR"](s, cidr)
	},
	"pve-sdn-fabric-id":     matching(`^(?^i:[a-zA-Z0-9][a-zA-Z0-9-]{0,6}[a-zA-Z0-9]?)$`, "Fabric ID '%s' contains illegal characters"),
	"pve-sdn-isis-net":      matching(`^[a-fA-F0-9]{2}(\.[a-fA-F0-9]{4}){3,9}\.[a-fA-F0-9]{2}$`, "value does not look like a valid isis net"),
	"pve-sdn-bgp-rt":        routeTarget,
	"pve-sdn-zone-id":       sdnID("zone", `[a-z0-9]`, 8),
	"pve-sdn-vnet-id":       sdnID("vnet", `[a-z0-9]`, 8),
	"pve-sdn-controller-id": sdnID("controller", `[a-z0-9_-]`, 64),
	"pve-sdn-dns-id":        sdnID("dns", `[a-z0-9]`, 0),
	"pve-sdn-ipam-id":       sdnID("ipam", `[a-z0-9]`, 0),
})

func cidrChecker(ip string, bits float64, text string) checker {
	re := perlPattern(`^(?:` + ip + `)(?:/(\d+))$`)
	return func(_ *Schema, value string) error {
		if re.match(value) {
			_, length, _ := strings.Cut(value, "/")
			if n := numeric(length); n > 7 && n <= bits {
				return nil
			}
		}
		return fail("%s", text)
	}
}

// hostChecker takes an address or a name, but not "0": Proxmox asks whether the
// name that passed is true.
func hostChecker(text string) checker {
	check := either(text, isIP, isDNSName)
	return func(s *Schema, value string) error {
		if value == "0" {
			return fail("%s", strings.ReplaceAll(text, "%s", value))
		}
		return check(s, value)
	}
}

// netmask takes the dotted masks 0.0.0.0 to 255.255.255.255.
func netmask(_ *Schema, value string) error {
	ones := true // as long as no zero bit was seen
	parts := strings.Split(value, ".")
	ok := len(parts) == 4
	for _, part := range parts {
		switch {
		case ones && part == "255", !ones && part == "0":
		case ones && strings.Contains(" 254 252 248 240 224 192 128 0 ", " "+part+" ") && part != "":
			ones = false
		default:
			ok = false
		}
	}
	if !ok {
		return fail("value does not look like a valid IP netmask")
	}
	return nil
}

var vlanRE = perlPattern(`^(\d+)(?:-(\d+))?$`)

func vlans(_ *Schema, value string) error {
	if !vlanRE.match(value) {
		return fail("invalid VLAN configuration '%s'", value)
	}
	first, last, _ := strings.Cut(strings.TrimSuffix(value, "\n"), "-")
	for _, tag := range []string{first, last} {
		if n := numeric(tag); (tag == first || perlTrue(tag)) && (n < 2 || n > 4094) {
			return fail("invalid VLAN tag '%s'", tag)
		}
	}
	if perlTrue(last) && numeric(first) >= numeric(last) {
		return fail("VLAN range must go from lower to higher tag '%s'", value)
	}
	return nil
}

// linkLocal takes an IP address, a link-local one also with its interface.
func linkLocal(s *Schema, value string) error {
	if addr, iface, ok := strings.Cut(value, "%"); ok && strings.HasPrefix(addr, "fe80:") {
		if isIP(s, addr) == nil && isIface(s, iface) == nil {
			return nil
		}
	}
	return isIP(s, value)
}

var routeTargetRE = perlPattern(`^(\d+):(\d+)$`)

func routeTarget(_ *Schema, value string) error {
	asn, id, _ := strings.Cut(value, ":")
	if !routeTargetRE.match(value) || numeric(asn) > 4294967295 || numeric(id) > 4294967295 {
		return fail("value does not look like a valid bgp route-target")
	}
	return nil
}

func sdnID(kind, chars string, max int) checker {
	re := perlPattern(`^(?^i:[a-z]` + chars + `*[a-z0-9])$`)
	return func(_ *Schema, id string) error {
		switch {
		case !re.match(id):
			return fail("%s ID '%s' contains illegal characters", kind, id)
		case max > 0 && len(id) > max:
			return fail("%s ID '%s' can't be more length than %d characters", kind, id, max)
		}
		return nil
	}
}
