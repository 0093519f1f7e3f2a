package spec

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/spec/suggest"
)

// Firewall is the firewall of a machine.
type Firewall struct {
	Enabled              *bool  // nil: it is
	PolicyIn             string // empty: DROP
	PolicyOut            string // empty: ACCEPT
	LogIn                string // empty: nothing is logged
	LogOut               string
	DHCP                 *bool // nil: Proxmox' default, allowed
	NDP                  *bool // nil: the same
	RouterAdvertisements bool
	MACFilter            *bool // nil: Proxmox' default, on
	IPFilter             bool
	Rules                []FirewallRule
}

// FirewallRule is a rule, or a reference to a security group of the cluster.
type FirewallRule struct {
	SecurityGroup string
	Type          string // in or out
	Action        string
	Network       string // by its name, or a slot; empty: all
	Macro         string
	Protocol      string
	Port          string
	SourcePort    string
	Source        string
	Destination   string
	ICMPType      string
	Log           string
	Enabled       *bool // nil: it is
	Comment       string
}

var (
	firewallActions = []string{"ACCEPT", "DROP", "REJECT"}
	firewallLevels  = []string{"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug", "nolog"}
	groupName       = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]+$`)
)

// maxRules is how many rules a machine may have: there is a request for each.
const maxRules = 128

// walled reports whether the interfaces of the machine are under the firewall unless they say
// otherwise.
func (b *build) walled() bool {
	f := b.m.Firewall
	return f != nil && (f.Enabled == nil || *f.Enabled)
}

// firewall translates the firewall of the machine.
func (b *build) firewall(nics []nic) *model.Firewall {
	f := b.m.Firewall
	if f == nil {
		return nil
	}
	const at = "firewall."
	b.checkWord(at+"policyIn", f.PolicyIn, firewallActions...)
	b.checkWord(at+"policyOut", f.PolicyOut, firewallActions...)
	b.checkWord(at+"logIn", f.LogIn, firewallLevels...)
	b.checkWord(at+"logOut", f.LogOut, firewallLevels...)
	flag := func(is bool) string { return map[bool]string{true: "1", false: "0"}[is] }
	orOn := func(said *bool) string { return flag(said == nil || *said) }
	out := &model.Firewall{Options: model.FirewallOptions(map[string]string{
		"enable": orOn(f.Enabled), "policy_in": f.PolicyIn, "policy_out": f.PolicyOut, "log_level_in": f.LogIn, "log_level_out": f.LogOut,
		"dhcp": orOn(f.DHCP), "ndp": orOn(f.NDP), "radv": flag(f.RouterAdvertisements), "macfilter": orOn(f.MACFilter), "ipfilter": flag(f.IPFilter),
	})}
	if f.IPFilter {
		b.tell(at+"ipFilter", "the machine can then send from those addresses only that its own IP sets in Proxmox have, ipfilter-net0 and so on; without such a set, only from the link-local address of IPv6")
	}
	if len(f.Rules) > maxRules {
		b.fail(at+"rules", "a machine has at most %d rules; a security group of the cluster can hold more", maxRules)
		return out
	}
	for i, r := range f.Rules {
		out.Rules = append(out.Rules, b.rule(fmt.Sprintf("%srules[%d]", at, i), r, nics))
	}
	return out
}

// rule translates one rule.
func (b *build) rule(field string, r FirewallRule, nics []nic) model.FirewallRule {
	out := model.FirewallRule{
		Type: r.Type, Action: r.Action, Disabled: r.Enabled != nil && !*r.Enabled, Macro: r.Macro, Protocol: r.Protocol, Source: r.Source, Dest: r.Destination,
		SPort: r.SourcePort, DPort: r.Port, ICMPType: r.ICMPType, Interface: b.ruleNIC(field, r.Network, nics), Log: r.Log, Comment: strings.TrimSpace(r.Comment),
	}
	if out.Log == "nolog" {
		out.Log = ""
	}
	if strings.ContainsFunc(out.Comment, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		b.fail(field+".comment", "has line breaks or other control characters")
	}
	if out.Comment == "0" {
		out.Comment = "" // as Proxmox has it
	}
	if r.SecurityGroup != "" {
		return b.groupRule(field, r, out)
	}
	for _, must := range []struct{ name, value string }{{"type", r.Type}, {"action", r.Action}} {
		if must.value == "" {
			b.fail(field+"."+must.name, "is missing")
		}
	}
	b.checkWord(field+".type", r.Type, "in", "out")
	b.checkWord(field+".action", r.Action, firewallActions...)
	b.checkWord(field+".log", r.Log, firewallLevels...)
	b.ruleService(field, r)
	b.ruleAddresses(field, r)
	return out
}

// groupRule is a rule that stands for those of a security group. Their names are kept in lower case.
func (b *build) groupRule(field string, r FirewallRule, out model.FirewallRule) model.FirewallRule {
	if !groupName.MatchString(r.SecurityGroup) {
		b.fail(field+".securityGroup", "want the name of a security group, have %q", suggest.Shortened(r.SecurityGroup))
	}
	if r.Type+r.Action+r.Macro+r.Protocol+r.Port+r.SourcePort+r.Source+r.Destination+r.ICMPType+r.Log != "" {
		b.fail(field+".securityGroup", "has rules of its own: beside it there are %s, %s and %s", called("network"), called("enabled"), called("comment"))
	}
	return model.FirewallRule{Type: model.FirewallGroup, Action: strings.ToLower(r.SecurityGroup), Disabled: out.Disabled, Interface: out.Interface, Comment: out.Comment}
}

// ruleNIC is the slot of the interface that a rule is about.
func (b *build) ruleNIC(field, network string, nics []nic) string {
	if network == "" {
		return ""
	}
	i := slices.IndexFunc(nics, func(n nic) bool { return n.Name == network })
	if i < 0 {
		i = slices.IndexFunc(nics, func(n nic) bool { return n.Slot == network })
	}
	switch {
	case i >= 0:
		return nics[i].Slot
	case len(nics) == 0 && nicSlot.MatchString(network):
		return network // one of the template's
	case len(nics) == 0:
		b.fail(field+".network", "the machine has the interfaces of its template: name a slot such as net0, or list the interfaces in %s", inMachine("networks"))
	default:
		var names []string
		for _, n := range nics {
			names = append(names, n.Name)
		}
		b.fail(field+".network", "no interface is called %s; there are %s", suggest.Shortened(network), strings.Join(names, ", "))
	}
	return ""
}

// Protocols that have ports, and those that have ICMP types.
var (
	portProtocols = []string{"tcp", "udp", "udplite", "dccp", "sctp", "6", "17", "136", "33", "132"}
	icmpProtocols = []string{"icmp", "icmpv6", "ipv6-icmp"}
)

// ruleService checks protocol and ports.
func (b *build) ruleService(field string, r FirewallRule) {
	if r.Macro != "" {
		if r.Protocol+r.Port+r.SourcePort+r.ICMPType != "" {
			b.fail(field+".macro", "stands for protocol and ports: leave one of them out")
		}
		b.ruleParam(field+".macro", "macro", r.Macro)
		return
	}
	b.ruleParam(field+".protocol", "proto", r.Protocol)
	for _, ports := range []struct{ name, value string }{{"port", r.Port}, {"sourcePort", r.SourcePort}} {
		switch {
		case ports.value == "":
		case r.Protocol == "":
			b.fail(field+"."+ports.name, "needs %s: tcp or udp", called("protocol"))
		case !slices.Contains(portProtocols, r.Protocol):
			b.fail(field+"."+ports.name, "protocol %s has no ports", suggest.Shortened(r.Protocol))
		case ports.value == "0":
			b.fail(field+"."+ports.name, "want a port from 1 to 65535, have 0")
		default:
			b.ruleParam(field+"."+ports.name, "sport", ports.value) // names of ICMP types are none
		}
	}
	switch {
	case r.ICMPType == "":
	case !slices.Contains(icmpProtocols, r.Protocol):
		b.fail(field+".icmpType", "needs %s: icmp or icmpv6", called("protocol"))
	default:
		b.ruleParam(field+".icmpType", "icmp-type", r.ICMPType)
	}
}

// ruleAddresses checks source and destination.
func (b *build) ruleAddresses(field string, r FirewallRule) {
	good := b.ruleParam(field+".source", "source", r.Source)
	good = b.ruleParam(field+".destination", "dest", r.Destination) && good
	from, to := familyOf(r.Source), familyOf(r.Destination)
	if good && from != "" && to != "" && from != to {
		b.fail(field+".destination", "is %s, and the source is %s: make two rules of it", to, from)
	}
}

// familyOf is the family of a list of addresses; empty: a name says it, or nothing does.
func familyOf(addresses string) model.Family {
	first, _, _ := strings.Cut(addresses, ",")
	first, _, _ = strings.Cut(first, "-")
	first, _, _ = strings.Cut(first, "/")
	a, err := netip.ParseAddr(strings.TrimSpace(first))
	switch {
	case err != nil:
		return ""
	case a.Is4():
		return model.IPv4
	}
	return model.IPv6
}

// ruleCalls make a rule, in the schemas of the releases of Proxmox.
var ruleCalls = sync.OnceValues(func() (calls []*schema.Endpoint, err error) {
	return endpoints("POST", "/nodes/{node}/qemu/{vmid}/firewall/rules")
})

// ruleParam checks a setting of a rule against the schema.
func (b *build) ruleParam(field, key, value string) bool {
	if value == "" {
		return true
	}
	calls, err := ruleCalls()
	if err == nil {
		err = checkParam(calls, key, value)
	}
	if err != nil {
		b.fail(field, "%v", err)
	}
	return err == nil
}
