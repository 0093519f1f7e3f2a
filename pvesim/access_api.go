package pvesim

import (
	"maps"
	"strings"
)

// accessRoutes are users, groups, roles, tokens, ACLs and tickets.
func accessRoutes() map[string]handler {
	all := map[string]handler{"GET /access": accessIndex}
	for _, table := range []map[string]handler{
		ticketRoutes(), userRoutes(), tokenRoutes(), groupRoutes(), roleRoutes(), aclRoutes(), realmRoutes(), tfaRoutes(),
	} {
		maps.Copy(all, table)
	}
	return all
}

func accessIndex(*call) (any, error) {
	var list []map[string]any
	for _, name := range []string{"users", "groups", "roles", "acl", "domains", "openid", "tfa", "ticket", "password"} {
		list = append(list, map[string]any{"subdir": name})
	}
	return list, nil
}

// inUserConfig words an error that happened under the lock of user.cfg:
// Proxmox puts what failed before it, and exceptions lose their status.
func inUserConfig(failed string, err error) error {
	if err == nil {
		return nil
	}
	return die("%s: %s", failed, strings.TrimRight(perlText(err), "\n"))
}

// given reports whether a parameter has a value that counts as true.
func (c *call) given(key string) bool {
	v := c.params.Str(key)
	return v != "" && v != "0"
}
