package pvesim

import (
	"regexp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/pvesim/access"
)

func aclRoutes() map[string]handler {
	return map[string]handler{
		"GET /access/acl":         listACL,
		"PUT /access/acl":         updateACL,
		"GET /access/permissions": readPermissions,
	}
}

func listACL(c *call) (any, error) {
	audit := c.has(c.who, "/access", "Sys.Audit")
	list := []map[string]any{}
	for _, e := range c.state.Access.ACL {
		if !audit && c.needModify(c.who, e.Path) != nil {
			continue
		}
		list = append(list, map[string]any{
			"path": e.Path, "type": e.Kind, "ugid": e.Who, "roleid": e.Role, "propagate": flagInt(e.Propagate),
		})
	}
	return list, nil
}

// aclPaths are the paths that an ACL can be set on.
var aclPaths = map[bool]*regexp.Regexp{
	false: aclPathPattern("controllers/[[:alnum:]_-]+", "dns/[[:alnum:]]+", "ipams/[[:alnum:]]+"),
	true: aclPathPattern("controllers/[[:alnum:]_-]+", "dns/[[:alnum:]]+", "ipams/[[:alnum:]]+",
		"fabrics/[[:alnum:]]+", "prefix-lists/[[:alnum:]]+", "route-maps/[[:alnum:]]+"),
}

// aclPathPattern takes the kinds of SDN objects, which differ by release.
func aclPathPattern(sdn ...string) *regexp.Regexp {
	const name = `[[:alnum:]._-]+`
	parts := []string{
		``, `access(/groups(/` + name + `)?|/realm(/` + name + `)?)?`, `nodes(/` + name + `)?`,
		`pool(/[A-Za-z0-9._-]+){0,3}`, `storage(/` + name + `)?`, `vms(/[1-9][0-9]{2,})?`, `mapping(/` + name + `){0,2}`,
		`sdn(/zones(/` + name + `(/` + name + `(/[1-9][0-9]{0,3})?)?)?)?`,
	}
	for _, object := range sdn {
		dir, id, _ := strings.Cut(object, "/")
		parts = append(parts, `sdn/`+dir+`(/`+id+`)?`)
	}
	return regexp.MustCompile(`^/(` + strings.Join(parts, "|") + `)$`)
}

func updateACL(c *call) (any, error) {
	if !c.given("users") && !c.given("groups") && !c.given("tokens") {
		const text = "either 'users', 'groups' or 'tokens' is required."
		return nil, badParams(schema.Errors{"users": text, "groups": text, "tokens": text})
	}
	path := access.CleanPath(c.params.Str("path"))
	if path == "" || !c.params.Bool("delete") && !aclPaths[c.atLeast(9)].MatchString(path) {
		return nil, badParam("path", "invalid ACL path '%s'", c.params.Str("path"))
	}
	entries, err := c.aclEntries(path)
	if err != nil {
		return nil, inUserConfig("ACL update failed", err)
	}
	same := func(e access.Entry) bool {
		return slices.ContainsFunc(entries, func(n access.Entry) bool { n.Propagate = e.Propagate; return n == e })
	}
	c.dropACL(same)
	if !c.params.Bool("delete") {
		c.state.Access.ACL = append(c.state.Access.ACL, entries...)
	}
	c.accessChanged()
	return nil, nil
}

// aclEntries are the entries that the call is about, all of them checked.
func (c *call) aclEntries(path string) ([]access.Entry, error) {
	acc := &c.state.Access
	propagate := !c.params.Has("propagate") || c.params.Bool("propagate")
	var out []access.Entry
	add := func(kind, who, role string) {
		e := access.Entry{Path: path, Kind: kind, Who: who, Role: role, Propagate: propagate}
		// Proxmox doesn't store what root is granted.
		if !slices.Contains(out, e) && (kind != "user" || who != access.Root) {
			out = append(out, e)
		}
	}
	for _, role := range c.params.List("roles") {
		if !c.roleExists(role) {
			return nil, die("role '%s' does not exist", role)
		}
		if err := c.mayGrant(path, role, propagate); err != nil {
			return nil, err
		}
		for _, id := range c.params.List("groups") {
			if acc.Groups[id] == nil {
				return nil, die("group '%s' does not exist", id)
			}
			add("group", id, role)
		}
		for _, id := range c.params.List("users") {
			if acc.Users[id] == nil {
				return nil, die("user '%s' does not exist", id)
			}
			add("user", id, role)
		}
		for _, id := range c.params.List("tokens") {
			who := access.ParseIdentity(id)
			if _, err := c.tokenExists(who.User, who.TokenID); err != nil {
				return nil, err
			}
			add("token", id, role)
		}
	}
	return out, nil
}

// mayGrant checks that who has no Permissions.Modify on the path hands out,
// or takes away, only what they have themselves.
func (c *call) mayGrant(path, role string, propagate bool) error {
	t := c.privTable()
	mine := c.rightsOf(c.who, path)
	if mine.Set&t.SetOf("Permissions.Modify") != 0 {
		return nil
	}
	verb := "add"
	if c.params.Bool("delete") {
		verb = "remove"
	}
	wanted, _ := c.rolePrivs(role)
	if wanted.Without(mine.Set) != 0 {
		return badParam("role", "Cannot %s role '%s' - requires 'Permissions.Modify' or superset of privileges.", verb, role)
	}
	if propagate && verb == "add" && wanted.Without(mine.Spread) != 0 {
		return badParam("role", "Cannot %s role '%s' with propagation - requires 'Permissions.Modify' or propagated superset of privileges.", verb, role)
	}
	if role == access.NoAccess {
		return badParam("role", "Cannot %s role '%s' - requires 'Permissions.Modify'", verb, role)
	}
	return nil
}

// readPermissions shows what a user or token may do: on one path, or on all
// paths that matter.
func readPermissions(c *call) (any, error) {
	who := c.who
	if c.params.Has("userid") {
		who = access.ParseIdentity(c.params.Str("userid"))
	}
	self := who.Name() == c.who.Name()
	owned := who.Token() && who.User == c.who.Name()
	if !self && !owned {
		if err := c.need(c.who, "/access", "Sys.Audit"); err != nil {
			return nil, err
		}
	}
	if c.given("path") {
		path := c.params.Str("path")
		return map[string]any{path: c.describe(c.rightsOf(who, path))}, nil
	}
	out := map[string]any{}
	for path := range c.effectivePaths() {
		if r := c.rightsOf(who, path); r.Set != 0 {
			out[path] = c.describe(r)
		}
	}
	return out, nil
}

// effectivePaths are the top-level paths, those with ACLs and those of what
// is in pools.
func (s *Sim) effectivePaths() map[string]bool {
	paths := map[string]bool{}
	for _, p := range []string{"/", "/access", "/access/groups", "/nodes", "/pool", "/sdn", "/storage", "/vms"} {
		paths[p] = true
	}
	for _, p := range s.rightsIndex().Paths() {
		paths[p] = true
	}
	ix := s.memberIndex()
	for vmid := range ix.guests {
		paths[vmPath(vmid)] = true
	}
	for storage, pools := range ix.storages {
		if len(pools) > 0 {
			paths["/storage/"+storage] = true
		}
	}
	return paths
}

// describe lists privileges with whether they propagate.
func (s *Sim) describe(r access.Rights) map[string]int {
	out := map[string]int{}
	t := s.privTable()
	for _, p := range t.List(r.Set) {
		out[p] = 0
	}
	for _, p := range t.List(r.Spread) {
		out[p] = 1
	}
	return out
}
