package access

import (
	"maps"
	"slices"
	"strings"
)

// NoAccess is the role that takes everything away.
const NoAccess = "NoAccess"

// Index is the ACL list as a tree, with what was computed from it. It
// lives until users, roles or ACLs change. Answers are remembered by the
// nearest path that has an ACL, so their number doesn't grow with that of
// the guests.
type Index struct {
	root   *aclNode
	groups map[string]map[string]bool // user → groups
	roles  func(string) (Privs, bool)
	memo   map[grantKey]Rights
}

// aclNode is a path of the access tree with its grants: who → role →
// whether it propagates.
type aclNode struct {
	path                  string
	parent                *aclNode
	children              map[string]*aclNode
	users, groups, tokens grants
}

type grants map[string]map[string]bool

// grantKey is what rights depend on.
type grantKey struct {
	who   Identity
	node  *aclNode
	exact bool   // the path is the node's; else it is somewhere below
	pools string // that the path's object is in
}

// Index gives the index, made anew when something has changed.
func (a *Config) Index(t *Table) *Index {
	if a.rights != nil {
		return a.rights
	}
	ix := &Index{
		root: &aclNode{path: "/"}, groups: map[string]map[string]bool{},
		roles: func(role string) (Privs, bool) { return a.RolePrivs(t, role) }, memo: map[grantKey]Rights{},
	}
	for id, u := range a.Users {
		ix.groups[id] = u.Groups
	}
	for _, e := range a.ACL {
		n := ix.make(e.Path)
		list := &n.users
		switch e.Kind {
		case "group":
			list = &n.groups
		case "token":
			list = &n.tokens
		}
		if *list == nil {
			*list = grants{}
		}
		if (*list)[e.Who] == nil {
			(*list)[e.Who] = map[string]bool{}
		}
		(*list)[e.Who][e.Role] = e.Propagate
	}
	a.rights = ix
	return ix
}

// Granted returns what ACLs and pools give to a user, or to a token by itself. The pools are those that pass
// their grants on to the path, joined by blanks.
func (ix *Index) Granted(who Identity, path, pools string) Rights {
	node, exact := ix.nearest(path)
	key := grantKey{who: who, node: node, exact: exact, pools: pools}
	if r, ok := ix.memo[key]; ok {
		return r
	}
	r := ix.compute(key)
	ix.memo[key] = r
	return r
}

// Has reports whether something was granted on a path or below it.
func (ix *Index) Has(path string) bool { return ix.find(path) != nil }

// Below returns the names right below a path where something was granted.
func (ix *Index) Below(path string) []string {
	n := ix.find(path)
	if n == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(n.children))
}

// make gives the node of a path, with all above it.
func (ix *Index) make(path string) *aclNode {
	n := ix.root
	for part := range strings.SplitSeq(path, "/") {
		if part == "" {
			continue
		}
		child := n.children[part]
		if child == nil {
			child = &aclNode{path: strings.TrimSuffix(n.path, "/") + "/" + part, parent: n}
			if n.children == nil {
				n.children = map[string]*aclNode{}
			}
			n.children[part] = child
		}
		n = child
	}
	return n
}

// nearest walks down a path as far as there are nodes, and reports whether
// that was all the way.
func (ix *Index) nearest(path string) (n *aclNode, exact bool) {
	n = ix.root
	for rest := path; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		if part == "" {
			continue
		}
		child := n.children[part]
		if child == nil {
			return n, false
		}
		n = child
	}
	return n, true
}

// find gives the node of a path, nil when nothing was granted there or below.
func (ix *Index) find(path string) *aclNode {
	if n, exact := ix.nearest(path); exact {
		return n
	}
	return nil
}

// Paths lists the paths that have ACLs, and those above them.
func (ix *Index) Paths() []string {
	var out []string
	var walk func(*aclNode)
	walk = func(n *aclNode) {
		out = append(out, n.path)
		for _, name := range slices.Sorted(maps.Keys(n.children)) {
			walk(n.children[name])
		}
	}
	walk(ix.root)
	return out
}

// compute finds the rights that a user or token was granted.
func (ix *Index) compute(key grantKey) Rights {
	roles := ix.rolesAt(key.who, key.node, key.exact)
	if _, barred := roles[NoAccess]; !barred {
		for pool := range strings.FieldsSeq(key.pools) {
			node, exact := ix.nearest("/pool/" + pool)
			for role := range ix.rolesAt(key.who, node, exact) {
				if role == NoAccess {
					return Rights{}
				}
				if _, set := roles[role]; !set {
					roles[role] = false
				}
			}
		}
	}
	var r Rights
	for role, propagates := range roles {
		p, _ := ix.roles(role)
		r.Set |= p
		if propagates {
			r.Spread |= p
		}
	}
	return r
}

// rolesAt finds the roles in force at a node, or below it: what is granted
// deeper down replaces what comes from above, and at one node a user's own
// grants replace those of its groups.
func (ix *Index) rolesAt(who Identity, node *aclNode, exact bool) map[string]bool {
	var chain []*aclNode
	for n := node; n != nil; n = n.parent {
		chain = append(chain, n)
	}
	slices.Reverse(chain)
	roles := map[string]bool{}
	for _, n := range chain {
		final := exact && n == node
		here := map[string]bool{}
		apply := func(list map[string]bool) {
			for role, propagates := range list {
				if final || propagates {
					here[role] = here[role] || propagates
				}
			}
		}
		if who.TokenID != "" {
			apply(n.tokens[who.Name()])
		} else {
			apply(n.users[who.User])
			if len(here) == 0 {
				for group, list := range n.groups {
					if ix.groups[who.User][group] {
						apply(list)
					}
				}
			}
		}
		if len(here) > 0 {
			roles = here
		}
	}
	if propagates, barred := roles[NoAccess]; barred {
		return map[string]bool{NoAccess: propagates}
	}
	return roles
}
