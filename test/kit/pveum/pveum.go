// Package pveum does what commands of pveum do on a node, by the API: what we print
// for people to paste can be tried out.
package pveum

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve"
)

// Words takes a line apart as a shell does, as far as we quote. What an interactive
// shell would do something else with is an error.
func Words(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	quoted, begun := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			quoted, begun = !quoted, true
		case c == '\\' && !quoted:
			i++
			word.WriteByte(line[i])
		case c == ' ' && !quoted:
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		case !quoted && strings.IndexByte("!\"$`&|;<>()*?#~", c) >= 0:
			return nil, fmt.Errorf("%q means something to a shell in: %s", c, line)
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("a quote is open: %s", line)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// Run does what a line says. A token that it makes is returned.
func Run(ctx context.Context, c *pve.Client, line string) (made pve.CreatedToken, err error) {
	words, err := Words(line)
	if err != nil {
		return made, err
	}
	if len(words) < 4 || words[0] != "pveum" {
		return made, fmt.Errorf("not a command of pveum: %s", line)
	}
	at := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "--") })
	if at < 0 {
		at = len(words)
	}
	flags := options(words[at:])
	take := func(name string) string { defer delete(flags, name); return flags[name] }
	list := func(name string) []string { return strings.Fields(strings.ReplaceAll(take(name), ",", " ")) }
	access, args := c.Access(), words[1:at]
	switch command := strings.Join(args[:2], " "); {
	case command == "pool add":
		err = c.Call(ctx, http.MethodPost, "/pools", pve.Params{"poolid": args[2]}, nil)
	case command == "role add":
		err = access.CreateRole(ctx, args[2], list("--privs"))
	case command == "role modify":
		err = access.SetRole(ctx, args[2], pve.RoleChange{Privileges: list("--privs"), Append: take("--append") == "1"})
	case command == "user add":
		err = access.CreateUser(ctx, pve.NewUser{ID: args[2], Comment: take("--comment")})
	case command == "user token" && args[2] == "add":
		made, err = access.CreateToken(ctx, args[3], args[4], pve.NewToken{PrivSep: new(take("--privsep") == "1")})
	case command == "acl modify":
		change := pve.ACLChange{Path: args[2], Roles: list("--roles"), Users: list("--users"), Groups: list("--groups"), Tokens: list("--tokens")}
		if take("--propagate") == "0" {
			change.Propagate = new(false)
		}
		err = access.SetACL(ctx, change)
	default:
		err = fmt.Errorf("no such command")
	}
	if err != nil {
		return made, fmt.Errorf("%s: %w", line, err)
	}
	if len(flags) > 0 {
		return made, fmt.Errorf("options that aren't there: %v in %s", flags, line)
	}
	return made, nil
}

// options are the words behind the arguments; one without a value is on.
func options(words []string) map[string]string {
	flags := map[string]string{}
	for i := 0; i < len(words); i++ {
		if i+1 < len(words) && !strings.HasPrefix(words[i+1], "--") {
			flags[words[i]] = words[i+1]
			i++
		} else {
			flags[words[i]] = "1"
		}
	}
	return flags
}
