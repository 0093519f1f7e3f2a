package pvesim

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// office is a simulator with a client for tests of access control: requests
// are made as somebody, by token or by ticket.
type office struct {
	t    *testing.T
	sim  *Sim
	http *http.Client
}

// reply is an answer as a client sees it.
type reply struct {
	status int
	reason string
	data   any
	errors map[string]any
}

// newOffice starts a simulator of the release with one node and these users.
func newOffice(t *testing.T, release string, users ...WorldUser) *office {
	t.Helper()
	w := &World{
		Release:  release,
		Nodes:    []WorldNode{{Name: "pve1"}},
		Storages: []WorldStorage{{Name: "local", Type: "dir", Path: "/var/lib/vz"}, {Name: "fast", Type: "dir", Path: "/fast"}},
		Users:    append([]WorldUser{{ID: "root@pam", Password: "secret"}}, users...),
	}
	sim, err := New(w)
	if err != nil {
		t.Fatal(err)
	}
	tr, stop := sim.Transport()
	t.Cleanup(func() { stop(); sim.Close() })
	return &office{t: t, sim: sim, http: &http.Client{Transport: tr}}
}

// visitor is somebody with credentials.
type visitor struct {
	*office
	header http.Header
}

func (o *office) token(id, secret string) *visitor {
	return &visitor{o, http.Header{"Authorization": {"PVEAPIToken=" + id + "=" + secret}}}
}

// login gets a ticket.
func (o *office) login(user, password string) *visitor {
	o.t.Helper()
	v := &visitor{o, http.Header{}}
	r := v.post("/access/ticket", "username", user, "password", password)
	if r.status != 200 {
		o.t.Fatalf("login of %s: %d %s", user, r.status, r.reason)
	}
	data := r.data.(map[string]any)
	v.header.Set("Cookie", "PVEAuthCookie="+url.QueryEscape(data["ticket"].(string)))
	v.header.Set("CSRFPreventionToken", data["CSRFPreventionToken"].(string))
	return v
}

func (o *office) root() *visitor { return o.login("root@pam", "secret") }

func (v *visitor) get(path string, params ...string) reply { return v.do("GET", path, params...) }
func (v *visitor) post(path string, params ...string) reply {
	return v.do("POST", path, params...)
}
func (v *visitor) put(path string, params ...string) reply { return v.do("PUT", path, params...) }
func (v *visitor) delete(path string, params ...string) reply {
	return v.do("DELETE", path, params...)
}

// must makes requests that set a test up.
func (v *visitor) must(method, path string, params ...string) any {
	v.t.Helper()
	r := v.do(method, path, params...)
	if r.status != 200 {
		v.t.Fatalf("%s %s %v: %d %s %v", method, path, params, r.status, r.reason, r.errors)
	}
	return r.data
}

func (v *visitor) do(method, path string, params ...string) reply {
	v.t.Helper()
	form := url.Values{}
	for i := 0; i < len(params); i += 2 {
		form.Add(params[i], params[i+1])
	}
	target, body := "http://pve/api2/json"+path, io.Reader(nil)
	if method == "GET" || method == "DELETE" {
		if len(form) > 0 {
			target += "?" + form.Encode()
		}
	} else {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequest(method, target, body)
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header = v.header.Clone()
	if body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := v.http.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	out := struct {
		Data   any
		Errors map[string]any
	}{}
	if raw, _ := io.ReadAll(resp.Body); len(raw) > 0 {
		if err := json.Unmarshal(raw, &out); err != nil {
			v.t.Fatalf("%s %s answers %q: %v", method, path, raw, err)
		}
	}
	return reply{resp.StatusCode, strings.TrimSpace(strings.TrimLeft(resp.Status, "0123456789")), out.Data, out.Errors}
}

// expect compares the status line.
func (v *visitor) expect(r reply, status int, reason string) {
	v.t.Helper()
	if r.status != status || reason != "" && r.reason != reason {
		v.t.Errorf("got %d %q %v, want %d %q", r.status, r.reason, r.errors, status, reason)
	}
}
