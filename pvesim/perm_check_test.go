package pvesim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/pvesim/access"
)

// sampleParams gives every parameter that a permission's path names a value.
func sampleParams(ep *schema.Endpoint) map[string]any {
	in := map[string]any{
		"vmid": "151", "node": "pve1", "storage": "local", "poolid": "web", "userid": "tom@pve", "realm": "pve", "path": "/vms/151",
		"groups": "ops", "id": "some-id", "name": "some-name", "group": "sec", "zone": "z1", "vnet": "v1", "bridge": "vmbr0",
	}
	for name := range ep.Params {
		if _, ok := in[name]; !ok && !strings.Contains(name, "[") {
			in[name] = "x-" + name
		}
	}
	return in
}

// requirement is a privilege that a check asks for, with the text of the
// answer when it is missing.
type requirement struct {
	path  string
	privs []string // one of them is enough
	says  string
}

// requirements lists what a conjunction asks for, in the order in which it
// is looked at; ok is false for checks of other kinds.
func requirements(check schema.Check, in map[string]any) (list []requirement, ok bool) {
	switch c := check.(type) {
	case schema.And:
		for _, part := range c {
			more, ok := requirements(part, in)
			if !ok {
				return nil, false
			}
			list = append(list, more...)
		}
		return list, true
	case schema.Perm:
		path := c.Path
		for name, v := range in {
			path = strings.ReplaceAll(path, "{"+name+"}", fmt.Sprint(v))
		}
		if strings.Contains(path, "{") {
			return nil, false
		}
		if c.Any {
			return []requirement{{path, c.Privs, fmt.Sprintf("Permission check failed (%s, %s)", path, strings.Join(c.Privs, "|"))}}, true
		}
		for _, p := range c.Privs {
			list = append(list, requirement{path, []string{p}, fmt.Sprintf("Permission check failed (%s, %s)", path, p)})
		}
		return list, true
	}
	return nil, false
}

// grantPrivs gives a user exactly these privileges on a path, as a role.
func grantPrivs(s *Sim, who, path string, privs ...string) {
	role := fmt.Sprintf("role%d", len(s.state.Access.Roles))
	s.state.Access.Roles[role] = privSet(privs)
	s.grant(path, "user", who, role, false)
}

func TestEveryCallAsksForThePrivilegesOfItsSchema(t *testing.T) {
	for _, release := range schema.Releases() {
		sch, err := schema.Load(release)
		if err != nil {
			t.Fatal(err)
		}
		checked := 0
		for _, ep := range sch.Endpoints() {
			in := sampleParams(ep)
			list, ok := requirements(ep.Permissions.Check, in)
			if !ok || ep.Permissions.User != "" {
				continue
			}
			checked++
			ann := &access.Identity{User: "ann@pve"}
			fresh := func() *Sim {
				s := bareSim(release)
				s.state.Access.Users["ann@pve"] = &access.User{ID: "ann@pve", Enable: true}
				return s
			}
			errorText := func(s *Sim) string {
				if err := s.checkEndpoint(ep, ann, in); err != nil {
					return err.Error()
				}
				return ""
			}
			// Without the i-th requirement the answer names it; alternatives
			// open the door one by one.
			for i, missing := range list {
				s := fresh()
				var paths []string
				for j, r := range list {
					if j != i && r.says != missing.says {
						paths = append(paths, r.path)
						grantPrivs(s, "ann@pve", r.path, r.privs[0])
					}
				}
				if got := errorText(s); got != missing.says {
					t.Errorf("%s %s with privileges on %v: got %q, want %q", release, ep, paths, got, missing.says)
				}
				for _, p := range missing.privs {
					s := fresh()
					for _, r := range list {
						if r.says != missing.says {
							grantPrivs(s, "ann@pve", r.path, r.privs...)
						}
					}
					grantPrivs(s, "ann@pve", missing.path, p)
					if got := errorText(s); got != "" {
						t.Errorf("%s %s with %s: %s", release, ep, p, got)
					}
				}
			}
		}
		if checked < 400 {
			t.Errorf("%s: only %d calls were checked", release, checked)
		}
	}
}

func TestWhoMayCallWhat(t *testing.T) {
	sch, err := schema.Load("9.2")
	if err != nil {
		t.Fatal(err)
	}
	s := bareSim("9.2")
	acc := &s.state.Access
	acc.Users["ann@pve"] = &access.User{ID: "ann@pve", Enable: true, Tokens: map[string]*access.Token{"all": {}}}
	acc.Users["tom@pve"] = &access.User{ID: "tom@pve", Enable: true, Groups: map[string]bool{"ops": true}}
	acc.Users["ted@pve"] = &access.User{ID: "ted@pve", Enable: true}
	acc.Users["boss@pve"] = &access.User{ID: "boss@pve", Enable: true}
	acc.Users[access.Root].Tokens = map[string]*access.Token{"all": {}}
	acc.Groups["ops"], acc.Groups["dev"] = &access.Group{ID: "ops"}, &access.Group{ID: "dev"}
	grantPrivs(s, "ann@pve", "/access/groups/ops", "User.Modify")
	grantPrivs(s, "boss@pve", "/access/realm/pve", "Realm.AllocateUser")
	grantPrivs(s, "boss@pve", "/access/groups", "User.Modify")
	grantPrivs(s, "boss@pve", "/vms/200", "VM.Allocate")
	for _, tc := range []struct {
		who, method, path string
		in                map[string]any
		want              string // in brackets; "ok": allowed, "-": no brackets
	}{
		{"", "GET", "/version", nil, "user != null"},
		{"", "GET", "/access/domains", nil, "ok"},
		{"ann@pve", "GET", "/access/domains", nil, "-"},
		{"ann@pve", "GET", "/version", nil, "ok"},
		{"ann@pve", "POST", "/nodes/{node}/execute", nil, "user != root@pam"},
		{"root@pam!all", "POST", "/nodes/{node}/execute", nil, "user != root@pam"},
		{"root@pam", "POST", "/nodes/{node}/execute", nil, "ok"},
		{"ann@pve", "GET", "/nodes/{node}/qemu/{vmid}/config", map[string]any{"vmid": "abc def"}, ", VM.Audit"},
		{"ann@pve", "GET", "/nodes/{node}/qemu/{vmid}/config", map[string]any{}, "/vms/-, VM.Audit"},
		// Users: themselves, or by a privilege on one of their groups.
		{"tom@pve", "GET", "/access/users/{userid}/token", map[string]any{"userid": "tom@pve"}, "ok"},
		{"tom@pve", "GET", "/access/users/{userid}/token", map[string]any{"userid": "ted@pve"}, "-"},
		{"tom@pve", "GET", "/access/users/{userid}/token", map[string]any{"userid": "nobody@pve"}, "-"},
		{"ann@pve", "GET", "/access/users/{userid}/token", map[string]any{"userid": "tom@pve"}, "ok"},
		{"ann@pve", "GET", "/access/users/{userid}/token", map[string]any{"userid": "ted@pve"}, "-"},
		{"ann@pve!all", "GET", "/access/users/{userid}/token", map[string]any{"userid": "ann@pve"}, "-"},
		{"root@pam!all", "GET", "/access/users/{userid}/token", map[string]any{"userid": "root@pam"}, "ok"},
		{"ann@pve", "GET", "/access/users/{userid}", map[string]any{"userid": "tom@pve"}, "ok"},
		{"ann@pve", "GET", "/access/users/{userid}", map[string]any{"userid": "ted@pve"}, "-"},
		{"ann@pve", "GET", "/access/users/{userid}", map[string]any{"userid": "nobody@pve"}, "!no such user ('nobody@pve')"},
		{"ann@pve", "PUT", "/access/users/{userid}", map[string]any{"userid": "tom@pve"}, "/access/groups, User.Modify"},
		{"ann@pve", "PUT", "/access/users/{userid}", map[string]any{"userid": "tom@pve", "groups": "ops"}, "ok"},
		{"ann@pve", "PUT", "/access/users/{userid}", map[string]any{"userid": "tom@pve", "groups": "ops,dev"}, "/access/groups/dev, User.Modify"},
		{"ann@pve", "POST", "/access/users", map[string]any{"userid": "new@pve", "groups": "ops"}, "/access/realm/pve, Realm.AllocateUser"},
		{"ann@pve", "POST", "/access/users", map[string]any{"userid": "x"}, "!user name 'x' is too short"},
		{"boss@pve", "POST", "/access/users", map[string]any{"userid": "new@pve"}, "ok"},
		{"boss@pve", "POST", "/access/users", map[string]any{"userid": "new@ldap"}, "/access/realm/ldap, Realm.AllocateUser"},
		{"boss@pve", "DELETE", "/access/users/{userid}", map[string]any{"userid": "tom@pve"}, "ok"},
		// An "and" inside an "or" answers with its own reason.
		{"tom@pve", "PUT", "/access/password", map[string]any{"userid": "tom@pve"}, "ok"},
		{"tom@pve", "PUT", "/access/password", map[string]any{"userid": "ted@pve"}, "/access/realm/pve, Realm.AllocateUser"},
		{"boss@pve", "PUT", "/access/password", map[string]any{"userid": "ted@pve"}, "ok"},
		{"tom@pve", "PUT", "/access/acl", map[string]any{"path": "/vms/200"}, "/vms/200, Permissions.Modify|VM.Allocate"},
		{"boss@pve", "PUT", "/access/acl", map[string]any{"path": "/vms/200"}, "ok"},
		{"tom@pve", "PUT", "/access/acl", map[string]any{"path": "a b"}, "ok"},
	} {
		ep := sch.Lookup(tc.method, tc.path)
		if ep == nil {
			t.Fatalf("no %s %s", tc.method, tc.path)
		}
		var who *access.Identity
		if tc.who != "" {
			who = access.ParseIdentity(tc.who)
		}
		in := tc.in
		if in == nil {
			in = map[string]any{}
		}
		want := "Permission check failed (" + tc.want + ")"
		switch {
		case tc.want == "ok":
			want = ""
		case tc.want == "-":
			want = "Permission check failed"
		case tc.want[0] == '!':
			want = tc.want[1:]
		}
		got := ""
		if err := s.checkEndpoint(ep, who, in); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s %s %v: got %q, want %q", tc.who, tc.method, tc.path, tc.in, got, want)
		}
	}
}

// The schemas' checks name only privileges that their release has.
func TestSchemasAndPrivilegesAgree(t *testing.T) {
	for _, release := range schema.Releases() {
		sch, err := schema.Load(release)
		if err != nil {
			t.Fatal(err)
		}
		names := bareSim(release).privTable().Names
		for _, ep := range sch.Endpoints() {
			var walk func(schema.Check)
			known := func(privs []string) {
				for _, p := range privs {
					if !slices.Contains(names, p) {
						t.Errorf("%s: %s asks for %s", release, ep, p)
					}
				}
			}
			walk = func(c schema.Check) {
				switch c := c.(type) {
				case schema.And:
					for _, part := range c {
						walk(part)
					}
				case schema.Or:
					for _, part := range c {
						walk(part)
					}
				case schema.Perm:
					known(c.Privs)
				case schema.UserGroup:
					known(c.Privs)
				}
			}
			walk(ep.Permissions.Check)
		}
		for _, p := range names {
			if err := sch.CheckFormat("pve-priv", p); err != nil {
				t.Errorf("%s: %v", release, err)
			}
		}
	}
}
