package pvesim

// HA groups say until release 8 where resources may run; rules from 9.

var haGroupOptions = sectionKind{"nodes": false, "comment": true, "nofailback": true, "restricted": true}

func (c *call) groupsGone(doing string) error {
	if c.atLeast(9) {
		return die("cannot %s: ha groups have been migrated to rules", doing)
	}
	return nil
}

func (c *call) haGroupEntry(id string) map[string]any {
	m := c.typedSection(c.state.HA.Groups[id])
	m["group"], m["type"], m["digest"] = id, "group", sectionDigest(c.state.HA.Groups)
	return m
}

func listHAGroups(c *call) (any, error) {
	if err := c.groupsGone("index groups"); err != nil {
		return nil, err
	}
	list := []map[string]any{}
	for _, id := range sortedKeys(c.state.HA.Groups) {
		list = append(list, c.haGroupEntry(id))
	}
	return list, nil
}

func getHAGroup(c *call) (any, error) {
	if err := c.groupsGone("read group"); err != nil {
		return nil, err
	}
	id := c.params.Str("group")
	if c.state.HA.Groups[id] == nil {
		return nil, die("no such ha group '%s'", id)
	}
	return c.haGroupEntry(id), nil
}

func createHAGroup(c *call) (any, error) {
	if err := c.groupsGone("create group"); err != nil {
		return nil, err
	}
	id := c.params.Str("group")
	if c.params.Has("type") && c.params.Str("type") != "group" {
		return nil, die("types does not match")
	}
	group := c.section("group", "type")
	if err := haGroupOptions.check(group, true); err != nil {
		return nil, err
	}
	if c.state.HA.Groups[id] != nil {
		return nil, die("create ha group failed: ha group ID '%s' already defined", id)
	}
	c.state.HA.Groups[id] = keepSection(group)
	return nil, nil
}

func updateHAGroup(c *call) (any, error) {
	if err := c.groupsGone("update group"); err != nil {
		return nil, err
	}
	if c.params.Has("type") && c.params.Str("type") != "group" {
		return nil, die("types does not match")
	}
	return nil, failedAs("update ha group failed", c.changeHAGroup(c.params.Str("group")))
}

func (c *call) changeHAGroup(id string) error {
	if err := c.checkDigest(sectionDigest(c.state.HA.Groups)); err != nil {
		return err
	}
	group := c.state.HA.Groups[id]
	if group == nil {
		return die("no such ha group '%s'", id)
	}
	changes := c.section("group", "type")
	if err := haGroupOptions.check(changes, false); err != nil {
		return err
	}
	next := merged(group, changes)
	if err := haGroupOptions.remove(next, c.params.List("delete")); err != nil {
		return err
	}
	c.state.HA.Groups[id] = next
	return nil
}

func deleteHAGroup(c *call) (any, error) {
	if err := c.groupsGone("delete group"); err != nil {
		return nil, err
	}
	id := c.params.Str("group")
	for _, sid := range sortedKeys(c.state.HA.Resources) {
		if c.state.HA.Resources[sid]["group"] == id {
			return nil, die("delete ha group failed: ha group is used by service '%s'", sid)
		}
	}
	delete(c.state.HA.Groups, id)
	return nil, nil
}
