package pvesim

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// noAccess is the role that takes everything away.
const noAccess = "NoAccess"

// rightsIndex is the ACL list as a tree, with what was computed from it. It
// lives until users, roles or ACLs change. Answers are remembered by the
// nearest path that has an ACL, so their number doesn't grow with that of
// the guests.
type rightsIndex struct {
	root   *aclNode
	groups map[string]map[string]bool // user → groups
	roles  func(string) (privs, bool)
	memo   map[grantKey]rights
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
	who   identity
	node  *aclNode
	exact bool   // the path is the node's; else it is somewhere below
	pools string // that the path's object is in
}

// rightsIndex gives the index, made anew when something has changed.
func (s *Sim) rightsIndex() *rightsIndex {
	acc := &s.state.Access
	if acc.rights != nil {
		return acc.rights
	}
	ix := &rightsIndex{
		root: &aclNode{path: "/"}, groups: map[string]map[string]bool{},
		roles: s.rolePrivs, memo: map[grantKey]rights{},
	}
	for id, u := range acc.Users {
		ix.groups[id] = u.Groups
	}
	for _, e := range acc.ACL {
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
	acc.rights = ix
	return ix
}

// make gives the node of a path, with all above it.
func (ix *rightsIndex) make(path string) *aclNode {
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
func (ix *rightsIndex) nearest(path string) (n *aclNode, exact bool) {
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
func (ix *rightsIndex) find(path string) *aclNode {
	if n, exact := ix.nearest(path); exact {
		return n
	}
	return nil
}

// paths lists the paths that have ACLs, and those above them.
func (ix *rightsIndex) paths() []string {
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
func (ix *rightsIndex) compute(key grantKey) rights {
	roles := ix.rolesAt(key.who, key.node, key.exact)
	if _, barred := roles[noAccess]; !barred {
		for pool := range strings.FieldsSeq(key.pools) {
			node, exact := ix.nearest("/pool/" + pool)
			for role := range ix.rolesAt(key.who, node, exact) {
				if role == noAccess {
					return rights{}
				}
				if _, set := roles[role]; !set {
					roles[role] = false
				}
			}
		}
	}
	var r rights
	for role, propagates := range roles {
		p, _ := ix.roles(role)
		r.set |= p
		if propagates {
			r.spread |= p
		}
	}
	return r
}

// rolesAt finds the roles in force at a node, or below it: what is granted
// deeper down replaces what comes from above, and at one node a user's own
// grants replace those of its groups.
func (ix *rightsIndex) rolesAt(who identity, node *aclNode, exact bool) map[string]bool {
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
		if who.tokenID != "" {
			apply(n.tokens[who.name()])
		} else {
			apply(n.users[who.user])
			if len(here) == 0 {
				for group, list := range n.groups {
					if ix.groups[who.user][group] {
						apply(list)
					}
				}
			}
		}
		if len(here) > 0 {
			roles = here
		}
	}
	if propagates, barred := roles[noAccess]; barred {
		return map[string]bool{noAccess: propagates}
	}
	return roles
}

// pathRune reports whether a character may be in a path of the access tree.
func pathRune(c rune) bool {
	switch c {
	case '.', '-', '_':
		return true
	}
	return unicode.IsLetter(c) || unicode.IsDigit(c)
}
