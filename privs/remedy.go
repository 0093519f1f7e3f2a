package privs

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Entry grants a role to somebody on a path.
type Entry struct {
	Path, Role string
	Type, Who  string // user, group or token
	Below      bool   // it also holds below the path
}

// Role is a set of privileges.
type Role struct {
	Privs   []string
	Special bool // it comes with Proxmox, and can't be changed
}

// Sight is what credentials may see of who may do what.
type Sight struct {
	User, Token string // the token is empty for a user with a password
	// Own are the privileges that the credentials have, on all paths that somebody has
	// an entry on, and some more: true if they also hold below.
	Own map[string]map[string]bool
	// Here are those on the path of the lack, OfUser those of the token's user there;
	// nil: nobody knows.
	Here, OfUser map[string]bool
	// Separate says whether the token has rights of its own; nil: nobody knows.
	Separate *bool
	Groups   []string // that the user is in
	ACL      []Entry
	Whole    bool // all groups and entries can be seen
	Roles    map[string]Role
}

// Remedy are commands for a shell on a node that grant what is lacking, and take
// nothing away; none if it was forbidden on purpose. The difficulty: an entry on a
// path hides what the same account got from paths above it, and an entry for a user
// what it got from its groups.
func (s Sight) Remedy(l model.Lack) []string {
	if s.Whole {
		return s.addToEntries(l)
	}
	at := s.above(l.Path)
	r := s.newRole(append(slices.Collect(maps.Keys(s.Here)), l.Privs...))
	line := r.grant(at, true) + " --users " + quote(s.User)
	if s.separate(true) {
		line += " --tokens " + quote(s.tokenID())
	}
	return []string{r.add, line}
}

// Hides tells whether the commands make an entry for the token's user without
// knowing what that has: it may hide something.
func (s Sight) Hides() bool { return !s.Whole && s.separate(true) }

func (s Sight) tokenID() string { return s.User + "!" + s.Token }

// alwaysListed are paths that Proxmox lists whether there is an entry on them or not.
var alwaysListed = []string{"/", "/access", "/access/groups", "/nodes", "/pool", "/sdn", "/storage", "/vms"}

// above is the next path above one that there may be an entry on, if the credentials
// have just the same there, and below: what is granted there reaches the path. Else,
// and where there is an entry on it, it is the path itself.
func (s Sight) above(at string) string {
	if _, listed := s.Own[at]; listed {
		return at
	}
	for _, up := range slices.Backward(ancestors(at)) {
		privs, listed := s.Own[up]
		switch {
		case up != at && sameBelow(privs, s.Here):
			return up
		case listed, slices.Contains(alwaysListed, up):
			return at
		}
	}
	return at
}

// sameBelow tells whether the same holds below a path.
func sameBelow(above, here map[string]bool) bool {
	return len(here) > 0 && maps.Equal(above, here) && !slices.Contains(slices.Collect(maps.Values(here)), false)
}

// ancestors are the paths above one, the uppermost first, and itself.
func ancestors(at string) []string {
	list := []string{at}
	for at != "/" {
		at = path.Dir(at)
		list = append(list, at)
	}
	slices.Reverse(list)
	return list
}

// addToEntries grants by the entries that hold on the path now: by adding to their
// role, or another role beside it.
func (s Sight) addToEntries(l model.Lack) []string {
	token := s.holding(l.Path, "token", s.tokenID())
	user := s.holding(l.Path, "user", s.User)
	hasEntries := slices.ContainsFunc(s.ACL, func(e Entry) bool { return e.Type == "token" && e.Who == s.tokenID() })
	separate := s.separate(hasEntries || len(s.Here) == 0)
	var lines []string
	if !separate || lacks(s.OfUser, l.Privs) {
		lines = s.addTo(user, Entry{Path: l.Path, Type: "user", Who: s.User, Below: true}, l.Privs)
	}
	if separate {
		lines = append(lines, s.addTo(token, Entry{Path: l.Path, Type: "token", Who: s.tokenID(), Below: true}, l.Privs)...)
	}
	if slices.ContainsFunc(slices.Concat(token, user), func(e Entry) bool { return e.Role == "NoAccess" }) {
		return nil
	}
	var once []string
	for _, line := range lines {
		if !slices.Contains(once, line) {
			once = append(once, line)
		}
	}
	return once
}

// separate tells whether the credentials are a token with rights of its own. One
// without has what its user has, and entries for it are ignored.
func (s Sight) separate(probably bool) bool {
	if s.Token != "" && s.Separate != nil {
		return *s.Separate
	}
	return s.Token != "" && probably
}

func lacks(have map[string]bool, privs []string) bool {
	return slices.ContainsFunc(privs, func(p string) bool { _, ok := have[p]; return !ok })
}

// holding are the entries that decide what somebody may do on a path: those on the
// deepest path that has any, where those of a user count more than those of groups.
func (s Sight) holding(at, kind, who string) []Entry {
	var hold []Entry
	for _, up := range ancestors(at) {
		var own, groups []Entry
		for _, e := range s.ACL {
			switch {
			case e.Path != up || !e.Below && up != at:
			case e.Type == kind && e.Who == who:
				own = append(own, e)
			case e.Type == "group" && kind == "user" && slices.Contains(s.Groups, e.Who):
				groups = append(groups, e)
			}
		}
		switch {
		case len(own) > 0:
			hold = own
		case len(groups) > 0:
			hold = groups
		}
	}
	slices.SortFunc(hold, func(a, b Entry) int { return strings.Compare(a.Role, b.Role) })
	return hold
}

// addTo adds to what entries grant; where there are none, to nothing.
func (s Sight) addTo(hold []Entry, none Entry, privs []string) []string {
	for _, e := range hold {
		if r, ok := s.Roles[e.Role]; ok && !r.Special {
			return []string{words("pveum", "role", "modify", e.Role, "--append", "--privs", together(privs))}
		}
	}
	e := none
	if len(hold) > 0 {
		e = hold[0]
	}
	r := s.newRole(privs)
	return []string{r.add, r.grant(e.Path, e.Below) + " --" + e.Type + "s " + quote(e.Who)}
}

// addedRole is a role that doesn't exist yet.
type addedRole struct{ name, add string }

// newRole makes a role under a name that is free.
func (s Sight) newRole(privs []string) addedRole {
	base := Account{User: s.User}.rolePrefix() + "-more"
	name := base
	for n := 2; ; n++ {
		if _, taken := s.Roles[name]; !taken {
			break
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return addedRole{name, words("pveum", "role", "add", name, "--privs", together(privs))}
}

func (r addedRole) grant(at string, below bool) string {
	line := words("pveum", "acl", "modify", at, "--roles", r.name)
	if !below {
		line += " --propagate 0"
	}
	return line
}

// together are privileges as pveum takes them.
func together(privs []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(privs))), " ")
}
