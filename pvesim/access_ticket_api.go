package pvesim

import (
	"regexp"
	"strings"

	"github.com/proxplane/proxplane/pvesim/access"
)

func ticketRoutes() map[string]handler {
	return map[string]handler{
		"GET /access/ticket":     func(*call) (any, error) { return nil, nil },
		"POST /access/ticket":    logIn,
		"POST /access/vncticket": verifyVNCTicket,
	}
}

// authFailure is all that a failed login says, so that nobody learns which
// users there are.
func (c *call) authFailure() error {
	c.punish()
	return coded(401, "authentication failure")
}

func logIn(c *call) (any, error) {
	username := c.params.Str("username")
	if c.given("realm") {
		username += "@" + c.params.Str("realm")
	}
	username, err := c.lookupUser(username)
	if err != nil {
		return nil, err
	}
	if c.userEnabled(username) != nil {
		return nil, c.authFailure()
	}
	out := map[string]any{"username": username}
	who := &access.Identity{User: username}
	if c.given("path") && c.given("privs") {
		if c.verifyAccess(who) != nil {
			return nil, c.authFailure()
		}
	} else {
		if c.verifyLogin(username) != nil {
			return nil, c.authFailure()
		}
		out["ticket"], out["CSRFPreventionToken"] = c.newTicket(username)
	}
	out["cap"] = c.capabilities(who)
	if c.state.Cluster != "" && c.has(who, "/", "Sys.Audit") {
		out["clustername"] = c.state.Cluster
	}
	return out, nil
}

// verifyLogin accepts the user's password or a ticket that is still valid:
// the user's own, or root's. Second factors aren't simulated, so nobody has
// one to answer for.
func (c *call) verifyLogin(username string) error {
	if c.params.Has("tfa-challenge") {
		return die("no such challenge")
	}
	password := c.params.Str("password")
	if owner, ok := c.ticketUser(password); ok && (owner == username || owner == access.Root) {
		return nil
	}
	return c.verifyPassword(username)
}

func (c *call) verifyPassword(username string) error {
	if err := c.checkPassword(username, c.params.Str("password")); err != nil {
		return err
	}
	if c.state.Access.Realms[realmOf(username)]["tfa"] != "" {
		return die("missing required 2nd keys")
	}
	if c.params.Has("otp") {
		return die("no such challenge")
	}
	return nil
}

// verifyAccess checks credentials and that the user has privileges on a path.
func (c *call) verifyAccess(who *access.Identity) error {
	path := access.CleanPath(c.params.Str("path"))
	if path == "" {
		return die("invalid path - %s", c.params.Str("path"))
	}
	password := c.params.Str("password")
	owner, ok := c.ticketUser(password)
	if (!ok || owner != who.User) && !c.vncTicketValid(password, who.User, path, "") {
		if err := c.verifyPassword(who.User); err != nil {
			return err
		}
	}
	return c.need(who, path, c.params.List("privs")...)
}

// verifyVNCTicket checks that a console ticket is good for a path and port.
func verifyVNCTicket(c *call) (any, error) {
	who := c.params.Str("authid")
	path := access.CleanPath(c.params.Str("path"))
	privs := c.params.List("privs")
	if path == "" || len(privs) == 0 || !c.vncTicketValid(c.params.Str("vncticket"), who, path, c.params.Str("port")) ||
		!c.has(access.ParseIdentity(who), path, privs...) {
		return nil, c.authFailure()
	}
	return nil, nil
}

// capGroups says which privileges count in each part of the web interface.
var capGroups = map[string]*regexp.Regexp{
	"vms":     regexp.MustCompile(`^(VM\.|Permissions\.Modify)`),
	"access":  regexp.MustCompile(`^((User|Group)\.|Permissions\.Modify)`),
	"storage": regexp.MustCompile(`^(Datastore\.|Permissions\.Modify)`),
	"nodes":   regexp.MustCompile(`^(Sys\.|Permissions\.Modify)`),
	"sdn":     regexp.MustCompile(`^(SDN\.|Permissions\.Modify)`),
	"dc":      regexp.MustCompile(`^(Sys\.Audit|Sys\.Modify|SDN\.)`),
	"mapping": regexp.MustCompile(`^(Mapping\.|Permissions\.Modify)`),
}

// capabilities is what a login tells the web interface about the user.
func (s *Sim) capabilities(who *access.Identity) map[string]map[string]int {
	out := map[string]map[string]int{}
	for group := range capGroups {
		out[group] = map[string]int{}
	}
	t := s.privTable()
	paths := append([]string{"/", "/nodes", "/access/groups", "/vms", "/storage", "/sdn", "/mapping"}, s.rightsIndex().Paths()...)
	for _, path := range paths {
		top, _, _ := strings.Cut(path[1:], "/")
		groups := []string{top}
		switch top {
		case "":
			groups = []string{"dc"}
		case "pool":
			groups = []string{"vms", "storage"}
		}
		for _, priv := range t.List(s.rightsOf(who, path).Set) {
			for _, g := range groups {
				if re := capGroups[g]; re != nil && re.MatchString(priv) {
					out[g][priv] = 1
				}
			}
		}
	}
	return out
}
