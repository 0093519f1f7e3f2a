package pvesim

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/proxplane/proxplane/pvesim/access"
)

var (
	userName  = regexp.MustCompile(`^[^\s:/]+@[A-Za-z][A-Za-z0-9.\-_]+$`)
	tokenName = regexp.MustCompile(`^[^\s:/]+@[A-Za-z][A-Za-z0-9.\-_]+![A-Za-z][A-Za-z0-9.\-_]+$`)
)

// verifyUserName checks that a text can be a user's name.
func verifyUserName(name string) error {
	switch n := utf8.RuneCountInString(name); {
	case n < 3:
		return die("user name '%s' is too short", name)
	case n > 64:
		return die("user name '%s' is too long (%d > 64)", name, n)
	case !userName.MatchString(name):
		return die("value '%s' does not look like a valid user name", name)
	}
	return nil
}

// realmOf is the part of a user's name after the last @.
func realmOf(userid string) string { return userid[strings.LastIndexByte(userid, '@')+1:] }

// accountOf is the part of a user's name before its realm.
func accountOf(userid string) string { return strings.TrimSuffix(userid, "@"+realmOf(userid)) }

func noUser(userid string) error { return die("no such user ('%s')", userid) }

// userExists says what Proxmox says of a user that isn't there.
func (s *Sim) userExists(userid string) error {
	if err := verifyUserName(userid); err != nil {
		return err
	}
	if s.state.Access.Users[userid] == nil {
		return noUser(userid)
	}
	return nil
}

// userEnabled checks that a user may log in.
func (s *Sim) userEnabled(userid string) error {
	if err := s.userExists(userid); err != nil {
		return err
	}
	u := s.state.Access.Users[userid]
	if !u.Enable {
		return die("user '%s' is disabled", userid)
	}
	if expired(u.Expire, s.now()) {
		return die("user '%s' access expired", userid)
	}
	return nil
}

// tokenExists gives a token, or says what Proxmox says when there is none.
func (s *Sim) tokenExists(userid, name string) (*access.Token, error) {
	if err := s.userExists(userid); err != nil {
		return nil, err
	}
	if t := s.state.Access.Users[userid].Tokens[name]; t != nil {
		return t, nil
	}
	return nil, die("no such token '%s' for user '%s'", name, userid)
}

func expired(at int64, now time.Time) bool { return at != 0 && at < now.Unix() }

// lookupUser finds the spelling of a user's name in a realm that doesn't
// care about case.
func (s *Sim) lookupUser(name string) (string, error) {
	realm := s.state.Access.Realms[realmOf(name)]
	if realm == nil || realm["case-sensitive"] != "0" {
		return name, nil
	}
	var found []string
	for id := range s.state.Access.Users {
		if strings.EqualFold(id, name) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return name, nil
	case 1:
		return found[0], nil
	}
	return slices.Min(found), die("ambiguous case insensitive match of username '%s', cannot safely grant access!", name)
}

// checkPassword authenticates a user by password.
func (s *Sim) checkPassword(userid, password string) error {
	realm := s.state.Access.Realms[realmOf(userid)]
	if realm == nil {
		return die("auth domain '%s' does not exist", realmOf(userid))
	}
	u := s.state.Access.Users[userid]
	switch typ := realm["type"]; {
	case typ == "openid":
		return die("OpenID realm does not allow password verification.")
	case typ != "pam" && typ != "pve":
		return die("unable to reach the server of realm '%s'", realmOf(userid))
	case password == "" || password == "0":
		return die("no password")
	case typ == "pve" && (u == nil || u.Password == ""):
		return die("no password set")
	case u != nil && u.Password != "" && u.Password == password:
		return nil
	case typ == "pve":
		return die("invalid credentials")
	}
	return die("Authentication failure")
}

// setPassword changes a user's password, where its realm can. Users of the
// pam realm are accounts of the hosts, which the API doesn't make.
func (s *Sim) setPassword(userid, password string) error {
	realm := s.state.Access.Realms[realmOf(userid)]
	if realm == nil {
		return die("auth domain '%s' does not exist", realmOf(userid))
	}
	u := s.state.Access.Users[userid]
	switch typ := realm["type"]; {
	case typ == "pam" && (u == nil || u.Password == "" && userid != access.Root):
		return die("change password failed: user '%s' does not exist", accountOf(userid))
	case typ != "pam" && typ != "pve":
		return die("can't set password on auth type '%s'", typ)
	}
	if u != nil {
		u.Password = password
	}
	return nil
}

// userData is what lists show of a user; full adds groups and tokens.
func userData(u *access.User, full bool) map[string]any {
	out := map[string]any{"enable": flagInt(u.Enable), "expire": u.Expire}
	for _, key := range []string{"firstname", "lastname", "email", "comment", "keys"} {
		if v := u.Props[key]; v != "" {
			out[key] = v
		}
	}
	// In user.cfg the email stands before comment and keys: where one of them
	// is set, an empty email is read back as such.
	if u.Props["comment"] != "" || u.Props["keys"] != "" {
		out["email"] = u.Props["email"]
	}
	if !full {
		return out
	}
	out["groups"] = append([]string{}, slices.Sorted(maps.Keys(u.Groups))...)
	out["tokens"] = nil
	if len(u.Tokens) > 0 {
		tokens := map[string]any{}
		for name, t := range u.Tokens {
			tokens[name] = tokenData(t)
		}
		out["tokens"] = tokens
	}
	return out
}

func tokenData(t *access.Token) map[string]any {
	out := map[string]any{"expire": t.Expire, "privsep": flagInt(t.PrivSep)}
	if t.Comment != "" {
		out["comment"] = t.Comment
	}
	return out
}

func flagInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
