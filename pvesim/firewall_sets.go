package pvesim

import (
	"net/netip"
	"slices"
	"strings"
)

// addSetRoutes are the calls about aliases and IP sets.
func addSetRoutes(routes map[string]handler, base string, scope scopeOf) {
	for route, h := range map[string]scoped{
		"GET /aliases":                listAliases,
		"POST /aliases":               createAlias,
		"GET /aliases/{name}":         getAlias,
		"PUT /aliases/{name}":         updateAlias,
		"DELETE /aliases/{name}":      deleteAlias,
		"GET /ipset":                  listIPSets,
		"POST /ipset":                 createIPSet,
		"GET /ipset/{name}":           getIPSet,
		"POST /ipset/{name}":          addToIPSet,
		"DELETE /ipset/{name}":        deleteIPSet,
		"GET /ipset/{name}/{cidr}":    getIPSetEntry,
		"PUT /ipset/{name}/{cidr}":    updateIPSetEntry,
		"DELETE /ipset/{name}/{cidr}": deleteIPSetEntry,
	} {
		method, path, _ := strings.Cut(route, " ")
		routes[method+" "+base+path] = withScope(scope, h)
	}
}

// setEntry is an IP set in lists.
type setEntry struct {
	Name    string `json:"name"`
	Comment string `json:"comment,omitempty"`
	Digest  string `json:"digest"`
}

func (c *call) setEntries(scope firewallScope) (list []setEntry, digest string) {
	list = []setEntry{}
	sets := c.state.Firewall.file(scope.name).IPSets
	for _, name := range sortedKeys(sets) {
		list = append(list, setEntry{Name: name, Comment: sets[name].Comment})
	}
	digest = listDigest(list)
	for i := range list {
		list[i].Digest = digest
	}
	return list, digest
}

func listIPSets(c *call, scope firewallScope) (any, error) {
	list, _ := c.setEntries(scope)
	return list, nil
}

// createIPSet also renames one. Names are kept in lower case.
func createIPSet(c *call, scope firewallScope) (any, error) {
	sets, name, old := c.state.Firewall.edit(scope.name).IPSets, c.params.Str("name"), c.params.Str("rename")
	if old == "" {
		if sets[name] != nil {
			return nil, badParam("name", "IPSet '%s' already exists", name)
		}
		if kept := strings.ToLower(name); sets[kept] == nil {
			sets[kept] = &IPSet{Comment: fileComment(c.params.Str("comment"))}
		}
		return nil, nil
	}
	_, digest := c.setEntries(scope)
	if err := c.checkDigest(digest); err != nil {
		return nil, err
	}
	set := sets[old]
	if set == nil {
		return nil, badParam("name", "IPSet '%s' does not exist", old)
	}
	if sets[name] != nil && name != old {
		return nil, badParam("name", "IPSet '%s' does already exist", name)
	}
	delete(sets, old)
	sets[strings.ToLower(name)] = set
	if c.params.Has("comment") {
		set.Comment = fileComment(c.params.Str("comment"))
	}
	return nil, nil
}

// ipset is the set that the path names.
func (c *call) ipset(scope firewallScope) (*IPSet, error) {
	set := c.state.Firewall.file(scope.name).IPSets[c.params.Str("name")]
	if set == nil {
		return nil, die("no such IPSet '%s'", c.params.Str("name"))
	}
	return set, nil
}

// ipsetEntry is an entry of a set as it is read back.
func (c *call) ipsetEntry(scope firewallScope, e IPSetEntry, digest string) map[string]any {
	m := map[string]any{"cidr": e.CIDR, "digest": digest}
	if e.NoMatch {
		m["nomatch"] = 1
	}
	if e.Comment != "" {
		m["comment"] = e.Comment
	}
	if ref := fwReference.FindStringSubmatch(e.CIDR); ref != nil && c.findAlias(ref[1], ref[2], scope.name) == nil {
		m["errors"] = map[string]any{"cidr": "no such alias '" + ref[2] + "'"}
	}
	return m
}

func getIPSet(c *call, scope firewallScope) (any, error) {
	set, err := c.ipset(scope)
	if err != nil {
		return nil, err
	}
	list, entries := []map[string]any{}, set.sortedEntries()
	for _, e := range entries {
		list = append(list, c.ipsetEntry(scope, e, listDigest(entries)))
	}
	return list, nil
}

func deleteIPSet(c *call, scope firewallScope) (any, error) {
	set, err := c.ipset(scope)
	if err != nil {
		return nil, err
	}
	if len(set.Entries) > 0 && !c.params.Bool("force") {
		return nil, die("IPSet '%s' is not empty", c.params.Str("name"))
	}
	delete(c.state.Firewall.edit(scope.name).IPSets, c.params.Str("name"))
	return nil, nil
}

// cleanCIDR zeroes what the mask doesn't cover.
func cleanCIDR(cidr string) string {
	if p, err := netip.ParsePrefix(cidr); err == nil {
		return p.Masked().String()
	}
	return cidr
}

func addToIPSet(c *call, scope firewallScope) (any, error) {
	set, err := c.ipset(scope)
	if err != nil {
		return nil, err
	}
	cidr := c.params.Str("cidr")
	if ref := fwReference.FindStringSubmatch(cidr); ref != nil {
		if c.findAlias(ref[1], ref[2], scope.name) == nil {
			return nil, die("no such alias '%s'", ref[2])
		}
	} else {
		cidr = withoutHostMask(cleanCIDR(cidr))
	}
	if slices.ContainsFunc(set.Entries, func(e IPSetEntry) bool { return e.CIDR == cidr }) {
		return nil, badParam("cidr", "address '%s' already exists", cidr)
	}
	if strings.HasSuffix(cidr, "/0") {
		return nil, badParam("cidr", "a zero prefix is not allowed in ipset entries")
	}
	set.Entries = append(set.Entries, IPSetEntry{CIDR: cidr, NoMatch: c.params.Bool("nomatch"), Comment: fileComment(c.params.Str("comment"))})
	return nil, nil
}

func getIPSetEntry(c *call, scope firewallScope) (any, error) {
	set, err := c.ipset(scope)
	if err != nil {
		return nil, err
	}
	entries := set.sortedEntries()
	for _, e := range entries {
		if e.CIDR == c.params.Str("cidr") {
			return c.ipsetEntry(scope, e, listDigest(entries)), nil
		}
	}
	return nil, badParam("cidr", "no such IP/Network")
}

func updateIPSetEntry(c *call, scope firewallScope) (any, error) {
	set, err := c.ipset(scope)
	if err != nil {
		return nil, err
	}
	if err := c.checkDigest(listDigest(set.sortedEntries())); err != nil {
		return nil, err
	}
	for i, e := range set.Entries {
		if e.CIDR == c.params.Str("cidr") {
			set.Entries[i].NoMatch = c.params.Bool("nomatch")
			set.Entries[i].Comment = fileComment(c.params.Str("comment"))
			return nil, nil
		}
	}
	return nil, badParam("cidr", "no such IP/Network")
}

func deleteIPSetEntry(c *call, scope firewallScope) (any, error) {
	set, err := c.ipset(scope)
	if err != nil {
		return nil, err
	}
	if err := c.checkDigest(listDigest(set.sortedEntries())); err != nil {
		return nil, err
	}
	set.Entries = slices.DeleteFunc(set.Entries, func(e IPSetEntry) bool { return e.CIDR == c.params.Str("cidr") })
	return nil, nil
}

// listRefs lists what rules may name as source and destination.
func listRefs(c *call, scope firewallScope) (any, error) {
	list := []map[string]any{}
	add := func(scope, label string) {
		file, want := c.state.Firewall.file(scope), c.params.Str("type")
		for _, name := range sortedKeys(file.IPSets) {
			if want != "alias" {
				list = append(list, reference("ipset", name, "+"+name, label, file.IPSets[name].Comment))
			}
		}
		for _, name := range sortedKeys(file.Aliases) {
			if want != "ipset" {
				list = append(list, reference("alias", name, name, label, file.Aliases[name].Comment))
			}
		}
	}
	add(clusterScope, "dc")
	if scope.name != clusterScope {
		add(scope.name, "guest")
	}
	return list, nil
}

func reference(typ, name, ref, scope, comment string) map[string]any {
	m := map[string]any{"type": typ, "name": name, "ref": ref, "scope": scope}
	if comment != "" {
		m["comment"] = comment
	}
	return m
}
