package pvesim

import "strings"

// aliasEntry is an alias as it is read back.
func aliasEntry(a *FirewallAlias) map[string]any {
	m := map[string]any{"name": a.Name, "cidr": a.CIDR, "ipversion": addressVersion(a.CIDR)}
	if a.Comment != "" {
		m["comment"] = a.Comment
	}
	return m
}

func listAliases(c *call, scope firewallScope) (any, error) {
	list, aliases := []map[string]any{}, c.state.Firewall.file(scope.name).sortedAliases()
	for _, a := range aliases {
		m := aliasEntry(a)
		m["digest"] = listDigest(aliases)
		list = append(list, m)
	}
	return list, nil
}

// withoutHostMask drops the mask of a single address, which isn't kept.
func withoutHostMask(cidr string) string {
	if addressVersion(cidr) == 6 {
		return strings.TrimSuffix(cidr, "/128")
	}
	return strings.TrimSuffix(cidr, "/32")
}

func (c *call) givenAlias(name string) *FirewallAlias {
	return &FirewallAlias{Name: name, CIDR: withoutHostMask(c.params.Str("cidr")), Comment: fileComment(c.params.Str("comment"))}
}

func createAlias(c *call, scope firewallScope) (any, error) {
	name := c.params.Str("name")
	aliases := c.state.Firewall.edit(scope.name).Aliases
	if aliases[strings.ToLower(name)] != nil {
		return nil, badParam("name", "alias '%s' already exists", name)
	}
	aliases[strings.ToLower(name)] = c.givenAlias(name)
	return nil, nil
}

func getAlias(c *call, scope firewallScope) (any, error) {
	a := c.state.Firewall.file(scope.name).Aliases[strings.ToLower(c.params.Str("name"))]
	if a == nil {
		return nil, badParam("name", "no such alias")
	}
	return aliasEntry(a), nil
}

func updateAlias(c *call, scope firewallScope) (any, error) {
	file := c.state.Firewall.edit(scope.name)
	if err := c.checkDigest(listDigest(file.sortedAliases())); err != nil {
		return nil, err
	}
	name, rename := c.params.Str("name"), c.params.Str("rename")
	key, newKey := strings.ToLower(name), strings.ToLower(rename)
	if file.Aliases[key] == nil {
		return nil, badParam("name", "no such alias")
	}
	if rename == "" || newKey == key {
		file.Aliases[key] = c.givenAlias(name)
		return nil, nil
	}
	if file.Aliases[newKey] != nil {
		return nil, badParam("name", "alias '%s' already exists", rename)
	}
	delete(file.Aliases, key)
	file.Aliases[newKey] = c.givenAlias(rename)
	return nil, nil
}

func deleteAlias(c *call, scope firewallScope) (any, error) {
	file := c.state.Firewall.edit(scope.name)
	if err := c.checkDigest(listDigest(file.sortedAliases())); err != nil {
		return nil, err
	}
	delete(file.Aliases, strings.ToLower(c.params.Str("name")))
	return nil, nil
}
