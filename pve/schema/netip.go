package schema

import (
	"fmt"
	"math/big"
	"net/netip"
	"strings"
)

// ipRange reads an address, a network or a range as Perl's Net::IP does, which
// the firewall uses. It gives the IP version, or what Net::IP says is wrong.
func ipRange(text string) (version int, problem string) {
	if len(text) > 2 && strings.IndexFunc(text, isSpace) < 0 {
		if ip, length, ok := strings.Cut(text[1:], "/"); ok && length != "" {
			return ipNetwork(text[:1]+ip, length)
		}
	}
	if first, last, ok := strings.Cut(text, "-"); ok && strings.TrimSpace(first) != "" && last != "" {
		return ipSpan(strings.TrimSpace(first), strings.TrimSpace(last))
	}
	if ip, count, ok := strings.Cut(text, " + "); ok && isInteger(strings.TrimSpace(count)) {
		text = strings.TrimSpace(ip)
	}
	_, version, problem = ipAddress(text)
	return version, problem
}

// ipNetwork lets anything but a number pass as prefix length, as Net::IP does.
func ipNetwork(ip, prefix string) (version int, problem string) {
	addr, version, problem := ipAddress(ip)
	if problem != "" || !isInteger(prefix) {
		return version, problem
	}
	bits := addr.BitLen()
	n := numeric(prefix)
	if n > float64(bits) {
		return 0, fmt.Sprintf("Prefix length %s is longer than IP address (%d)", prefix, bits)
	}
	if addr != netip.PrefixFrom(addr, int(n)).Masked().Addr() {
		binary := fmt.Sprintf("%0*s", bits, new(big.Int).SetBytes(addr.AsSlice()).Text(2))
		return 0, fmt.Sprintf("Invalid prefix %s/%s", binary, prefix)
	}
	return version, ""
}

func ipSpan(first, last string) (version int, problem string) {
	begin, version, problem := ipAddress(first)
	if problem != "" {
		return 0, problem
	}
	if version == 6 && !strings.Contains(last, ":") {
		// Net::IP expands the end as a group of the address before it looks at it.
		if end, _, problem := ipAddress(last); problem == "" {
			quads := end.As4()
			return 0, fmt.Sprintf("Invalid number of octets %x:%x", quads[:2], quads[2:])
		}
	}
	end, endVersion, problem := ipAddress(last)
	switch {
	case version == 4 && (problem != "" || endVersion == 6):
		return 0, "Not a valid IPv4 address " + last
	case problem != "":
		return 0, problem
	case end.Less(begin):
		return 0, fmt.Sprintf("Begin address is greater than End address %s - %s", begin.StringExpanded(), end.StringExpanded())
	}
	return version, ""
}

func ipAddress(text string) (ip netip.Addr, version int, problem string) {
	if strings.Contains(text, ":") {
		problem = ipv6Problem(text)
		if problem == "" {
			var err error
			if ip, err = netip.ParseAddr(text); err != nil || ip.Zone() != "" {
				problem = "Bad IP address " + text
			}
		}
		return ip, 6, problem
	}
	if problem = ipv4Problem(text); problem != "" {
		return ip, 4, problem
	}
	var quads [4]byte
	for i, quad := range strings.Split(strings.TrimSuffix(text, "\n"), ".") {
		if len(quad) > 3 {
			return ip, 4, "Not a valid IPv4 address " + text
		}
		quads[i] = byte(numeric(quad))
	}
	return netip.AddrFrom4(quads), 4, ""
}

// ipv4Problem lets short addresses pass: 10.1 is 10.1.0.0.
func ipv4Problem(ip string) string {
	digits := strings.TrimSuffix(ip, "\n")
	quads := strings.Split(digits, ".")
	switch {
	case digits == "" || strings.Trim(digits, "0123456789.") != "":
		return "Invalid chars in IP " + ip
	case strings.HasPrefix(ip, "."):
		return "Invalid IP " + ip + " - starts with a dot"
	case strings.HasSuffix(ip, "."):
		return "Invalid IP " + ip + " - ends with a dot"
	case len(quads) > 4:
		return "Invalid IP address " + ip
	case strings.Contains(ip, ".."):
		return "Empty quad in IP address " + ip
	}
	for _, quad := range quads {
		if numeric(quad) > 255 {
			return "Invalid quad in IP address " + ip + " - " + quad
		}
	}
	return ""
}

func ipv6Problem(ip string) string {
	groups := strings.Split(strings.TrimRight(ip, ":"), ":")
	colons := strings.Count(ip, ":")
	if colons > 7 {
		return "Invalid IP address " + ip
	}
	for i, group := range groups {
		switch {
		case len(group) <= 4 && strings.Trim(group, "0123456789abcdefABCDEF") == "":
		case i == colons && ipv4Problem(group) == "":
			colons++ // the last group is an IPv4 address, which counts twice
		default:
			return "Invalid IP address " + ip
		}
	}
	double := strings.Contains(ip, "::")
	switch {
	case strings.HasPrefix(ip, ":") && !strings.HasPrefix(ip, "::"):
		return "Invalid address " + ip + " (starts with :)"
	case strings.HasSuffix(ip, ":") && !strings.HasSuffix(ip, "::"):
		return "Invalid address " + ip + " (ends with :)"
	case strings.Count(ip, "::") > 1 || strings.Contains(ip, ":::"):
		return "Invalid address " + ip + " (More than one :: pattern)"
	case colons != 7 && !double:
		return "Invalid number of octets " + ip
	}
	return ""
}
