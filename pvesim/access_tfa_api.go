package pvesim

import "net/http"

// tfaRoutes show that nobody has a second factor. Adding one isn't simulated.
func tfaRoutes() map[string]handler {
	return map[string]handler{
		"GET /access/tfa":                       func(*call) (any, error) { return []any{}, nil },
		"GET /access/tfa/{userid}":              func(*call) (any, error) { return []any{}, nil },
		"GET /access/tfa/{userid}/{id}":         readTFA,
		"PUT /access/tfa/{userid}/{id}":         changeTFA,
		"DELETE /access/tfa/{userid}/{id}":      changeTFA,
		"GET /access/users/{userid}/tfa":        readUserTFA,
		"PUT /access/users/{userid}/unlock-tfa": func(*call) (any, error) { return 0, nil },
	}
}

func readTFA(c *call) (any, error) {
	return nil, coded(http.StatusNotFound, "No such tfa entry '%s'", c.params.Str("id"))
}

func changeTFA(c *call) (any, error) {
	if err := c.reauthenticate(c.params.Str("userid"), "password"); err != nil {
		return nil, err
	}
	return nil, die("no such entry")
}

func readUserTFA(c *call) (any, error) {
	realm := realmOf(c.params.Str("userid"))
	conf := c.state.Access.Realms[realm]
	if conf == nil {
		return nil, die("auth domain '%s' does not exist", realm)
	}
	out := map[string]any{}
	if kind := tfaKind(conf); kind != "" {
		out["realm"] = kind
	}
	if c.params.Bool("multiple") {
		out["user"] = []string{}
	}
	return out, nil
}
