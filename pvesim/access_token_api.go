package pvesim

import (
	"maps"
	"slices"

	"github.com/proxplane/proxplane/pvesim/access"
)

func tokenRoutes() map[string]handler {
	return map[string]handler{
		"GET /access/users/{userid}/token":              listTokens,
		"GET /access/users/{userid}/token/{tokenid}":    readToken,
		"POST /access/users/{userid}/token/{tokenid}":   createToken,
		"PUT /access/users/{userid}/token/{tokenid}":    updateToken,
		"DELETE /access/users/{userid}/token/{tokenid}": deleteToken,
	}
}

func tokenList(u *access.User) []map[string]any {
	list := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(u.Tokens)) {
		entry := tokenData(u.Tokens[name])
		entry["tokenid"] = name
		list = append(list, entry)
	}
	return list
}

func listTokens(c *call) (any, error) {
	userid := c.params.Str("userid")
	if err := c.userExists(userid); err != nil {
		return nil, err
	}
	return tokenList(c.state.Access.Users[userid]), nil
}

func readToken(c *call) (any, error) {
	t, err := c.tokenExists(c.params.Str("userid"), c.params.Str("tokenid"))
	if err != nil {
		return nil, err
	}
	return tokenData(t), nil
}

// createToken answers with what it was given, as it was given: numbers that
// came in a request are texts here.
func createToken(c *call) (any, error) {
	userid, name := c.params.Str("userid"), c.params.Str("tokenid")
	if err := c.userExists(userid); err != nil {
		return nil, err
	}
	u := c.state.Access.Users[userid]
	if u.Tokens[name] != nil {
		return nil, badParam("tokenid", "Token already exists.")
	}
	full := userid + "!" + name
	if !tokenName.MatchString(full) {
		return nil, inUserConfig("generating token failed", die("value '%s' does not look like a valid token ID", full))
	}
	t := &access.Token{PrivSep: true, Secret: c.uuid("token", full)}
	info := map[string]any{"privsep": 1}
	if c.params.Has("privsep") {
		t.PrivSep, info["privsep"] = c.params.Bool("privsep"), c.params.Str("privsep")
	}
	if c.params.Has("expire") {
		t.Expire, info["expire"] = int64(c.params.Int("expire")), c.params.Str("expire")
	}
	if c.given("comment") {
		t.Comment, info["comment"] = storedText(c.params.Str("comment")), c.params.Str("comment")
	}
	if u.Tokens == nil {
		u.Tokens = map[string]*access.Token{}
	}
	u.Tokens[name] = t
	c.accessChanged()
	return map[string]any{"info": info, "value": t.Secret, "full-tokenid": full}, nil
}

func updateToken(c *call) (any, error) {
	userid, name := c.params.Str("userid"), c.params.Str("tokenid")
	t, err := c.tokenExists(userid, name)
	if err != nil {
		return nil, err
	}
	for _, key := range c.params.List("delete") {
		if key != "comment" {
			return nil, inUserConfig("updating token info failed", badParam("delete", "unknown option '%s'", key))
		}
	}
	out := tokenData(t)
	if c.params.Has("privsep") {
		t.PrivSep, out["privsep"] = c.params.Bool("privsep"), c.params.Str("privsep")
	}
	if c.params.Has("expire") {
		t.Expire, out["expire"] = int64(c.params.Int("expire")), c.params.Str("expire")
	}
	// Until 8 an empty comment didn't replace one.
	if c.given("comment") || c.params.Has("comment") && c.atLeast(9) {
		t.Comment, out["comment"] = storedText(c.params.Str("comment")), c.params.Str("comment")
	}
	if len(c.params.List("delete")) > 0 || out["comment"] == "" {
		t.Comment = ""
		delete(out, "comment")
	}
	if c.params.Bool("regenerate") {
		full := userid + "!" + name
		t.Secret = c.uuid("token", full)
		out["value"], out["full-tokenid"] = t.Secret, full
	}
	c.accessChanged()
	return out, nil
}

func deleteToken(c *call) (any, error) {
	userid, name := c.params.Str("userid"), c.params.Str("tokenid")
	if _, err := c.tokenExists(userid, name); err != nil {
		return nil, err
	}
	delete(c.state.Access.Users[userid].Tokens, name)
	c.accessChanged()
	return nil, nil
}
