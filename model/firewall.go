package model

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Firewall is the whole firewall of a guest: a rule that isn't wanted is removed.
type Firewall struct {
	// Options as Proxmox names them, without those that have Proxmox' default.
	Options map[string]string `json:"options,omitempty"`
	Rules   []FirewallRule    `json:"rules,omitempty"` // the first that matches decides
}

// FirewallRule is one rule, or a reference to a security group of the cluster.
type FirewallRule struct {
	Type      string `json:"type"`   // in, out or [FirewallGroup]
	Action    string `json:"action"` // ACCEPT, DROP or REJECT; the name of a group
	Disabled  bool   `json:"disabled,omitempty"`
	Macro     string `json:"macro,omitempty"`
	Protocol  string `json:"protocol,omitempty"`
	Source    string `json:"source,omitempty"`
	Dest      string `json:"dest,omitempty"`
	SPort     string `json:"sport,omitempty"`
	DPort     string `json:"dport,omitempty"`
	ICMPType  string `json:"icmpType,omitempty"`
	Interface string `json:"interface,omitempty"` // "net0"; empty: all
	Log       string `json:"log,omitempty"`
	Comment   string `json:"comment,omitempty"`
}

// FirewallGroup is the type of rules that insert those of a security group.
const FirewallGroup = "group"

// firewallDefaults are what Proxmox does about options that nobody sets. For dhcp, that isn't what
// its schema says.
var firewallDefaults = map[string]string{
	"enable": "0", "dhcp": "1", "ipfilter": "0", "macfilter": "1", "ndp": "1", "radv": "0",
	"policy_in": "DROP", "policy_out": "ACCEPT", "log_level_in": "nolog", "log_level_out": "nolog",
}

// FirewallOption returns the value of an option, or Proxmox' default.
func FirewallOption(options map[string]string, key string) string {
	return cmp.Or(options[key], firewallDefaults[key])
}

// FirewallOptions returns the options without those that have Proxmox' default.
func FirewallOptions(options map[string]string) map[string]string {
	out := maps.Clone(options)
	maps.DeleteFunc(out, func(k, v string) bool { return v == "" || v == firewallDefaults[k] })
	if len(out) == 0 {
		return nil
	}
	return out
}

// Equal compares rules as Proxmox does, for which the case of macros doesn't matter.
func (r FirewallRule) Equal(o FirewallRule) bool {
	same := strings.EqualFold(r.Macro, o.Macro)
	r.Macro, o.Macro = "", ""
	return same && r == o
}

// Settings returns the rule's settings as Proxmox names them, without empty ones.
func (r FirewallRule) Settings() map[string]string {
	all := map[string]string{
		"type": r.Type, "action": r.Action, "macro": r.Macro, "proto": r.Protocol, "source": r.Source, "dest": r.Dest,
		"sport": r.SPort, "dport": r.DPort, "icmp-type": r.ICMPType, "iface": r.Interface, "log": r.Log, "comment": r.Comment,
	}
	maps.DeleteFunc(all, func(_, v string) bool { return v == "" })
	return all
}

// String returns the rule in one line: "in ACCEPT SSH from 10.0.0.0/8".
func (r FirewallRule) String() string {
	parts := []string{r.Type, r.Action}
	add := func(word, value string) {
		if value != "" {
			parts = append(parts, strings.TrimSpace(word+" "+value))
		}
	}
	add("", r.Macro)
	add("", r.Protocol)
	add("port", r.DPort)
	add("type", r.ICMPType)
	add("from", r.Source)
	add("from port", r.SPort)
	add("to", r.Dest)
	add("on", r.Interface)
	add("log", r.Log)
	if r.Comment != "" {
		add("#", Shortened(r.Comment))
	}
	if r.Disabled {
		parts = append(parts, "(disabled)")
	}
	return strings.Join(parts, " ")
}

// Equal reports whether both are the same firewall.
func (f *Firewall) Equal(o *Firewall) bool {
	if f == nil || o == nil {
		return f == o
	}
	return maps.Equal(f.Options, o.Options) && slices.EqualFunc(f.Rules, o.Rules, FirewallRule.Equal)
}

// On reports whether the rules apply to interfaces that are under the firewall.
func (f *Firewall) On() bool { return f != nil && FirewallOption(f.Options, "enable") == "1" }

// SeenFirewall is the firewall of a guest as it was read.
type SeenFirewall struct {
	Firewall
	OptionsDigest, RulesDigest string // empty: we have changed it since
}

// ClusterFirewall has the security groups, macros and sets that rules of guests may
// refer to.
type ClusterFirewall struct {
	Groups map[string]bool // security groups; nil: not known
	Macros map[string]bool // in lower case; nil: not known
	Refs   map[string]bool // aliases and "+set"s, in lower case; nil: not known
}

// RuleEdit is one change of a list of rules.
type RuleEdit struct {
	Verb RuleVerb
	At   int // position of the rule
	To   int // its new position
	Rule FirewallRule
	Drop []string // settings to remove
}

// RuleVerb says how a rule is changed.
type RuleVerb string

// The verbs.
const (
	RuleInsert RuleVerb = "insert" // before all others: Proxmox inserts new rules nowhere else
	RuleMove   RuleVerb = "move"   // from At to To
	RuleEnable RuleVerb = "enable"
	RuleSet    RuleVerb = "set" // it becomes Rule
	RuleRemove RuleVerb = "remove"
)
