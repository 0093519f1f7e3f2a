package privileges

import (
	"fmt"
	"slices"
	"strings"
)

// Account is the user or token that gets the grants. A token with privilege separation has
// the privileges that both it and its user have, so both get all grants.
type Account struct {
	User     string // name@realm
	Token    string // the part behind the "!"; empty: the user itself
	NewUser  bool   // the commands create the user
	NewToken bool   // the commands create the token
	// Roles are the existing roles with their privileges. They aren't changed: other manifests
	// may need them.
	Roles map[string][]string
	// User and token have these already, by path.
	UserHas, TokenHas Held
}

// Held are the privileges of an account.
type Held struct {
	Rights map[string]map[string]bool // by path: true if they also hold below it
	At     map[string]bool            // paths with an entry for the account itself
}

// here returns what an entry on a path would hide: what the account has there from elsewhere.
func (h Held) here(path string) map[string]bool {
	if h.At[path] {
		return nil
	}
	return h.Rights[path]
}

// TokenID returns the token's full name.
func (a Account) TokenID() string { return a.User + "!" + a.Token }

// Commands returns lines for a shell on a node that create the roles, the user and the
// token, and grant privileges. No earlier grant is lost: existing roles aren't changed, and
// an entry on a path repeats the privileges that it would hide.
func (a Account) Commands(grants []Grant) []string {
	var paths []string
	var entries []given
	for _, g := range grants {
		for _, e := range a.entries(g) {
			paths, entries = append(paths, g.Path), append(entries, e)
		}
	}
	names := a.roleNames(paths, entries)
	var lines []string
	done := map[string]bool{}
	for i, e := range entries {
		if _, there := a.Roles[names[i]]; !there && !done[names[i]] {
			done[names[i]] = true
			lines = append(lines, words("pveum", "role", "add", names[i], "--privs", strings.Join(e.privs, " ")))
		}
	}
	if a.NewUser {
		lines = append(lines, words("pveum", "user", "add", a.User, "--comment", "proxplane"))
	}
	if a.NewToken && a.Token != "" {
		lines = append(lines, words("pveum", "user", "token", "add", a.User, a.Token, "--privsep", "1"))
	}
	for i, e := range entries {
		lines = append(lines, e.command(paths[i], names[i], a.User, a.TokenID()))
	}
	return lines
}

// entries returns those that a grant takes.
func (a Account) entries(g Grant) []given {
	var list givens
	list.add(given{user: true}, split(g.Path, g.Below, g.Names(), a.UserHas.here(g.Path)))
	if a.Token != "" {
		list.add(given{token: true}, split(g.Path, g.Below, g.Names(), a.TokenHas.here(g.Path)))
	}
	return list
}

// roleNames gives each entry the name of its role. Entries of the same privileges
// share one. The names begin with the user's, so that users don't share any; a role that is
// there is used if it has just these privileges.
func (a Account) roleNames(paths []string, entries []given) []string {
	prefix := a.rolePrefix()
	names, byPrivs, taken := make([]string, len(entries)), map[string]string{}, map[string]bool{}
	for name, privs := range a.Roles {
		taken[name] = true
		if all := strings.Join(sortedOnce(privs), " "); strings.HasPrefix(name, prefix+"-") && (byPrivs[all] == "" || name < byPrivs[all]) {
			byPrivs[all] = name
		}
	}
	for i, e := range entries {
		all := strings.Join(e.privs, " ")
		if byPrivs[all] == "" {
			byPrivs[all] = free(prefix+"-"+roleKind(paths[i], e.privs), taken)
		}
		names[i] = byPrivs[all]
	}
	return names
}

// free finds a name that isn't taken, and takes it.
func free(base string, taken map[string]bool) string {
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	taken[name] = true
	return name
}

// rolePrefix returns the user's name, as far as roles may have it.
func (a Account) rolePrefix() string {
	prefix, _, _ := strings.Cut(a.User, "@")
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", r) {
			return r
		}
		return '-'
	}, prefix)
}

// roleKind says what a role is for.
func roleKind(path string, privs []string) string {
	has := func(priv string) bool { return slices.Contains(privs, priv) }
	switch top, _, _ := strings.Cut(path[1:], "/"); {
	case top == "":
		return "cluster"
	case top == "vms" && !has("VM.Allocate"):
		return "templates"
	case top == "vms", top == "pool":
		return "guests"
	case top == "storage" && (has("Datastore.AllocateTemplate") || has("Datastore.Allocate")):
		return "files"
	case top == "storage":
		return "disks"
	case top == "sdn":
		return "network"
	case top == "mapping":
		return "devices"
	default:
		return top
	}
}

// words puts a command together as a shell takes it apart.
func words(list ...string) string {
	quoted := make([]string, len(list))
	for i, w := range list {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

// quote protects a word from the shell. A "!" means something to interactive
// shells, even in double quotes.
func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%_+=:,./-", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
