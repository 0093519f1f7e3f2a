package pvesim

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTicketsLiveTwoHoursAndAreRenewedByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, "9.2", WorldUser{ID: "ann@pve", Password: "ann-secret"})
		ann := o.login("ann@pve", "ann-secret")
		time.Sleep(119 * time.Minute)
		ann.expect(ann.get("/version"), 200, "OK")
		ticket, _ := url.QueryUnescape(strings.TrimPrefix(ann.header.Get("Cookie"), "PVEAuthCookie="))
		renewed := o.login("ann@pve", ticket)
		time.Sleep(2 * time.Minute)
		ann.expect(ann.get("/version"), 401, "Authentication failed!")
		renewed.expect(renewed.get("/version"), 200, "OK")
		late := &visitor{o, http.Header{}}
		late.expect(late.post("/access/ticket", "username", "ann@pve", "password", ticket), 401, "authentication failure")

		// Root's ticket opens every door, another user's none but its own.
		rootTicket, _ := url.QueryUnescape(strings.TrimPrefix(o.root().header.Get("Cookie"), "PVEAuthCookie="))
		o.login("ann@pve", rootTicket)
		fresh := strings.TrimPrefix(renewed.header.Get("Cookie"), "PVEAuthCookie=")
		fresh, _ = url.QueryUnescape(fresh)
		late.expect(late.post("/access/ticket", "username", "root@pam", "password", fresh), 401, "authentication failure")
	})
}

func TestWritesWithATicketNeedItsCSRFToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, "9.2", WorldUser{ID: "ann@pve", Password: "ann-secret"})
		root, ann := o.root(), o.login("ann@pve", "ann-secret")
		root.expect(root.post("/access/groups", "groupid", "g1"), 200, "OK")
		own := root.header.Get("CSRFPreventionToken")
		root.header.Set("CSRFPreventionToken", ann.header.Get("CSRFPreventionToken"))
		root.expect(root.post("/access/groups", "groupid", "g2"), 401, "Permission denied - invalid csrf token")
		root.expect(root.get("/access/groups"), 200, "OK")
		root.header.Set("CSRFPreventionToken", own)
		root.expect(root.post("/access/groups", "groupid", "g2"), 200, "OK")
	})
}

func TestWhoMayNotLogIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, "9.2",
			WorldUser{ID: "ann@pve", Password: "ann-secret", Tokens: []WorldToken{{Name: "tk", Secret: "s-1"}}},
			WorldUser{ID: "empty@pve"})
		root := o.root()
		ann, tok := o.login("ann@pve", "ann-secret"), o.token("ann@pve!tk", "s-1")
		tok.expect(tok.get("/version"), 200, "OK")
		tok.expect(o.token("ann@pve!tk", "s").get("/version"), 401, "Authentication failed!")
		soon := time.Now().Add(time.Minute).Unix()

		root.must("PUT", "/access/users/ann@pve/token/tk", "expire", itoa(int(soon)))
		tok.expect(tok.get("/version"), 200, "OK")
		time.Sleep(2 * time.Minute)
		tok.expect(tok.get("/version"), 401, "Authentication failed!")
		root.must("PUT", "/access/users/ann@pve/token/tk", "expire", "0")
		tok.expect(tok.get("/version"), 200, "OK")

		root.must("PUT", "/access/users/ann@pve", "enable", "0")
		for _, v := range []*visitor{ann, tok} {
			v.expect(v.get("/version"), 401, "Authentication failed!")
		}
		nobody := &visitor{o, http.Header{}}
		nobody.expect(nobody.post("/access/ticket", "username", "ann@pve", "password", "ann-secret"), 401, "authentication failure")
		root.must("PUT", "/access/users/ann@pve", "enable", "1", "expire", itoa(int(soon)))
		ann.expect(ann.get("/version"), 401, "Authentication failed!")
		root.must("PUT", "/access/users/ann@pve", "expire", "0")
		ann.expect(ann.get("/version"), 200, "OK")

		nobody.expect(nobody.post("/access/ticket", "username", "empty@pve", "password", ""), 401, "authentication failure")
		nobody.expect(nobody.post("/access/ticket", "username", "ann@pve", "password", "ann-secret", "otp", "123456"), 401, "authentication failure")
		root.must("DELETE", "/access/users/ann@pve")
		ann.expect(ann.get("/version"), 401, "Authentication failed!")
	})
}

func TestALoginTellsWhatTheUserMayDo(t *testing.T) {
	o := newOffice(t, "8.4", WorldUser{ID: "ann@pve", Password: "ann-secret"})
	root := o.root()
	root.must("POST", "/pools", "poolid", "web")
	root.must("PUT", "/access/acl", "path", "/pool/web", "roles", "PVEVMUser,PVEDatastoreUser", "users", "ann@pve")
	root.must("PUT", "/access/acl", "path", "/vms/100", "roles", "PVEVMAdmin", "users", "ann@pve")
	nobody := &visitor{o, http.Header{}}
	login := nobody.must("POST", "/access/ticket", "username", "ann@pve", "password", "ann-secret").(map[string]any)
	caps := login["cap"].(map[string]any)
	has := func(group, priv string) bool { return caps[group].(map[string]any)[priv] != nil }
	for group, priv := range map[string]string{"vms": "VM.Monitor", "storage": "Datastore.AllocateSpace"} {
		if !has(group, priv) {
			t.Errorf("%s lacks %s: %v", group, priv, caps[group])
		}
	}
	if has("storage", "Datastore.Allocate") || has("dc", "Sys.Audit") {
		t.Errorf("too much: %v", caps)
	}
	// With path and privileges a login only verifies.
	ok := nobody.must("POST", "/access/ticket", "username", "ann@pve", "password", "ann-secret", "path", "/vms/100", "privs", "VM.Console").(map[string]any)
	if ok["ticket"] != nil || ok["username"] != "ann@pve" || ok["cap"] == nil {
		t.Errorf("verification answers %v", ok)
	}
	nobody.expect(nobody.post("/access/ticket", "username", "ann@pve", "password", "ann-secret", "path", "/vms/101", "privs", "VM.Console"), 401, "authentication failure")
}

func TestConsoleTicketsAreForOnePathAndPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, "9.2")
		ticket := o.sim.vncTicket("root@pam", "/vms/100", "5900")
		nobody := &visitor{o, http.Header{}}
		verify := func(path, port string) reply {
			return nobody.post("/access/vncticket", "authid", "root@pam", "vncticket", ticket, "path", path, "privs", "VM.Console", "port", port)
		}
		nobody.expect(verify("/vms/100", "5900"), 200, "OK")
		nobody.expect(verify("/vms/101", "5900"), 401, "authentication failure")
		nobody.expect(verify("/vms/100", "5901"), 401, "authentication failure")
		time.Sleep(time.Minute)
		nobody.expect(verify("/vms/100", "5900"), 401, "authentication failure")
	})
}

func TestCredentialsComeInSeveralSpellings(t *testing.T) {
	o := newOffice(t, "9.2", WorldUser{ID: "ann@pve", Password: "ann-secret", Tokens: []WorldToken{{Name: "tk", Secret: "s1"}}})
	cookie := o.login("ann@pve", "ann-secret").header.Get("Cookie")
	for _, tc := range []struct {
		header, value string
		reason        string
	}{
		{"Cookie", cookie, "OK"},
		{"Cookie", "other=1; " + cookie + "; more=2", "OK"},
		{"Cookie", "x" + cookie, "No ticket"},
		{"Authorization", cookie, "OK"},
		{"Authorization", strings.Replace(cookie, "=", " ", 1), "OK"},
		{"Authorization", "PVEAPIToken=ann@pve!tk=s1", "OK"},
		{"Authorization", "PVEAPIToken ann@pve!tk=s1", "OK"},
		{"Authorization", "PVEAPIToken=ann%40pve%21tk=s1", "OK"},
		{"Authorization", "PVEAPIToken=ann@pve!tk", "Authentication failed!"},
		{"Authorization", "PVEAPIToken=ann@pve=s1", "Authentication failed!"},
		{"Authorization", "Bearer ann@pve!tk=s1", "No ticket"},
	} {
		v := &visitor{o, http.Header{tc.header: {tc.value}}}
		if r := v.get("/version"); r.reason != tc.reason {
			t.Errorf("%s: %s: got %d %q, want %q", tc.header, tc.value, r.status, r.reason, tc.reason)
		}
	}
	tok := o.token("ann@pve!tk", "s1")
	tok.expect(tok.post("/access/ticket", "username", "ann@pve", "password", "ann-secret"), 403,
		"Permission check failed (URI '/access/ticket' not available with API token, need proper ticket.")
	tok.expect(tok.get("/access/domains"), 200, "OK")
}
