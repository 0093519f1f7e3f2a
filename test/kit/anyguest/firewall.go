package anyguest

import (
	"maps"
	"slices"

	"pgregory.net/rapid"
)

// Firewall draws the firewall of a guest, as Proxmox keeps it: options and rules.
func Firewall(t *rapid.T) (options map[string]string, rules []map[string]string) {
	options = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(firewallOptions)) {
		if v := rapid.SampledFrom(firewallOptions[key]).Draw(t, key); v != "" {
			options[key] = v
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "rules") {
		rules = append(rules, rapid.SampledFrom(someRules).Draw(t, "rule"))
	}
	return options, rules
}

// firewallOptions are the options of firewalls; an empty one isn't set.
var firewallOptions = map[string][]string{
	"enable": {"", "0", "1"}, "policy_in": {"", "ACCEPT", "DROP"}, "policy_out": {"", "ACCEPT", "REJECT"}, "dhcp": {"", "0", "1"},
	"ndp": {"", "0", "1"}, "radv": {"", "0", "1"}, "macfilter": {"", "0", "1"}, "ipfilter": {"", "0", "1"}, "log_level_in": {"", "nolog", "info"},
}

// someRules are rules that people make, some of which manifests can't say.
var someRules = []map[string]string{
	{"type": "in", "action": "ACCEPT", "enable": "1", "macro": "SSH", "source": "10.0.0.0/8", "comment": "let me in"},
	{"type": "out", "action": "DROP", "enable": "0", "iface": "net0", "proto": "tcp", "dport": "80,443,8000:8010", "sport": "1024:65535", "log": "info"},
	{"type": "in", "action": "REJECT", "enable": "1", "proto": "icmp", "icmp-type": "echo-request", "log": "nolog"},
	{"type": "in", "action": "ACCEPT", "enable": "1", "macro": "SSH", "proto": "tcp", "dport": "22"},
	{"type": "in", "action": "ACCEPT", "enable": "1", "source": "dc/office", "dest": "+blocked"},
	{"type": "in", "action": "ACCEPT", "enable": "1", "iface": "net7", "source": "2001:db8::/32"},
	{"type": "group", "action": "web", "enable": "1", "iface": "net0"},
}
