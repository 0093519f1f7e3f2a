package privileges

import (
	"slices"
	"strings"
)

// given is a set of privileges that accounts get on a path, by one entry.
type given struct {
	privs       []string
	below       bool
	user, token bool
}

// givens are entries on one path; what user and token get alike is one.
type givens []given

// add adds entries for an account.
func (l *givens) add(to given, list []given) {
	for _, e := range list {
		at := slices.IndexFunc(*l, func(g given) bool { return g.below == e.below && slices.Equal(g.privs, e.privs) })
		if at < 0 {
			at = len(*l)
			*l = append(*l, e)
		}
		(*l)[at].user, (*l)[at].token = (*l)[at].user || to.user, (*l)[at].token || to.token
	}
}

// command makes the entry.
func (g given) command(path, role, user, token string) string {
	line := []string{"pveum", "acl", "modify", path, "--roles", role}
	if g.user {
		line = append(line, "--users", user)
	}
	if g.token {
		line = append(line, "--tokens", token)
	}
	if !g.below {
		line = append(line, "--propagate", "0")
	}
	return words(line...)
}

// split returns the entries that give an account privileges on a path, and below it if that is
// wanted, without hiding what it has there already. What holds below a path goes on doing
// so, and what doesn't doesn't.
func split(path string, below bool, privs []string, has map[string]bool) []given {
	wanted, other := slices.Clone(privs), []string{}
	for priv, spreads := range has {
		switch {
		case !Means(path, priv):
		case leaf(path), spreads == below:
			wanted = append(wanted, priv)
		default:
			other = append(other, priv)
		}
	}
	list := []given{{privs: sortedOnce(wanted), below: below}}
	if len(other) > 0 {
		list = append(list, given{privs: sortedOnce(other), below: !below})
	}
	return list
}

// leaves are the paths that have nothing below them, by the first part, with what the
// privileges that mean something there begin with.
var leaves = map[string]string{"vms": "VM.", "storage": "Datastore.", "nodes": "Sys."}

// Means reports whether a privilege on a path allows anything.
func Means(at, priv string) bool {
	top, _, _ := strings.Cut(at[1:], "/")
	return !leaf(at) || strings.HasPrefix(priv, leaves[top]) || priv == "Permissions.Modify"
}

// leaf reports whether there is nothing below a path.
func leaf(at string) bool {
	top, rest, _ := strings.Cut(at[1:], "/")
	return rest != "" && leaves[top] != ""
}

func sortedOnce(privs []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(privs)))
}
