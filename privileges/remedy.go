package privileges

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Entry is an entry of the access control list: a role for a user, group or token on a
// path.
type Entry struct {
	Path, Role string
	Type, Who  string // user, group or token
	Below      bool   // it also holds below the path
}

// Sight is the access control list as far as it is visible to the credentials.
type Sight struct {
	User, Token string // the token is empty for a user with a password
	// Here are the privileges that the credentials have on the path of the lack, OfUser
	// those of the token's user there: true if they also hold below. nil: nobody knows.
	Here, OfUser map[string]bool
	// Separate says whether the token has rights of its own; nil: nobody knows.
	Separate *bool
	Groups   []string // that the user is in
	ACL      []Entry
	Whole    bool            // all groups and entries can be seen
	Roles    map[string]bool // the names that are taken
	// Made are the roles that commands before make, by their privileges; those of Remedy are added.
	Made map[string]string
}

// Remedy returns commands for a shell on a node that grant the missing privileges on their
// path only, and take nothing away; none if they were forbidden on purpose. An entry on a
// path hides the privileges of the same account from paths above it, and an entry for a
// user those from its groups. So a new entry repeats the privileges that the account has
// there.
func (s Sight) Remedy(l model.Lack) []string {
	if s.forbidden(l.Path) {
		return nil
	}
	taken := maps.Clone(s.Roles)
	if taken == nil {
		taken = map[string]bool{}
	}
	for _, name := range s.Made {
		taken[name] = true
	}
	var out []string
	for _, g := range s.together(l) {
		privs := strings.Join(g.privs, " ")
		name := s.Made[privs]
		if name == "" {
			name = free(Account{User: s.User}.rolePrefix()+"-more", taken)
			out = append(out, words("pveum", "role", "add", name, "--privs", privs))
		}
		if s.Made != nil {
			s.Made[privs] = name
		}
		out = append(out, g.command(l.Path, name, s.User, s.tokenID()))
	}
	return out
}

// Hides reports whether the commands may hide privileges of the token's user that aren't
// known.
func (s Sight) Hides() bool { return !s.Whole && s.separate(true) }

// Repeats reports whether the commands repeat privileges that the account has already.
func (s Sight) Repeats(l model.Lack) bool {
	return slices.ContainsFunc(s.together(l), func(g given) bool { return !slices.Equal(g.privs, sortedOnce(l.Privs)) })
}

func (s Sight) tokenID() string { return s.User + "!" + s.Token }

// together returns the entries to make; what user and token get alike is one.
func (s Sight) together(l model.Lack) []given {
	hasEntries := slices.ContainsFunc(s.ACL, func(e Entry) bool { return e.Type == "token" && e.Who == s.tokenID() })
	separate := s.separate(!s.Whole || hasEntries || len(s.Here) == 0)
	user := s.Here
	if separate && s.OfUser != nil {
		user = s.OfUser
	}
	var list givens
	if !separate || lacks(s.OfUser, l.Privs) {
		list.add(given{user: true}, split(l.Path, leaf(l.Path), l.Privs, s.hidden("user", s.User, l.Path, user)))
	}
	if separate {
		list.add(given{token: true}, split(l.Path, leaf(l.Path), l.Privs, s.hidden("token", s.tokenID(), l.Path, s.Here)))
	}
	return list
}

// hidden returns what an entry on a path would hide of what an account has there. Where it has
// an entry already, another one beside it hides nothing.
func (s Sight) hidden(kind, who, path string, has map[string]bool) map[string]bool {
	if slices.ContainsFunc(s.ACL, func(e Entry) bool { return e.Path == path && e.Type == kind && e.Who == who }) {
		return nil
	}
	return has
}

// ancestors returns the paths above one, the uppermost first, and itself.
func ancestors(at string) []string {
	list := []string{at}
	for at != "/" {
		at = path.Dir(at)
		list = append(list, at)
	}
	slices.Reverse(list)
	return list
}

// forbidden reports whether the role NoAccess holds on a path.
func (s Sight) forbidden(at string) bool {
	hold := slices.Concat(s.holding(at, "token", s.tokenID()), s.holding(at, "user", s.User))
	return slices.ContainsFunc(hold, func(e Entry) bool { return e.Role == "NoAccess" })
}

// separate reports whether the credentials are a token with rights of its own. One
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

// holding returns the entries that decide what somebody may do on a path: those on the
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
