package pvesim

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// ruleCheck is what a look at a rule found: all that is wrong with it, or for
// a new rule the first of that; its IP version; its macro as Proxmox spells
// it.
type ruleCheck struct {
	fields  schema.Errors
	err     error
	version int
	macro   string
}

func (k *ruleCheck) add(field, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if k.err == nil {
		k.err = badParam(field, "%s", text)
	}
	if k.fields == nil {
		k.fields = schema.Errors{}
	}
	if k.fields[field] == "" {
		k.fields[field] = text
	}
}

// sees notes an IP version; false if the rule has another already.
func (k *ruleCheck) sees(version int) bool {
	if version == 0 {
		return true
	}
	if k.version != 0 && k.version != version {
		return false
	}
	k.version = version
	return true
}

const mixedVersions = "detected mixed ipv4/ipv6 addresses in rule"

// ruleKinds are the types that rules may have, by where they stand.
var ruleKinds = map[string][]string{
	"vm": {"in", "out", "group"}, "ct": {"in", "out", "group"}, "group": {"in", "out", "forward"},
	"cluster": {"in", "out", "forward", "group"}, "host": {"in", "out", "forward", "group"},
}

var (
	guestCard   = regexp.MustCompile(`^net\d+$`)
	fwName      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]+$`)
	fwReference = regexp.MustCompile(`^(guest/|dc/)?([A-Za-z][A-Za-z0-9_-]+)$`)
	setName     = regexp.MustCompile(`^\+(?:guest/|dc/|sdn/)?([A-Za-z][A-Za-z0-9_-]+)$`)
	withPorts   = map[string]bool{"udp": true, "17": true, "udplite": true, "136": true, "tcp": true, "6": true, "dccp": true, "33": true, "sctp": true, "132": true}
)

func isICMP(proto string) bool { return proto == "icmp" || proto == "icmpv6" || proto == "ipv6-icmp" }

// verifyRule checks a rule in the order in which Proxmox does.
func (s *Sim) verifyRule(rule FirewallRule, scope firewallScope) *ruleCheck {
	k := &ruleCheck{}
	k.verifyType(rule, scope.env)
	if iface := rule["iface"]; iface != "" {
		if scope.env == "group" {
			k.add("type", "parameter -i not allowed for this rule type")
		}
		if (scope.env == "vm" || scope.env == "ct") && !guestCard.MatchString(iface) {
			k.add("iface", `value does not match the regex pattern 'net\d+'`)
		}
	}
	if name := rule["macro"]; name != "" {
		if k.macro = macros().spelling[strings.ToLower(name)]; k.macro == "" {
			k.add("macro", "unknown macro '%s'", name)
		}
	}
	s.verifyPorts(k, rule)
	for _, field := range []string{"source", "dest"} {
		s.verifyAddress(k, rule, field, scope)
	}
	if k.macro != "" && len(k.fields) == 0 {
		k.applyMacro(rule)
	}
	return k
}

func (k *ruleCheck) verifyType(rule FirewallRule, env string) {
	typ, action := rule["type"], rule["action"]
	if typ == "" {
		k.add("type", "missing property")
	}
	if action == "" {
		k.add("action", "missing property")
	}
	if typ == "" {
		return
	}
	if !slices.Contains(ruleKinds[env], typ) {
		k.add("type", "invalid rule type '%s' for rule_env '%s'", typ, env)
	}
	switch typ {
	case "in", "out", "forward":
		if typ == "forward" && action == "REJECT" {
			k.add("action", "cannot define REJECT rules on forward chain")
		}
		if action != "" && action != "ACCEPT" && action != "DROP" && action != "REJECT" {
			k.add("action", "unknown action '%s'", action)
		}
	case "group":
		if env == "group" {
			k.add("type", "security groups not allowed")
		}
		if action != "" && !fwName.MatchString(action) {
			k.add("action", "invalid characters in security group name")
		}
	default:
		k.add("type", "unknown rule type '%s'", typ)
	}
}

// verifyPorts looks at protocol, ports and ICMP type.
func (s *Sim) verifyPorts(k *ruleCheck, rule FirewallRule) {
	proto, icmp := rule["proto"], isICMP(rule["proto"])
	switch proto {
	case "icmp":
		k.sees(4)
	case "icmpv6", "ipv6-icmp":
		k.sees(6)
	}
	if ports := rule["dport"]; ports != "" {
		format := "pve-fw-sport-spec"
		if icmp {
			format = "pve-fw-dport-spec"
		}
		if err := s.schema.CheckFormat(format, ports); err != nil {
			k.add("dport", "%s", strings.TrimSuffix(err.Error(), "\n"))
		}
		if proto == "" {
			k.add("proto", "missing property - 'dport' requires this property")
		}
		if !withPorts[proto] && !icmp {
			k.add("dport", "protocol '%s' does not support ports", proto)
		}
	}
	if typ := rule["icmp-type"]; typ != "" {
		if !icmp {
			k.add("proto", "missing property - 'icmp-type' requires this property")
		}
		if rule["dport"] != "" {
			k.add("icmp-type", "'icmp-type' cannot be specified together with 'dport'")
		}
		if proto == "icmp" && !schema.ICMPTypes[typ] || icmp && proto != "icmp" && !schema.ICMPv6Types[typ] {
			k.add("icmp-type", "invalid icmp-type '%s' for proto '%s'", typ, proto)
		}
	}
	if ports := rule["sport"]; ports != "" {
		if err := s.schema.CheckFormat("pve-fw-sport-spec", ports); err != nil {
			k.add("sport", "%s", strings.TrimSuffix(err.Error(), "\n"))
		}
		if proto == "" {
			k.add("proto", "missing property - 'sport' requires this property")
		}
		if !withPorts[proto] {
			k.add("sport", "protocol '%s' does not support ports", proto)
		}
	}
}

// verifyAddress looks at source or destination: addresses, an alias, or a
// set.
func (s *Sim) verifyAddress(k *ruleCheck, rule FirewallRule, field string, scope firewallScope) {
	value := rule[field]
	if value == "" {
		return
	}
	if err := s.schema.CheckFormat("pve-fw-addr-spec", value); err != nil {
		k.add(field, "%s", strings.TrimSuffix(err.Error(), "\n"))
	}
	cluster, own := s.state.Firewall.file(clusterScope), s.state.Firewall.file(scope.name)
	switch m := fwReference.FindStringSubmatch(value); {
	case strings.HasPrefix(value, "+"):
		name := setName.FindStringSubmatch(value)
		if name == nil {
			k.add(field, "invalid ipset name '%s'", value)
		} else if cluster.IPSets[name[1]] == nil && own.IPSets[name[1]] == nil {
			k.add(field, "no such ipset '%s'", name[1])
		}
	case m != nil:
		alias := s.findAlias(m[1], m[2], scope.name)
		lower := strings.ToLower(m[2])
		if cluster.Aliases[lower] == nil && own.Aliases[lower] == nil {
			k.add(field, "no such alias '%s'", value)
		}
		if alias != nil && !k.sees(addressVersion(alias.CIDR)) {
			if k.err == nil {
				k.err = die(mixedVersions)
			}
			k.add(field, mixedVersions)
		}
	default:
		first, _, _ := strings.Cut(value, ",")
		if !k.sees(addressVersion(first)) {
			k.add(field, mixedVersions)
		}
	}
}

// findAlias resolves an alias; a scope before its name ("dc/", "guest/")
// says where it is.
func (s *Sim) findAlias(where, name, scope string) *FirewallAlias {
	lower := strings.ToLower(name)
	if where != "dc/" {
		if a := s.state.Firewall.file(scope).Aliases[lower]; a != nil {
			return a
		}
	}
	if where == "guest/" && scope != clusterScope {
		return nil
	}
	return s.state.Firewall.file(clusterScope).Aliases[lower]
}

// addressVersion is the IP version of an address, which may be short of its
// last numbers ("10.1").
func addressVersion(text string) int {
	if strings.Contains(text, ":") {
		return 6
	}
	return 4
}
