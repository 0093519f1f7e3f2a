package privs

import (
	"fmt"
	"slices"
	"strings"
)

// Account is whom the commands grant to. A token with privilege separation has
// what both it and its user have, so both are granted everything.
type Account struct {
	User     string // name@realm
	Token    string // the part behind the "!"; empty: the user itself
	NewUser  bool   // the commands make the user
	NewToken bool   // the commands make the token
	// Roles are those that there are already, with their privileges.
	Roles map[string][]string
}

// TokenID is the token's full name.
func (a Account) TokenID() string { return a.User + "!" + a.Token }

// Commands are lines for a shell on a node that make the roles, the user and the
// token and grant exactly what is given.
func (a Account) Commands(grants []Grant) []string {
	names := a.roleNames(grants)
	var lines []string
	done := map[string]bool{}
	for i, g := range grants {
		if name := names[i]; !done[name] {
			done[name] = true
			lines = append(lines, a.roleCommand(name, g.Names())...)
		}
	}
	if a.NewUser {
		lines = append(lines, words("pveum", "user", "add", a.User, "--comment", "proxplane"))
	}
	if a.NewToken && a.Token != "" {
		lines = append(lines, words("pveum", "user", "token", "add", a.User, a.Token, "--privsep", "1"))
	}
	for i, g := range grants {
		line := []string{"pveum", "acl", "modify", g.Path, "--roles", names[i], "--users", a.User}
		if a.Token != "" {
			line = append(line, "--tokens", a.TokenID())
		}
		if !g.Below {
			line = append(line, "--propagate", "0")
		}
		lines = append(lines, words(line...))
	}
	return lines
}

// roleCommand makes a role, or gives one that is there other privileges.
func (a Account) roleCommand(name string, privs []string) []string {
	have, exists := a.Roles[name]
	verb := "add"
	if exists {
		if slices.Equal(slices.Sorted(slices.Values(have)), privs) {
			return nil
		}
		verb = "modify"
	}
	return []string{words("pveum", "role", verb, name, "--privs", strings.Join(privs, " "))}
}

// roleNames gives each grant the name of its role. Grants of the same privileges
// share one. The names begin with the user's, so that users don't share any.
func (a Account) roleNames(grants []Grant) []string {
	prefix := a.rolePrefix()
	names, privs, taken := make([]string, len(grants)), map[string]string{}, map[string]int{}
	for i, g := range grants {
		all := strings.Join(g.Names(), " ")
		if privs[all] == "" {
			name := prefix + "-" + roleKind(g)
			if taken[name]++; taken[name] > 1 {
				name = fmt.Sprintf("%s-%d", name, taken[name])
			}
			privs[all] = name
		}
		names[i] = privs[all]
	}
	return names
}

// rolePrefix is the user's name, as far as roles may have it.
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
func roleKind(g Grant) string {
	has := func(priv string) bool { return slices.Contains(g.Names(), priv) }
	switch top, _, _ := strings.Cut(g.Path[1:], "/"); {
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
