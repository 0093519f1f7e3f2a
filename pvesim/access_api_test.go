package pvesim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (v *visitor) same(got, want any, what string) {
	v.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		v.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

type object = map[string]any

func TestUsersAreKeptAsInTheirFile(t *testing.T) {
	o := newOffice(t, "9.2")
	root := o.root()
	root.must("POST", "/access/groups", "groupid", "ops", "comment", "Operators")
	root.must("POST", "/access/groups", "groupid", "dev")
	root.must("POST", "/access/users", "userid", "ann@pve", "groups", "ops,dev", "firstname", "Ann", "keys", "k1", "expire", "1000")
	root.must("POST", "/access/users/ann@pve/token/ci", "comment", "for CI", "expire", "2000")
	root.same(root.must("GET", "/access/users/ann@pve"), object{
		"enable": 1.0, "expire": 1000.0, "firstname": "Ann", "keys": "k1", "email": "", "groups": []any{"dev", "ops"},
		"tokens": object{"ci": object{"comment": "for CI", "expire": 2000.0, "privsep": 1.0}},
	}, "a user")
	root.must("PUT", "/access/users/ann@pve", "groups", "dev", "keys", "", "email", "ann@example.org", "comment", " 1: ")
	root.must("PUT", "/access/users/ann@pve", "groups", "ops", "append", "1", "expire", "0")
	root.must("PUT", "/access/users/ann@pve", "groups", "")
	root.must("PUT", "/access/users/ann@pve", "groups", "ops")
	root.same(root.must("GET", "/access/users", "full", "1", "enabled", "1"), []any{
		object{"userid": "ann@pve", "realm-type": "pve", "enable": 1.0, "expire": 0.0, "firstname": "Ann", "email": "ann@example.org",
			"comment": "1:", "groups": "ops", "tokens": []any{object{"tokenid": "ci", "comment": "for CI", "expire": 2000.0, "privsep": 1.0}}},
		object{"userid": "root@pam", "realm-type": "pam", "enable": 1.0, "expire": 0.0, "groups": "", "tokens": nil},
	}, "the list of users")
	root.same(root.must("GET", "/access/groups"), []any{
		object{"groupid": "dev", "users": ""}, object{"groupid": "ops", "users": "ann@pve", "comment": "Operators"},
	}, "the list of groups")
	root.same(root.must("GET", "/access/groups/ops"), object{"members": []any{"ann@pve"}, "comment": "Operators"}, "a group")

	for _, tc := range []struct {
		r      reply
		reason string
	}{
		{root.post("/access/users", "userid", "bob@pve", "groups", "nope"), "create user failed: no such group 'nope'"},
		{root.put("/access/users/ann@pve", "groups", "nope"), "update user failed: no such group 'nope'"},
		{root.put("/access/users/bob@pve", "comment", "x"), "update user failed: no such user ('bob@pve')"},
		{root.post("/access/users", "userid", "bob@ldap", "password", "12345678"), "create user failed: auth domain 'ldap' does not exist"},
		{root.post("/access/users", "userid", "bob@pam", "password", "12345678"), "create user failed: change password failed: user 'bob' does not exist"},
		{root.post("/access/groups", "groupid", "ops"), "create group failed: group 'ops' already exists"},
		{root.put("/access/groups/nope", "comment", "x"), "update group failed: group 'nope' does not exist"},
		{root.delete("/access/groups/nope"), "delete group failed: group 'nope' does not exist"},
		{root.get("/access/groups/nope"), "group 'nope' does not exist"},
		{root.get("/access/users/ann@pve/token/nope"), "no such token 'nope' for user 'ann@pve'"},
		{root.put("/access/users/ann@pve/token/ci", "delete", "expire"), "updating token info failed: 400 Parameter verification failed."},
		{root.get("/access/users/bob@pve/token"), "no such user ('bob@pve')"},
		{root.delete("/access/users/ann@pve/token/nope"), "no such token 'nope' for user 'ann@pve'"},
	} {
		root.expect(tc.r, 500, tc.reason)
	}
	root.must("DELETE", "/access/users/nobody@pve")
	root.must("DELETE", "/access/groups/ops")
	root.same(root.must("GET", "/access/users/ann@pve").(object)["groups"], []any{}, "groups after the group is gone")
}

func TestTokensAnswerWithWhatTheyWereGiven(t *testing.T) {
	o := newOffice(t, "9.2", WorldUser{ID: "ann@pve", Password: "ann-secret"})
	ann := o.login("ann@pve", "ann-secret")
	first := ann.must("POST", "/access/users/ann@pve/token/ci", "privsep", "0", "comment", "c").(object)
	ann.same(first["info"], object{"privsep": "0", "comment": "c"}, "info of a new token")
	ann.same(ann.must("PUT", "/access/users/ann@pve/token/ci", "privsep", "1"), object{"privsep": "1", "expire": 0.0, "comment": "c"}, "after the first change")
	second := ann.must("PUT", "/access/users/ann@pve/token/ci", "delete", "comment", "regenerate", "1").(object)
	if second["value"] == first["value"] || second["full-tokenid"] != "ann@pve!ci" || second["comment"] != nil {
		t.Errorf("regenerated token: %v", second)
	}
	old, renewed := o.token("ann@pve!ci", first["value"].(string)), o.token("ann@pve!ci", second["value"].(string))
	ann.expect(old.get("/version"), 401, "")
	ann.expect(renewed.get("/version"), 200, "")
	// Tokens may not do what only people may.
	ann.expect(renewed.put("/access/password", "userid", "ann@pve", "password", "12345678"), 403,
		"Permission check failed (URI '/access/password' not available with API token, need proper ticket.")
	ann.expect(renewed.get("/access/users/ann@pve/token"), 403, "Permission check failed")
}

func TestPasswordsAreChangedByThoseWhoKnowThem(t *testing.T) {
	o := newOffice(t, "9.2", WorldUser{ID: "ann@pve", Password: "ann-secret"}, WorldUser{ID: "boss@pve", Password: "boss-secret"},
		WorldUser{ID: "tom@pam", Password: "tom-secret"})
	root, ann, boss := o.root(), o.login("ann@pve", "ann-secret"), o.login("boss@pve", "boss-secret")
	root.must("PUT", "/access/acl", "path", "/access", "roles", "PVEUserAdmin", "users", "boss@pve")
	r := ann.put("/access/password", "userid", "ann@pve", "password", "new-secret")
	ann.expect(r, 400, "")
	ann.same(r.errors, object{"confirmation-password": "password is required to modify user"}, "errors")
	ann.expect(ann.put("/access/password", "userid", "ann@pve", "password", "new-secret", "confirmation-password", "wrong"), 500, "invalid credentials")
	ann.expect(ann.put("/access/password", "userid", "boss@pve", "password", "new-secret"), 403, "Permission check failed (/access/realm/pve, Realm.AllocateUser)")
	ann.must("PUT", "/access/password", "userid", "ann@pve", "password", "new-secret", "confirmation-password", "ann-secret")
	o.login("ann@pve", "new-secret")
	boss.must("PUT", "/access/password", "userid", "ann@pve", "password", "other-secret", "confirmation-password", "boss-secret")
	o.login("ann@pve", "other-secret")
	boss.expect(boss.put("/access/password", "userid", "tom@pam", "password", "new-secret", "confirmation-password", "boss-secret"), 403, "Permission check failed")
	boss.expect(boss.put("/access/password", "userid", "root@pam", "password", "new-secret", "confirmation-password", "boss-secret"), 403, "Permission check failed")
	root.must("PUT", "/access/password", "userid", "tom@pam", "password", "new-secret")
	o.login("tom@pam", "new-secret")
}

func TestRolesAreMadeByPeopleOrProxmox(t *testing.T) {
	for _, release := range []string{"9.2", "8.4"} {
		o := newOffice(t, release)
		root := o.root()
		r := root.post("/access/roles", "roleid", "pveMine")
		root.expect(r, 400, "")
		root.same(r.errors, object{"roleid": "cannot use role ID starting with the (case-insensitive) 'PVE' namespace"}, "errors")
		root.must("POST", "/access/roles", "roleid", "Mine", "privs", "VM.Audit")
		root.must("PUT", "/access/roles/Mine", "privs", "VM.Console", "append", "1")
		root.same(root.must("GET", "/access/roles/Mine"), object{"VM.Audit": 1.0, "VM.Console": 1.0}, "appended")
		root.must("PUT", "/access/roles/Mine", "privs", "VM.Backup")
		root.same(root.must("GET", "/access/roles/Mine"), object{"VM.Backup": 1.0}, "replaced")
		root.must("PUT", "/access/roles/Mine")
		root.same(root.must("GET", "/access/roles/Mine"), object{}, "emptied")
		root.expect(root.put("/access/roles/PVEAdmin", "privs", "VM.Audit"), 500, "auto-generated role 'PVEAdmin' cannot be modified")
		root.expect(root.put("/access/roles/Nope", "privs", "VM.Audit"), 500, "update role failed: role 'Nope' does not exist")
		root.expect(root.delete("/access/roles/Nope"), 500, "delete role failed: role 'Nope' does not exist")
		root.expect(root.get("/access/roles/Nope"), 500, "role 'Nope' does not exist")
		monitor := root.post("/access/roles", "roleid", "Old", "privs", "VM.Monitor")
		if release == "8.4" {
			root.expect(monitor, 200, "")
		} else {
			root.expect(monitor, 400, "")
		}
		// ACLs of a role go with it.
		root.must("PUT", "/access/acl", "path", "/vms", "roles", "Mine", "users", "root@pam")
		root.must("POST", "/access/users", "userid", "ann@pve")
		root.must("PUT", "/access/acl", "path", "/vms", "roles", "Mine", "users", "ann@pve")
		root.same(len(root.must("GET", "/access/acl").([]any)), 1, "entries, root's not among them")
		root.must("DELETE", "/access/roles/Mine")
		root.must("POST", "/access/roles", "roleid", "Mine")
		root.same(root.must("GET", "/access/acl"), []any{}, "ACLs after the role is gone")
	}
}

func TestACLsAreChecked(t *testing.T) {
	o := newOffice(t, "9.2", WorldUser{ID: "ann@pve", Password: "ann-secret", Tokens: []WorldToken{{Name: "tk", Secret: "s", PrivSep: true}}},
		WorldUser{ID: "bob@pve"})
	root, ann := o.root(), o.login("ann@pve", "ann-secret")
	root.must("POST", "/access/groups", "groupid", "ops")
	r := root.put("/access/acl", "path", "/", "roles", "PVEAdmin")
	root.expect(r, 400, "")
	root.same(len(r.errors), 3, "errors without anybody to grant to")
	for _, path := range []string{"/", "/access/realm/pve", "/sdn/zones/localnetwork/vmbr0/20", "/pool/a/b/c", "/mapping/dir/x", "/sdn/fabrics/f1", "vms//100/"} {
		root.must("PUT", "/access/acl", "path", path, "roles", "PVEAuditor", "users", "bob@pve")
		root.must("PUT", "/access/acl", "path", path, "roles", "PVEAuditor", "users", "bob@pve", "delete", "1")
	}
	for _, path := range []string{"/vms/99", "/vms/x", "/pool/a/b/c/d", "/sdn/zones/z/b/0", "/nodes/a/b", "/a b"} {
		r := root.put("/access/acl", "path", path, "roles", "PVEAuditor", "users", "bob@pve")
		root.expect(r, 400, "")
		root.same(r.errors, object{"path": "invalid ACL path '" + path + "'"}, path)
	}
	for reason, params := range map[string][]string{
		"group 'nope' does not exist":             {"groups", "nope"},
		"no such user ('nope@pve')":               {"tokens", "nope@pve!tk"},
		"no such token 'xx' for user 'ann@pve'":   {"tokens", "ann@pve!xx"},
		"user 'nope@pve' does not exist":          {"users", "nope@pve"},
		"role 'Nope' does not exist":              {"users", "bob@pve", "roles", "Nope"},
		"user 'none@pve' does not exist":          {"users", "bob@pve,none@pve"},
		"no such token 'also' for user 'bob@pve'": {"tokens", "ann@pve!tk,bob@pve!also"},
	} {
		if len(params) == 2 {
			params = append(params, "roles", "PVEAdmin")
		}
		root.expect(root.put("/access/acl", append(params, "path", "/")...), 500, "ACL update failed: "+reason)
	}
	root.same(root.must("GET", "/access/acl"), []any{}, "ACLs after nothing but failures")

	// Who may allocate a guest may hand out what they have themselves.
	root.must("PUT", "/access/acl", "path", "/vms/100", "roles", "PVEVMAdmin", "users", "ann@pve", "propagate", "0")
	const failed = "ACL update failed: 400 Parameter verification failed."
	ann.expect(ann.put("/access/acl", "path", "/vms/100", "roles", "Administrator", "users", "bob@pve", "propagate", "0"), 500, failed)
	ann.expect(ann.put("/access/acl", "path", "/vms/100", "roles", "PVEVMUser", "users", "bob@pve"), 500, failed)
	ann.expect(ann.put("/access/acl", "path", "/vms/100", "roles", "NoAccess", "users", "bob@pve", "propagate", "0"), 500, failed)
	ann.expect(ann.put("/access/acl", "path", "/vms/100", "roles", "PVEVMUser", "users", "bob@pve", "propagate", "0"), 200, "")
	ann.expect(ann.put("/access/acl", "path", "/vms/101", "roles", "PVEVMUser", "users", "bob@pve", "propagate", "0"), 403,
		"Permission check failed (/vms/101, Permissions.Modify|VM.Allocate)")
	ann.same(ann.must("GET", "/access/acl"), []any{
		object{"path": "/vms/100", "type": "user", "ugid": "ann@pve", "roleid": "PVEVMAdmin", "propagate": 0.0},
		object{"path": "/vms/100", "type": "user", "ugid": "bob@pve", "roleid": "PVEVMUser", "propagate": 0.0},
	}, "what ann sees of the ACLs")
	// The same role again replaces the entry.
	root.must("PUT", "/access/acl", "path", "/vms/100", "roles", "PVEVMAdmin", "users", "ann@pve")
	perms := ann.must("GET", "/access/permissions", "path", "/vms/100").(object)["/vms/100"].(object)
	ann.same(perms["VM.Allocate"], 1.0, "propagation after the change")

	// A token's ACLs go with it.
	root.must("PUT", "/access/acl", "path", "/", "roles", "PVEAuditor", "tokens", "ann@pve!tk")
	root.must("DELETE", "/access/users/ann@pve/token/tk")
	root.must("POST", "/access/users/ann@pve/token/tk")
	for _, e := range root.must("GET", "/access/acl").([]any) {
		if e.(object)["type"] == "token" {
			t.Errorf("the ACL of a token that is gone: %v", e)
		}
	}
}

func TestPermissionsOfOthersAreForAuditors(t *testing.T) {
	o := newOffice(t, "9.2", WorldUser{ID: "ann@pve", Password: "ann-secret", Tokens: []WorldToken{{Name: "tk", Secret: "s", PrivSep: true}}})
	root, ann := o.root(), o.login("ann@pve", "ann-secret")
	root.must("POST", "/pools", "poolid", "web")
	root.must("PUT", "/pools", "poolid", "web", "vms", "100", "storage", "fast")
	root.must("PUT", "/access/acl", "path", "/pool/web", "roles", "PVEPoolUser", "users", "ann@pve")
	ann.same(ann.must("GET", "/access/permissions"), object{
		"/pool/web": object{"Pool.Audit": 1.0}, "/vms/100": object{"Pool.Audit": 0.0}, "/storage/fast": object{"Pool.Audit": 0.0},
	}, "own permissions")
	ann.same(ann.must("GET", "/access/permissions", "userid", "ann@pve!tk"), object{}, "those of the own token")
	ann.same(ann.must("GET", "/access/permissions", "path", "/vms/1"), object{"/vms/1": object{}}, "those on one path")
	ann.expect(ann.get("/access/permissions", "userid", "root@pam"), 403, "Permission check failed (/access, Sys.Audit)")
	tok := o.token("ann@pve!tk", "s")
	tok.expect(tok.get("/access/permissions", "userid", "ann@pve"), 403, "Permission check failed (/access, Sys.Audit)")
	root.must("PUT", "/access/acl", "path", "/access", "roles", "PVEAuditor", "users", "ann@pve")
	ann.must("GET", "/access/permissions", "userid", "root@pam")
}

func TestListsShowWhatOneMaySee(t *testing.T) {
	o := newOffice(t, "9.2", WorldUser{ID: "ann@pve", Password: "ann-secret"}, WorldUser{ID: "bob@pve"}, WorldUser{ID: "tom@pve"})
	root, ann := o.root(), o.login("ann@pve", "ann-secret")
	root.must("POST", "/access/groups", "groupid", "ops")
	root.must("POST", "/access/groups", "groupid", "dev")
	root.must("PUT", "/access/users/bob@pve", "groups", "ops")
	ids := func(list any, key string) string {
		var out []string
		for _, e := range list.([]any) {
			out = append(out, e.(object)[key].(string))
		}
		return strings.Join(out, " ")
	}
	ann.same(ids(ann.must("GET", "/access/users"), "userid"), "ann@pve", "users without any privilege")
	ann.same(ids(ann.must("GET", "/access/groups"), "groupid"), "", "groups without any privilege")
	root.must("PUT", "/access/acl", "path", "/access/groups/ops", "roles", "PVEUserAdmin", "users", "ann@pve")
	ann.same(ids(ann.must("GET", "/access/users"), "userid"), "ann@pve bob@pve", "users with a privilege on a group")
	ann.same(ids(ann.must("GET", "/access/groups"), "groupid"), "ops", "groups with a privilege on one")
	ann.expect(ann.get("/access/users/tom@pve"), 403, "Permission check failed")
	ann.must("GET", "/access/users/bob@pve")
}

func TestRealmsAreConfigured(t *testing.T) {
	o := newOffice(t, "9.2")
	root := o.root()
	root.expect(root.post("/access/domains", "realm", "corp", "type", "ldap", "server1", "ldap.example.org"), 500,
		"add auth server failed: missing value for required option 'base_dn'")
	root.expect(root.post("/access/domains", "realm", "corp", "type", "pam"), 500, "add auth server failed: unable to create builtin type 'pam'")
	root.expect(root.post("/access/domains", "realm", "sso", "type", "openid", "issuer-url", "https://i", "client-id", "c", "base_dn", "x"), 500,
		"add auth server failed: unexpected property 'base_dn'")
	root.must("POST", "/access/domains", "realm", "corp", "type", "ldap", "server1", "ldap.example.org", "base_dn", "dc=x", "user_attr", "uid",
		"default", "1", "port", "636", "password", "hidden")
	got := root.must("GET", "/access/domains/corp").(object)
	digest := got["digest"].(string)
	delete(got, "digest")
	root.same(got, object{"type": "ldap", "server1": "ldap.example.org", "base_dn": "dc=x", "user_attr": "uid", "default": 1.0, "port": 636.0}, "a realm")
	root.expect(root.put("/access/domains/corp", "digest", digest), 500, "update auth server failed: no options specified")
	root.must("PUT", "/access/domains/corp", "comment", "Corporate", "digest", digest)
	root.expect(root.put("/access/domains/corp", "comment", "x", "digest", digest), 500,
		"update auth server failed: detected modified configuration - file changed by other user? Try again.")
	root.must("PUT", "/access/domains/pve", "default", "1")
	root.same(root.must("GET", "/access/domains"), []any{
		object{"realm": "corp", "type": "ldap", "comment": "Corporate"},
		object{"realm": "pam", "type": "pam", "comment": "Linux PAM standard authentication"},
		object{"realm": "pve", "type": "pve", "comment": "Proxmox VE authentication server", "default": 1.0},
	}, "realms")
	root.must("POST", "/access/users", "userid", "ann@corp")
	root.expect(root.put("/access/password", "userid", "ann@corp", "password", "12345678"), 500, "can't set password on auth type 'ldap'")
	root.must("DELETE", "/access/domains/corp")
	root.expect(root.get("/access/domains/corp"), 500, "domain 'corp' does not exist")
	root.expect(root.delete("/access/domains/corp"), 500, "delete auth server failed: authentication domain 'corp' does not exist")
}

func TestNobodyHasASecondFactor(t *testing.T) {
	o := newOffice(t, "9.2")
	root := o.root()
	root.same(root.must("GET", "/access/tfa"), []any{}, "all entries")
	root.same(root.must("GET", "/access/tfa/root@pam"), []any{}, "root's entries")
	root.same(root.must("GET", "/access/users/root@pam/tfa", "multiple", "1"), object{"user": []any{}}, "root's types")
	root.expect(root.get("/access/tfa/root@pam/x"), 404, "No such tfa entry 'x'")
	root.expect(root.post("/access/tfa/root@pam", "type", "recovery"), 501, "")
}
