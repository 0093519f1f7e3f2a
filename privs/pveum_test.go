package privs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/privs"
	"github.com/proxplane/proxplane/pve"
)

// shell takes a line apart as a shell does, as far as we quote.
func shell(t *testing.T, line string) []string {
	t.Helper()
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
			t.Fatalf("%q means something to a shell in: %s", c, line)
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if quoted {
		t.Fatalf("a quote is open: %s", line)
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}

// pveum does what the command does on a node, by the API.
func (c *cluster) pveum(line string) (made pve.CreatedToken, err error) {
	c.t.Helper()
	words := shell(c.t, line)
	if len(words) < 4 || words[0] != "pveum" {
		c.t.Fatalf("not a command of pveum: %s", line)
	}
	at := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "--") })
	if at < 0 {
		at = len(words)
	}
	flags := map[string]string{}
	for i := at; i+1 < len(words); i += 2 {
		flags[words[i]] = words[i+1]
	}
	take := func(name string) string { defer delete(flags, name); return flags[name] }
	list := func(name string) []string { return strings.Fields(strings.ReplaceAll(take(name), ",", " ")) }
	ctx, access, args := context.Background(), c.root.Access(), words[1:at]
	switch command := strings.Join(args[:2], " "); {
	case command == "role add":
		err = access.CreateRole(ctx, args[2], list("--privs"))
	case command == "role modify":
		err = access.SetRole(ctx, args[2], pve.RoleChange{Privileges: list("--privs")})
	case command == "user add":
		err = access.CreateUser(ctx, pve.NewUser{ID: args[2], Comment: take("--comment")})
	case command == "user token" && args[2] == "add":
		made, err = access.CreateToken(ctx, args[3], args[4], pve.NewToken{PrivSep: new(take("--privsep") == "1")})
	case command == "acl modify":
		change := pve.ACLChange{Path: args[2], Roles: list("--roles"), Users: list("--users"), Tokens: list("--tokens")}
		if take("--propagate") == "0" {
			change.Propagate = new(false)
		}
		err = access.SetACL(ctx, change)
	default:
		err = fmt.Errorf("no such command")
	}
	if len(flags) > 0 {
		c.t.Fatalf("flags that aren't there: %v in %s", flags, line)
	}
	return made, err
}

// account is who the stories are lived by.
var account = privs.Account{User: "proxplane@pve", Token: "story", NewUser: true, NewToken: true}

// grant runs the printed commands, and gives the token that they make.
func (c *cluster) grant(grants []privs.Grant) pve.Credentials {
	c.t.Helper()
	var token pve.Credentials
	for _, line := range account.Commands(grants) {
		made, err := c.pveum(line)
		if err != nil {
			c.t.Fatalf("%s: %v", line, err)
		}
		if made.ID != "" {
			token = made.Credentials()
		}
	}
	return token
}

// without is the same grants but for one privilege on one path.
func without(grants []privs.Grant, path, priv string) []privs.Grant {
	var out []privs.Grant
	for _, g := range grants {
		if g.Path == path {
			g.Privs = slices.DeleteFunc(slices.Clone(g.Privs), func(p privs.Priv) bool { return p.Name == priv })
		}
		if len(g.Privs) > 0 {
			out = append(out, g)
		}
	}
	return out
}

func TestCommandsLeaveOutWhatIsThere(t *testing.T) {
	grants := []privs.Grant{
		{Path: "/vms", Below: true, Privs: []privs.Priv{{Name: "VM.Allocate"}, {Name: "VM.Audit"}}},
		{Path: "/storage/a", Privs: []privs.Priv{{Name: "Datastore.Audit"}}},
		{Path: "/storage/b", Privs: []privs.Priv{{Name: "Datastore.Audit"}}},
		{Path: "/storage/c", Privs: []privs.Priv{{Name: "Datastore.AllocateSpace"}}},
	}
	a := privs.Account{User: "o'hara@pve", Token: "x", Roles: map[string][]string{
		"o-hara-guests": {"VM.Audit", "VM.Allocate"}, "o-hara-disks": {"Datastore.Audit", "Datastore.AllocateSpace"},
	}}
	want := []string{
		`pveum role modify o-hara-disks --privs Datastore.Audit`,
		`pveum role add o-hara-disks-2 --privs Datastore.AllocateSpace`,
		`pveum acl modify /vms --roles o-hara-guests --users 'o'\''hara@pve' --tokens 'o'\''hara@pve!x'`,
		`pveum acl modify /storage/a --roles o-hara-disks --users 'o'\''hara@pve' --tokens 'o'\''hara@pve!x' --propagate 0`,
		`pveum acl modify /storage/b --roles o-hara-disks --users 'o'\''hara@pve' --tokens 'o'\''hara@pve!x' --propagate 0`,
		`pveum acl modify /storage/c --roles o-hara-disks-2 --users 'o'\''hara@pve' --tokens 'o'\''hara@pve!x' --propagate 0`,
	}
	if diff := cmp.Diff(want, a.Commands(grants)); diff != "" {
		t.Error(diff)
	}
	for _, line := range want {
		if words := shell(t, line); slices.Contains(words, "--users") && words[slices.Index(words, "--users")+1] != a.User {
			t.Errorf("a shell reads %q", words)
		}
	}
}
