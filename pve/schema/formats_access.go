package schema

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	realmName = `[A-Za-z][A-Za-z0-9\.\-_]+`
	userName  = `[^\s:/]+`
	roleName  = `[A-Za-z0-9\.\-_]+`
)

var _ = register(map[string]checker{
	"pve-realm":   matching(`^`+realmName+`$`, "value does not look like a valid realm"),
	"pve-userid":  userID,
	"pve-tokenid": matching(`^`+userName+`@`+realmName+`!`+realmName+`$`, "value '%s' does not look like a valid token ID"),
	"pve-groupid": matching(`^`+roleName+`$`, "group name '%s' contains invalid characters"),
	"pve-roleid":  matching(`^`+roleName+`$`, "role name '%s' contains invalid characters"),
	"pve-poolid":  poolID,
	"pve-priv": func(s *Schema, priv string) error {
		if !slices.Contains(s.facts.privileges, priv) {
			return fail("invalid privilege '%s'", priv)
		}
		return nil
	},
})

var userRE = perlPattern(`^` + userName + `@` + realmName + `$`)

func userID(_ *Schema, name string) error {
	if !perlTrue(name) {
		name = ""
	}
	switch n := utf8.RuneCountInString(name); {
	case n < 3:
		return fail("user name '%s' is too short", name)
	case n > 64:
		return fail("user name '%s' is too long (%d > 64)", name, n)
	case !userRE.match(name):
		return fail("value '%s' does not look like a valid user name", name)
	}
	return nil
}

var poolRE = perlPattern(`^` + roleName + `(?:/` + roleName + `){0,2}$`)

func poolID(_ *Schema, name string) error {
	switch {
	case strings.Count(strings.TrimRight(name, "/"), "/") > 2:
		return fail("pool name '%s' nested too deeply (max levels = 3)", name)
	case !poolRE.match(name):
		return fail("pool name '%s' contains invalid characters", name)
	}
	return nil
}
