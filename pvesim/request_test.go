package pvesim

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestTheDaemonAnswersBeforeTheAPI(t *testing.T) {
	o := newOffice(t, "9.2")
	root := o.root()
	long := strings.Repeat("a", maxForm)
	for _, tc := range []struct {
		reason, method, path, ctype, body string
		anonymous, chunked                bool
		status                            int
		says, text                        string // text: "=" the same as says
	}{
		{reason: "methods that it doesn't know", method: "OPTIONS", path: "/api2/json/version", anonymous: true, status: 501, says: "method 'OPTIONS' not available"},
		{reason: "a body where none belongs", method: "DELETE", path: "/api2/json/pools", body: "poolid=x", status: 501, says: "Unexpected content for method 'DELETE'", text: "="},
		{reason: "credentials come first", method: "GET", path: "/api2/json/nope", anonymous: true, status: 401, says: "No ticket"},
		{reason: "… even before the format", method: "GET", path: "/api2/xml/version", anonymous: true, status: 401, says: "No ticket"},
		{reason: "a form of another kind", method: "POST", path: "/api2/json/pools", ctype: "text/plain", body: "poolid=x", status: 506, says: "upload 'Content-Type 'text/plain' not implemented", text: "="},
		{reason: "too long a form", method: "POST", path: "/api2/json/pools", ctype: "application/x-www-form-urlencoded", body: "poolid=" + long, status: 501, says: "for data too large", text: "="},
		{reason: "chunks", method: "POST", path: "/api2/json/pools", body: "poolid=x", chunked: true, status: 501, says: "chunked transfer encoding not supported", text: "="},
		{reason: "no format", method: "GET", path: "/api2/", anonymous: true, status: 501, says: "no such uri", text: "="},
		{reason: "an unknown format", method: "GET", path: "/api2/yaml/version", status: 501, says: "no formatter for uri /version, yaml", text: "="},
		{reason: "a format for pictures", method: "GET", path: "/api2/png/version", status: 200, says: "OK"},
		{reason: "a file that isn't there", method: "GET", path: "/pve2/x.js", anonymous: true, status: 500, says: "no such file '/pve2/x.js'", text: "no such file '/pve2/x.js'\n"},
		{reason: "JSON that is none", method: "POST", path: "/api2/json/pools", ctype: "application/json", body: "[1]", status: 500},
		{reason: "a page for those who aren't logged in", method: "GET", path: "/api2/html/version", anonymous: true, status: 401, says: "Login Required", text: "="},
	} {
		var body io.Reader
		if tc.body != "" {
			body = strings.NewReader(tc.body)
		}
		req, err := http.NewRequest(tc.method, "http://pve"+tc.path, body)
		if err != nil {
			t.Fatal(err)
		}
		if !tc.anonymous {
			req.Header = root.header.Clone()
		}
		if tc.ctype != "" {
			req.Header.Set("Content-Type", tc.ctype)
		}
		if tc.chunked {
			req.ContentLength = -1
		}
		resp, err := o.http.Do(req)
		if err != nil {
			t.Errorf("%s: %v", tc.reason, err)
			continue
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if tc.text == "=" {
			tc.text = tc.says
		}
		if says := resp.Status[4:]; resp.StatusCode != tc.status || tc.says != "" && (says != tc.says || string(text) != tc.text) {
			t.Errorf("%s: got %q with %q, want %d %q with %q", tc.reason, resp.Status, text, tc.status, tc.says, tc.text)
		}
		if resp.Close != (tc.status >= 400) {
			t.Errorf("%s: hangs up: %v", tc.reason, resp.Close)
		}
	}
}

func TestExtJSAlwaysSucceeds(t *testing.T) {
	o := newOffice(t, "9.2", WorldUser{ID: "ann@pve", Password: "ann-secret"})
	ann := o.login("ann@pve", "ann-secret")
	for path, want := range map[string]string{
		"/version":                         `"success":1`,
		"/nope":                            `"status":501,"success":0`,
		"/access/roles/Nope":               `"status":500,"success":0`,
		"/nodes/pve1/status":               `"status":"403","success":0`,
		"/nodes/pve1/qemu/x/config?node=y": `"status":"400","success":0`,
	} {
		req, _ := http.NewRequest("GET", "http://pve/api2/extjs"+path, nil)
		req.Header = ann.header.Clone()
		resp, err := o.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.Status != "200 OK" || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s %s, want %s", path, resp.Status, text, want)
		}
	}
}
