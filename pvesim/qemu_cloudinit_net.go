package pvesim

import (
	"encoding/base64"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// card is a network card with what cloud-init is told about it.
type card struct {
	id  string // "0" of net0
	mac string
	mtu string
	ip  *schema.Props
}

// cards lists those that cloud-init is told about, in the order of their
// names.
func (ci *cloudInit) cards() []card {
	var keys []string
	for key := range ci.conf {
		if family(key, "net") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var list []card
	for _, key := range keys {
		id := strings.TrimPrefix(key, "net")
		config := ci.conf["ipconfig"+id]
		if !truthy(config) {
			continue
		}
		c := card{id: id, ip: ci.parseIPConfig(config)}
		if props, ok := ci.parseNet(ci.vm.ID, key, ci.conf[key]); ok {
			c.mac, c.mtu = strings.ToLower(props.Get("macaddr")), props.Get("mtu")
		}
		list = append(list, c)
	}
	return list
}

// splitIPv4 turns 10.0.0.5/24 into an address and a mask in four numbers.
func splitIPv4(cidr string) (addr, mask string) {
	addr, bits, _ := strings.Cut(cidr, "/")
	n, _ := strconv.Atoi(bits)
	m := net.CIDRMask(n, 32)
	if m == nil {
		return addr, ""
	}
	return addr, net.IP(m).String()
}

// networkV1 is version 1 of cloud-init's own network configuration.
func (ci *cloudInit) networkV1() (string, error) {
	var b strings.Builder
	b.WriteString("version: 1\nconfig:\n")
	for _, c := range ci.cards() {
		if c.mac == "" {
			return "", die("network interface 'net%s' has no mac address", c.id)
		}
		fmt.Fprintf(&b, "    - type: physical\n      name: eth%s\n      mac_address: '%s'\n      subnets:\n", c.id, c.mac)
		switch ip := c.ip.Get("ip"); {
		case !c.ip.Has("ip"):
		case ip == "dhcp":
			b.WriteString("      - type: dhcp4\n")
		default:
			addr, mask := splitIPv4(ip)
			fmt.Fprintf(&b, "      - type: static\n        address: '%s'\n        netmask: '%s'\n", addr, mask)
			if c.ip.Has("gw") {
				fmt.Fprintf(&b, "        gateway: '%s'\n", c.ip.Get("gw"))
			}
		}
		switch ip := c.ip.Get("ip6"); {
		case !c.ip.Has("ip6"):
		case ip == "dhcp":
			b.WriteString("      - type: dhcp6\n")
		case ip == "auto":
			b.WriteString("      - type: ipv6_slaac\n")
		default:
			fmt.Fprintf(&b, "      - type: static6\n        address: '%s'\n", ip)
			if c.ip.Has("gw6") {
				fmt.Fprintf(&b, "        gateway: '%s'\n", c.ip.Get("gw6"))
			}
		}
	}
	search, servers := ci.dns()
	b.WriteString("    - type: nameserver\n")
	yamlList(&b, "      address:\n", servers)
	yamlList(&b, "      search:\n", search)
	return b.String(), nil
}

func yamlList(b *strings.Builder, head string, items []string) {
	if len(items) == 0 {
		return
	}
	b.WriteString(head)
	for _, item := range items {
		fmt.Fprintf(b, "      - '%s'\n", item)
	}
}

// networkENI is the configuration as Debian's /etc/network/interfaces.
func (ci *cloudInit) networkENI() string {
	var b strings.Builder
	b.WriteString("auto lo\niface lo inet loopback\n\n")
	search, servers := ci.dns()
	if len(servers) > 0 {
		fmt.Fprintf(&b, "        dns_nameservers %s\n", strings.Join(servers, " "))
	}
	if len(search) > 0 {
		fmt.Fprintf(&b, "        dns_search %s\n", strings.Join(search, " "))
	}
	for _, c := range ci.cards() {
		c.writeENI(&b, "")
	}
	return b.String()
}

// networkCloudbase is the same for Windows, where each card has its own
// name servers.
func (ci *cloudInit) networkCloudbase() string {
	var b strings.Builder
	_, servers := ci.dns()
	dns := ""
	if len(servers) > 0 {
		dns = fmt.Sprintf("        dns-nameservers %s\n", strings.Join(servers, " "))
	}
	for _, c := range ci.cards() {
		c.writeENI(&b, dns)
	}
	return b.String()
}

func (c card) writeENI(b *strings.Builder, dns string) {
	static := func(family, addr, mask, gw string) {
		fmt.Fprintf(b, "iface eth%s %s static\n        address %s\n        netmask %s\n", c.id, family, addr, mask)
		if gw != "" {
			fmt.Fprintf(b, "        gateway %s\n", gw)
		}
		b.WriteString(dns)
	}
	fmt.Fprintf(b, "auto eth%s\n", c.id)
	switch ip := c.ip.Get("ip"); ip {
	case "":
	case "dhcp":
		fmt.Fprintf(b, "iface eth%s inet dhcp\n", c.id)
	default:
		addr, mask := splitIPv4(ip)
		static("inet", addr, mask, c.ip.Get("gw"))
	}
	switch ip := c.ip.Get("ip6"); ip {
	case "":
	case "dhcp", "auto":
		fmt.Fprintf(b, "iface eth%s inet6 %s\n", c.id, ip)
	default:
		addr, bits, _ := strings.Cut(ip, "/")
		static("inet6", addr, bits, c.ip.Get("gw6"))
	}
}

// context is what OpenNebula's tools read.
func (ci *cloudInit) context() string {
	var b strings.Builder
	user := ci.conf["ciuser"]
	if !truthy(user) {
		user = "root"
	}
	fmt.Fprintf(&b, "USERNAME=%s\n", user)
	if password, ok := ci.conf["cipassword"]; ok {
		fmt.Fprintf(&b, "CRYPTED_PASSWORD_BASE64=%s\n\n", base64.StdEncoding.EncodeToString([]byte(password)))
	}
	if keys, ok := ci.sshKeys(); ok {
		fmt.Fprintf(&b, "SSH_PUBLIC_KEY=\"%s\"\n", strings.Join(keys, "\n"))
	}
	host, _ := ci.hostNames()
	fmt.Fprintf(&b, "SET_HOSTNAME=%s\n", host)
	search, servers := ci.dns()
	if len(servers) > 0 {
		fmt.Fprintf(&b, "DNS=\"%s\"\n", strings.Join(servers, " "))
	}
	if len(search) > 0 {
		fmt.Fprintf(&b, "SEARCH_DOMAIN=\"%s\"\n", strings.Join(search, " "))
	}
	cards := ci.cards()
	for _, c := range cards {
		c.writeContext(&b)
	}
	if len(cards) > 0 {
		b.WriteString("NETWORK=YES\n")
	}
	return b.String()
}

func (c card) writeContext(b *strings.Builder) {
	eth := "ETH" + c.id
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(b, "%s_%s=%s\n", eth, key, value)
		}
	}
	if ip := c.ip.Get("ip"); ip == "dhcp" {
		line("DHCP", "YES")
	} else if ip != "" {
		addr, mask := splitIPv4(ip)
		line("IP", addr)
		line("MASK", mask)
		line("MAC", c.mac)
		line("GATEWAY", c.ip.Get("gw"))
	}
	if c.ip.Has("ip") {
		line("MTU", c.mtu)
	}
	switch ip := c.ip.Get("ip6"); ip {
	case "":
		return
	case "dhcp":
		line("DHCP6", "YES")
	case "auto":
		line("AUTO6", "YES")
	default:
		addr, bits, _ := strings.Cut(ip, "/")
		line("IP6", addr)
		line("MASK6", bits)
		line("MAC6", c.mac)
		line("GATEWAY6", c.ip.Get("gw6"))
	}
	line("MTU", c.mtu)
}
