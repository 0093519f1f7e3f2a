package privileges_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/privileges"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/test/kit/pveum"
)

// account is who the stories are lived by.
var account = privileges.Account{User: "proxplane@pve", Token: "story", NewUser: true, NewToken: true}

// nobody has no privileges.
var nobody = privileges.Account{User: "nobody@pve", Token: "blind", NewUser: true, NewToken: true}

// grant runs the printed commands, and gives the token that they make.
func (c *cluster) grant(who privileges.Account, grants []privileges.Grant) pve.Credentials {
	c.t.Helper()
	var token pve.Credentials
	for _, line := range who.Commands(grants) {
		made, err := pveum.Run(context.Background(), c.root, line)
		if err != nil {
			c.t.Fatal(err)
		}
		if made.ID != "" {
			token = made.Credentials()
		}
	}
	return token
}

// without is the same grants but for one privilege on one path.
func without(grants []privileges.Grant, path, priv string) []privileges.Grant {
	var out []privileges.Grant
	for _, g := range grants {
		if g.Path == path {
			g.Privs = slices.DeleteFunc(slices.Clone(g.Privs), func(p privileges.Priv) bool { return p.Name == priv })
		}
		if len(g.Privs) > 0 {
			out = append(out, g)
		}
	}
	return out
}

func TestCommandsLeaveOutWhatIsThere(t *testing.T) {
	grants := []privileges.Grant{
		{Path: "/vms", Below: true, Privs: []privileges.Priv{{Name: "VM.Allocate"}, {Name: "VM.Audit"}}},
		{Path: "/storage/a", Privs: []privileges.Priv{{Name: "Datastore.Audit"}}},
		{Path: "/storage/b", Privs: []privileges.Priv{{Name: "Datastore.Audit"}}},
		{Path: "/storage/c", Privs: []privileges.Priv{{Name: "Datastore.AllocateSpace"}}},
	}
	a := privileges.Account{User: "o'hara@pve", Token: "x", Roles: map[string][]string{
		"o-hara-guests": {"VM.Audit", "VM.Allocate"}, "o-hara-disks": {"Datastore.Audit", "Datastore.AllocateSpace"},
	}}
	want := []string{
		`pveum role add o-hara-disks-2 --privs Datastore.Audit`,
		`pveum role add o-hara-disks-3 --privs Datastore.AllocateSpace`,
		`pveum acl modify /vms --roles o-hara-guests --users 'o'\''hara@pve' --tokens 'o'\''hara@pve!x'`,
		`pveum acl modify /storage/a --roles o-hara-disks-2 --users 'o'\''hara@pve' --tokens 'o'\''hara@pve!x' --propagate 0`,
		`pveum acl modify /storage/b --roles o-hara-disks-2 --users 'o'\''hara@pve' --tokens 'o'\''hara@pve!x' --propagate 0`,
		`pveum acl modify /storage/c --roles o-hara-disks-3 --users 'o'\''hara@pve' --tokens 'o'\''hara@pve!x' --propagate 0`,
	}
	if diff := cmp.Diff(want, a.Commands(grants)); diff != "" {
		t.Error(diff)
	}
	for _, line := range want {
		words, err := pveum.Words(line)
		if err != nil {
			t.Error(err)
		}
		if slices.Contains(words, "--users") && words[slices.Index(words, "--users")+1] != a.User {
			t.Errorf("a shell reads %q", words)
		}
	}
}
