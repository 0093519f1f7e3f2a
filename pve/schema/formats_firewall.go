package schema

import (
	_ "embed" // service and protocol names
	"strings"
	"sync"
	"unicode/utf8"
)

const aliasName = `[A-Za-z][A-Za-z0-9\-\_]+`

var _ = register(map[string]checker{
	"pve-fw-sport-spec":       func(_ *Schema, value string) error { return portList(value, false) },
	"pve-fw-dport-spec":       func(_ *Schema, value string) error { return portList(value, true) },
	"pve-fw-addr-spec":        addressList,
	"pve-fw-protocol-spec":    protocol,
	"pve-fw-icmp-type-spec":   icmpType,
	"pve-fw-conntrack-helper": conntrackHelpers,
	"IPorCIDR":                ipOrCIDR,
	"IPorCIDRorAlias": func(s *Schema, value string) error {
		if fwAliasRE.match(value) {
			return nil
		}
		return ipOrCIDR(s, value)
	},
})

var (
	fwAliasRE = perlPattern(`^(dc/|guest/)?` + aliasName + `$`)
	ipsetRE   = perlPattern(`^(\+)(\S+)$`)
	ipCIDRRE  = perlPattern(`^(?:` + ipv6 + `|` + ipv4 + `)(?:/\d+)?$`)
)

// Names from Debian's /etc/services and /etc/protocols, which Proxmox reads.
var (
	//go:embed data/services.txt
	servicesText string
	//go:embed data/protocols.txt
	protocolsText string

	services  = sync.OnceValue(func() map[string]bool { return nameSet(servicesText) })
	protocols = sync.OnceValue(func() map[string]bool { return nameSet(protocolsText + " icmpv6") })
)

// The ICMP types that rules may name, of each version of IP.
var (
	ICMPTypes = nameSet(`any echo-reply destination-unreachable network-unreachable host-unreachable protocol-unreachable
		port-unreachable fragmentation-needed source-route-failed network-unknown host-unknown network-prohibited
		host-prohibited TOS-network-unreachable TOS-host-unreachable communication-prohibited host-precedence-violation
		precedence-cutoff source-quench redirect network-redirect host-redirect TOS-network-redirect TOS-host-redirect
		echo-request router-advertisement router-solicitation time-exceeded ttl-zero-during-transit
		ttl-zero-during-reassembly parameter-problem ip-header-bad required-option-missing timestamp-request
		timestamp-reply address-mask-request address-mask-reply`)
	ICMPv6Types = nameSet(`destination-unreachable no-route communication-prohibited beyond-scope address-unreachable
		port-unreachable failed-policy reject-route packet-too-big time-exceeded ttl-zero-during-transit
		ttl-zero-during-reassembly parameter-problem bad-header unknown-header-type unknown-option echo-request echo-reply
		router-solicitation router-advertisement neighbor-solicitation neighbour-solicitation neighbor-advertisement
		neighbour-advertisement redirect`)
)

func nameSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(text) {
		set[name] = true
	}
	return set
}

// commaList splits at commas; Proxmox refuses empty entries at the end.
func commaList(value string) ([]string, error) {
	if value == "" {
		return nil, nil
	}
	if strings.HasSuffix(value, ",") {
		return nil, fail("extraneous commas in list")
	}
	return strings.Split(value, ","), nil
}

var (
	portRE      = perlPattern(`^([0-9]+)$`)
	portRangeRE = perlPattern(`^([0-9]+):([0-9]+)$`)
)

// portList takes ports, ranges and service names. A destination port may be an
// ICMP type: that is where Proxmox once kept them.
func portList(value string, icmpToo bool) error {
	items, err := commaList(value)
	if err != nil {
		return err
	}
	count, icmp := 0, false
	for _, item := range items {
		switch {
		case portRangeRE.match(item):
			count += 2
			first, last, _ := strings.Cut(strings.TrimSuffix(item, "\n"), ":")
			for _, port := range []string{first, last} {
				if numeric(port) > 65535 {
					return fail("invalid port '%s'", port)
				}
			}
			if numeric(first) > numeric(last) {
				return fail("backwards range '%s:%s' not allowed, did you mean '%s:%s'?", first, last, last, first)
			}
		case portRE.match(item):
			count++
			if numeric(item) > 65535 {
				return fail("invalid port '%s'", strings.TrimSuffix(item, "\n"))
			}
		case icmpToo && (ICMPTypes[item] || ICMPv6Types[item]):
			icmp = true
		case !services()[item]:
			return fail("invalid port '%s'", item)
		}
	}
	switch {
	case icmp && count > 0:
		return fail("ICMP ports not allowed in port range")
	case count > 15:
		return fail("too many entries in port list (> 15 numbers)")
	}
	return nil
}

// addressList takes an IP set, an alias, or addresses of one IP version.
func addressList(_ *Schema, value string) error {
	length := utf8.RuneCountInString(value)
	switch {
	case ipsetRE.match(value):
		if length > 65 {
			return fail("ipset name too long")
		}
		return nil
	case fwAliasRE.match(value):
		if length > 64 {
			return fail("alias name too long")
		}
		return nil
	}
	items, err := commaList(value)
	if err != nil {
		return err
	}
	version, isRange := 0, false
	for _, item := range items {
		v, problem := ipRange(item)
		if problem != "" {
			return fail("invalid IP address: %s", problem)
		}
		if version != 0 && v != version {
			return fail("detected mixed ipv4/ipv6 addresses in address list '%s'", value)
		}
		version = v
		isRange = isRange || strings.Contains(item, "-")
	}
	if isRange && len(items) > 1 {
		return fail("you can't use a range in a list")
	}
	return nil
}

func protocol(_ *Schema, value string) error {
	if perlTrue(value) && !protocols()[value] {
		return fail("unknown protocol '%s'", value)
	}
	return nil
}

func icmpType(_ *Schema, value string) error {
	if value != "" && !ICMPTypes[value] && !ICMPv6Types[value] {
		return fail("invalid icmp-type value '%s'", value)
	}
	return nil
}

func conntrackHelpers(_ *Schema, value string) error {
	items, err := commaList(value)
	if err != nil {
		return err
	}
	for _, item := range items {
		switch item {
		case "amanda", "ftp", "irc", "netbios-ns", "pptp", "sane", "sip", "snmp", "tftp":
		default:
			if strings.HasSuffix(item, "\n") {
				return formatError("unknown helper " + item)
			}
			// Proxmox forgot the newline, so Perl says where it died.
			return fail("unknown helper %s at /usr/share/perl5/PVE/Firewall.pm line 1167.", item)
		}
	}
	return nil
}

func ipOrCIDR(_ *Schema, value string) error {
	if !ipCIDRRE.match(value) {
		return fail("value does not look like a valid IP address or CIDR network")
	}
	value = strings.TrimSuffix(value, "\n")
	ip, length, _ := strings.Cut(value, "/")
	if length == "0" { // not taken for a length, so host bits aren't cut off either
		if _, problem := ipRange(value); problem != "" {
			return fail("%s", problem)
		}
	}
	bits := 32
	if strings.Contains(ip, ":") {
		bits = 128
	}
	if numeric(length) > float64(bits) {
		return fail("Prefix length %s is longer than IP address (%d)", length, bits)
	}
	return nil
}
