package pvesim

import (
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pvesim/access"
)

func groupRoutes() map[string]handler {
	return map[string]handler{
		"GET /access/groups":              listGroups,
		"POST /access/groups":             createGroup,
		"GET /access/groups/{groupid}":    readGroup,
		"PUT /access/groups/{groupid}":    updateGroup,
		"DELETE /access/groups/{groupid}": deleteGroup,
	}
}

// groupMembers are the users of each group, sorted.
func (s *Sim) groupMembers() map[string][]string {
	members := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(s.state.Access.Users)) {
		for g := range s.state.Access.Users[id].Groups {
			members[g] = append(members[g], id)
		}
	}
	return members
}

func listGroups(c *call) (any, error) {
	acc := &c.state.Access
	members := c.groupMembers()
	list := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(acc.Groups)) {
		if !c.hasAny(c.who, "/access/groups/"+id, "User.Modify", "Sys.Audit", "Group.Allocate") {
			continue
		}
		entry := map[string]any{"groupid": id, "users": strings.Join(members[id], ",")}
		if g := acc.Groups[id]; g.Comment != "" {
			entry["comment"] = g.Comment
		}
		list = append(list, entry)
	}
	return list, nil
}

func createGroup(c *call) (any, error) {
	id := c.params.Str("groupid")
	if c.state.Access.Groups[id] != nil {
		return nil, inUserConfig("create group failed", die("group '%s' already exists", id))
	}
	c.state.Access.Groups[id] = &access.Group{ID: id, Comment: storedText(c.params.Str("comment"))}
	c.accessChanged()
	return nil, nil
}

func (c *call) group() (*access.Group, error) {
	id := c.params.Str("groupid")
	g := c.state.Access.Groups[id]
	if g == nil {
		return nil, die("group '%s' does not exist", id)
	}
	return g, nil
}

func readGroup(c *call) (any, error) {
	g, err := c.group()
	if err != nil {
		return nil, err
	}
	out := map[string]any{"members": append([]string{}, c.groupMembers()[g.ID]...)}
	if g.Comment != "" {
		out["comment"] = g.Comment
	}
	return out, nil
}

func updateGroup(c *call) (any, error) {
	g, err := c.group()
	if err != nil {
		return nil, inUserConfig("update group failed", err)
	}
	if c.params.Has("comment") {
		g.Comment = storedText(c.params.Str("comment"))
	}
	return nil, nil
}

func deleteGroup(c *call) (any, error) {
	g, err := c.group()
	if err != nil {
		return nil, inUserConfig("delete group failed", err)
	}
	acc := &c.state.Access
	delete(acc.Groups, g.ID)
	for _, u := range acc.Users {
		delete(u.Groups, g.ID)
	}
	c.dropACL(func(e access.Entry) bool { return e.Kind == "group" && e.Who == g.ID })
	c.accessChanged()
	return nil, nil
}
