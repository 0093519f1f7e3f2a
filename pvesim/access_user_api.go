package pvesim

import (
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pvesim/access"
)

func userRoutes() map[string]handler {
	return map[string]handler{
		"GET /access/users":             listUsers,
		"POST /access/users":            createUser,
		"GET /access/users/{userid}":    readUser,
		"PUT /access/users/{userid}":    updateUser,
		"DELETE /access/users/{userid}": deleteUser,
		"PUT /access/password":          changePassword,
	}
}

func listUsers(c *call) (any, error) {
	acc := &c.state.Access
	privs := []string{"User.Modify", "Sys.Audit"}
	all := c.hasAny(c.who, "/access/groups", privs...)
	groups := c.groupsWith(c.who, privs...)
	full := c.params.Bool("full")
	list := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(acc.Users)) {
		u := acc.Users[id]
		if !all && id != c.who.Name() && !c.inGroups(id, groups) {
			continue
		}
		if c.params.Has("enabled") && c.params.Bool("enabled") != u.Enable {
			continue
		}
		entry := userData(u, full)
		if full {
			entry["groups"] = strings.Join(entry["groups"].([]string), ",")
			if len(u.Tokens) > 0 {
				entry["tokens"] = tokenList(u)
			}
		}
		if realm := acc.Realms[realmOf(id)]; realm != nil {
			entry["realm-type"] = realm["type"]
		}
		entry["userid"] = id
		list = append(list, entry)
	}
	return list, nil
}

// userProps are the texts that a user has.
var userProps = []string{"firstname", "lastname", "email", "comment", "keys"}

func createUser(c *call) (any, error) {
	return nil, inUserConfig("create user failed", c.addUser())
}

func (c *call) addUser() error {
	acc := &c.state.Access
	userid, _ := c.lookupUser(c.params.Str("userid"))
	if acc.Users[userid] != nil {
		return die("user '%s' already exists", userid)
	}
	if c.params.Has("password") {
		if err := c.setPassword(userid, c.params.Str("password")); err != nil {
			return err
		}
	}
	u := &access.User{ID: userid, Enable: !c.params.Has("enable") || c.params.Bool("enable"), Password: c.params.Str("password")}
	u.Expire = int64(c.params.Int("expire"))
	if err := c.joinGroups(u, true); err != nil {
		return err
	}
	setProps(u, c)
	acc.Users[userid] = u
	c.accessChanged()
	return nil
}

// setProps takes the texts that the call gives.
func setProps(u *access.User, c *call) {
	if u.Props == nil {
		u.Props = map[string]string{}
	}
	for _, key := range userProps {
		if c.params.Has(key) {
			u.Props[key] = storedText(c.params.Str(key))
		}
	}
}

// joinGroups makes the user a member of the groups that the call names, and
// of these only unless they are to be added.
func (c *call) joinGroups(u *access.User, add bool) error {
	if !c.params.Has("groups") {
		return nil
	}
	groups := map[string]bool{}
	if add {
		maps.Copy(groups, u.Groups)
	}
	for _, g := range c.params.List("groups") {
		if c.state.Access.Groups[g] == nil {
			return die("no such group '%s'", g)
		}
		groups[g] = true
	}
	u.Groups = groups
	return nil
}

func readUser(c *call) (any, error) {
	userid := c.params.Str("userid")
	if err := c.userExists(userid); err != nil {
		return nil, err
	}
	return userData(c.state.Access.Users[userid], true), nil
}

func updateUser(c *call) (any, error) {
	return nil, inUserConfig("update user failed", c.changeUser(c.params.Str("userid")))
}

func (c *call) changeUser(userid string) error {
	if err := c.userExists(userid); err != nil {
		return err
	}
	u := c.state.Access.Users[userid]
	if err := c.joinGroups(u, c.params.Bool("append")); err != nil {
		return err
	}
	if c.params.Has("enable") {
		u.Enable = c.params.Bool("enable")
	}
	if c.params.Has("expire") {
		u.Expire = int64(c.params.Int("expire"))
	}
	setProps(u, c)
	c.accessChanged()
	return nil
}

// deleteUser removes a user with its tokens, groups and ACLs. One that isn't
// there is removed all the same, and root comes back at once.
func deleteUser(c *call) (any, error) {
	acc := &c.state.Access
	userid := c.params.Str("userid")
	gone := acc.Users[userid]
	delete(acc.Users, userid)
	if userid == access.Root && gone != nil {
		acc.Users[userid] = &access.User{ID: userid, Enable: true, Password: gone.Password}
	}
	c.dropACL(func(e access.Entry) bool { return e.Kind == "user" && e.Who == userid })
	c.accessChanged()
	return nil, nil
}

func changePassword(c *call) (any, error) {
	userid := c.params.Str("userid")
	if err := c.reauthenticate(userid, "confirmation-password"); err != nil {
		return nil, err
	}
	switch {
	case c.who.Root():
	case c.who.Name() == userid:
		if err := c.userEnabled(userid); err != nil {
			return nil, err
		}
	case realmOf(userid) == "pam":
		return nil, denied("")
	}
	return nil, c.setPassword(userid, c.params.Str("password"))
}

// reauthenticate makes sure that it is really the caller who changes a
// user's credentials: all but root must give their own password again.
func (c *call) reauthenticate(userid, param string) error {
	if err := c.userExists(userid); err != nil {
		return err
	}
	if c.who.Root() {
		return nil
	}
	if userid == access.Root {
		return denied("")
	}
	if !c.params.Has(param) {
		return badParam(param, "password is required to modify user")
	}
	return c.checkPassword(c.who.User, c.params.Str(param))
}
