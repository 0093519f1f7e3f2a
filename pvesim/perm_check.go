package pvesim

import (
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/pvesim/access"
)

// checkEndpoint checks the permissions that the schema states. It sees the
// parameters as they came, before they are verified.
func (s *Sim) checkEndpoint(ep *schema.Endpoint, who *access.Identity, in map[string]any) error {
	perm := ep.Permissions
	switch {
	case who == nil && perm.User == "world":
		return nil
	case who == nil:
		return denied("user != null")
	case who.Root():
		return nil
	case perm.User == "" && perm.Check == nil:
		return denied("user != root@pam")
	case perm.User == "all":
		return nil
	case perm.Check == nil:
		return denied("")
	}
	_, err := s.evaluate(perm.Check, who, in, false)
	return err
}

// evaluate reports whether a permission expression holds. When it doesn't,
// there is an error too unless quiet says that the caller has alternatives;
// some checks insist on their error even then.
func (s *Sim) evaluate(check schema.Check, who *access.Identity, in map[string]any, quiet bool) (bool, error) {
	fail := func(err error) (bool, error) {
		if quiet {
			return false, nil
		}
		return false, err
	}
	switch c := check.(type) {
	case schema.And:
		for _, part := range c {
			if _, err := s.evaluate(part, who, in, false); err != nil {
				return false, err
			}
		}
		return true, nil
	case schema.Or:
		for _, part := range c {
			if ok, err := s.evaluate(part, who, in, true); ok || err != nil {
				return ok, err
			}
		}
		return fail(denied(""))
	case schema.Perm:
		if c.RequireParam != "" && in[c.RequireParam] == nil {
			return fail(denied(""))
		}
		ask := s.need
		if c.Any {
			ask = s.needAny
		}
		if err := ask(who, access.CleanPath(fillTemplate(c.Path, in)), c.Privs...); err != nil {
			return fail(err)
		}
		return true, nil
	case schema.PermModify:
		// A path that can't be is refused by the call itself.
		path := access.CleanPath(fillTemplate(c.Path, in))
		if path == "" {
			return false, nil
		}
		if err := s.needModify(who, path); err != nil {
			return fail(err)
		}
		return true, nil
	case schema.UserParam:
		return s.checkUserParam(c, who, in, fail)
	case schema.UserGroup:
		return s.checkUserGroup(c, who, in, fail)
	}
	return false, die("unknown permission test")
}

func (s *Sim) checkUserParam(c schema.UserParam, who *access.Identity, in map[string]any, fail func(error) (bool, error)) (bool, error) {
	userid := rawText(in["userid"])
	if err := verifyUserName(userid); err != nil {
		return false, err
	}
	if c.What != "self" {
		if err := s.need(who, "/access/realm/"+realmOf(userid), c.What); err != nil {
			return fail(err)
		}
		return true, nil
	}
	if s.state.Access.Users[userid] == nil {
		return fail(noUser(userid))
	}
	if who.Name() != userid {
		return fail(denied(""))
	}
	return true, nil
}

func (s *Sim) checkUserGroup(c schema.UserGroup, who *access.Identity, in map[string]any, fail func(error) (bool, error)) (bool, error) {
	userid := rawText(in["userid"])
	existing := c.GroupsParam != "create"
	if existing {
		if err := s.userExists(userid); err != nil {
			return fail(err)
		}
	}
	if s.hasAny(who, "/access/groups", c.Privs...) {
		return true, nil
	}
	groups := s.groupsWith(who, c.Privs...)
	privs := strings.Join(c.Privs, "|")
	if c.GroupsParam != "" {
		asked := schema.SplitList(rawText(in["groups"]))
		if len(asked) == 0 {
			return false, denied("/access/groups, " + privs)
		}
		for _, g := range asked {
			if !groups[g] {
				return false, denied("/access/groups/" + g + ", " + privs)
			}
		}
	}
	if existing && !s.inGroups(userid, groups) {
		return fail(denied(""))
	}
	return true, nil
}

// groupsWith are the groups on which who has one of the privileges.
func (s *Sim) groupsWith(who *access.Identity, privs ...string) map[string]bool {
	out := map[string]bool{}
	for g := range s.state.Access.Groups {
		if s.hasAny(who, "/access/groups/"+g, privs...) {
			out[g] = true
		}
	}
	return out
}

// inGroups reports whether the user is in one of the groups.
func (s *Sim) inGroups(userid string, groups map[string]bool) bool {
	u := s.state.Access.Users[userid]
	if u == nil {
		return false
	}
	for g := range u.Groups {
		if groups[g] {
			return true
		}
	}
	return false
}

// fillTemplate puts parameters into a path such as /vms/{vmid}; what is
// missing or false becomes "-".
func fillTemplate(tmpl string, in map[string]any) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(tmpl, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		if v := rawText(in[name]); v == "" || v == "0" {
			b.WriteByte('-')
		} else {
			b.WriteString(v)
		}
		tmpl = after
	}
}

// rawText is a parameter as Perl writes it into a text.
func rawText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "1"
		}
		return "0"
	case []any:
		return "ARRAY(0x1)"
	}
	return "HASH(0x1)"
}
