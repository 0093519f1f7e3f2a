package pvesim

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Firewall is what the firewall was told: a file for the cluster, for each
// node and each guest, and security groups.
type Firewall struct {
	Files  map[string]*FirewallFile  `json:"files"`  // by scope: "cluster", "node/pve1", "vm/100"
	Groups map[string]*FirewallGroup `json:"groups"` // security groups, names in lower case
}

// FirewallFile is one config file of the firewall.
type FirewallFile struct {
	Options map[string]string         `json:"options,omitempty"`
	Rules   []FirewallRule            `json:"rules,omitempty"`
	Aliases map[string]*FirewallAlias `json:"aliases,omitempty"` // by name in lower case
	IPSets  map[string]*IPSet         `json:"ipsets,omitempty"`  // names in lower case
}

// FirewallRule is a rule's settings as they are stored.
type FirewallRule map[string]string

// FirewallGroup is a security group.
type FirewallGroup struct {
	Comment string         `json:"comment,omitempty"`
	Rules   []FirewallRule `json:"rules,omitempty"`
}

// FirewallAlias is a name for an address or network.
type FirewallAlias struct {
	Name    string `json:"name"`
	CIDR    string `json:"cidr"`
	Comment string `json:"comment,omitempty"`
}

// IPSet is a set of addresses and networks.
type IPSet struct {
	Comment string       `json:"comment,omitempty"`
	Entries []IPSetEntry `json:"entries,omitempty"`
}

// IPSetEntry is an address, a network or an alias in a set.
type IPSetEntry struct {
	CIDR    string `json:"cidr"`
	NoMatch bool   `json:"nomatch,omitempty"`
	Comment string `json:"comment,omitempty"`
}

func newFirewall() Firewall {
	return Firewall{Files: map[string]*FirewallFile{}, Groups: map[string]*FirewallGroup{}}
}

// clusterScope is the scope of the cluster's own file.
const clusterScope = "cluster"

func vmScope(vmid int) string { return "vm/" + itoa(vmid) }

// file gives the file of a scope; one that isn't there reads as empty.
func (f *Firewall) file(scope string) *FirewallFile {
	if file := f.Files[scope]; file != nil {
		return file
	}
	return &FirewallFile{}
}

// edit gives the file of a scope for a change.
func (f *Firewall) edit(scope string) *FirewallFile {
	file := f.Files[scope]
	if file == nil {
		file = &FirewallFile{}
		f.Files[scope] = file
	}
	if file.Options == nil {
		file.Options = map[string]string{}
	}
	if file.Aliases == nil {
		file.Aliases = map[string]*FirewallAlias{}
	}
	if file.IPSets == nil {
		file.IPSets = map[string]*IPSet{}
	}
	return file
}

// copyFirewall gives a clone the firewall of its source.
func (s *Sim) copyFirewall(from, to int) {
	src := s.state.Firewall.Files[vmScope(from)]
	if src == nil {
		return
	}
	dst := &FirewallFile{}
	if b, err := json.Marshal(src); err == nil && json.Unmarshal(b, dst) == nil {
		s.state.Firewall.Files[vmScope(to)] = dst
	}
}

// dropFirewall removes the firewall of a guest.
func (s *Sim) dropFirewall(vmid int) { delete(s.state.Firewall.Files, vmScope(vmid)) }

// fileComment is a comment as it is read back from the end of a line.
func fileComment(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return strings.Trim(text, " \t\r\v\f")
}

// listDigest is the checksum of a list, which is shown with each entry.
func listDigest[V any](list []V) string {
	if len(list) == 0 {
		return emptyDigest
	}
	return sectionDigest(map[string]any{"list": list})
}

// renameGroup makes the rules that name a security group name another.
func (f *Firewall) renameGroup(from, to string) {
	for _, file := range f.Files {
		for _, rule := range file.Rules {
			if rule["type"] == "group" && rule["action"] == from {
				rule["action"] = to
			}
		}
	}
}

// sortedEntries are the entries of a set in the order of the file.
func (set *IPSet) sortedEntries() []IPSetEntry {
	return slices.SortedFunc(slices.Values(set.Entries), func(a, b IPSetEntry) int { return strings.Compare(a.CIDR, b.CIDR) })
}

// sortedAliases are the aliases of a file in their order.
func (f *FirewallFile) sortedAliases() []*FirewallAlias {
	var list []*FirewallAlias
	for _, name := range slices.Sorted(maps.Keys(f.Aliases)) {
		list = append(list, f.Aliases[name])
	}
	return list
}
