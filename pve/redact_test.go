package pve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
)

// secretTexts are all secrets that the calls of these tests use.
var secretTexts = []string{
	"0b8c1d5e-token-secret", "login-password", "probe-password", "called-password", "new-user-password", "cloud-init-password",
	"exec-input-secret", "exec-command-secret", "file-content-secret", "url-password", "url-signature",
	"obliging-ticket", "obliging-csrf", "made-token-value", "console-ticket", "console-password", "proxy-password",
}

func findSecrets(t *testing.T, where, text string) {
	t.Helper()
	for _, secret := range secretTexts {
		for _, form := range []string{secret, url.QueryEscape(secret), fmt.Sprintf("%x", secret)} {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("%s tells %q: …%s…", where, secret, text[max(0, i-80):min(len(text), i+80)])
				return
			}
		}
	}
}

// tellTale is a Proxmox that repeats everything it gets in its errors: in the reason phrase, the
// message and the fields.
func tellTale(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		req.Body.Close()
	}
	if strings.HasSuffix(req.URL.Path, "/access/ticket") {
		return jsonResponse(req, 200, "OK", map[string]any{
			"data": map[string]any{"ticket": "obliging-ticket", "CSRFPreventionToken": "obliging-csrf"},
		}), nil
	}
	form, _ := url.ParseQuery(string(body))
	said := fmt.Sprint(req.Header, req.URL.Query(), form, string(body))
	fields := map[string]string{}
	for key, values := range form {
		fields[key] = "got '" + strings.Join(values, " ") + "'"
	}
	if len(form)%2 == 0 {
		return jsonResponse(req, 500, said, map[string]any{"message": said + "\n", "data": nil}), nil
	}
	return jsonResponse(req, 400, said, map[string]any{"message": said, "errors": fields}), nil
}

func jsonResponse(req *http.Request, status int, reason string, body any) *http.Response {
	text, _ := json.Marshal(body)
	return &http.Response{
		StatusCode: status, Status: fmt.Sprint(status, " ", reason), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(text)), Header: http.Header{}, Request: req,
	}
}

func TestNoSecretIsInAnyOutput(t *testing.T) {
	transports := map[string]http.RoundTripper{
		"all goes well":            inMemory{handler: obliging()},
		"errors repeat everything": roundTripFunc(tellTale),
		"answers are lost": roundTripFunc(func(req *http.Request) (*http.Response, error) {
			if req.Body != nil {
				req.Body.Close()
			}
			return nil, fmt.Errorf("lost: %v, %w", req.Header, io.ErrUnexpectedEOF)
		}),
	}
	for name, transport := range transports {
		for _, creds := range []Credentials{Token("ci@pve!t", "0b8c1d5e-token-secret"), Password("root@pam", "login-password")} {
			t.Run(name+"/"+creds.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { runAllCalls(t, transport, creds, name != "all goes well") })
			})
		}
	}
}

func runAllCalls(t *testing.T, transport http.RoundTripper, creds Credentials, failing bool) {
	var log bytes.Buffer
	text := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := client(t, Config{
		Endpoints: []string{"pve1", "pve2"}, Credentials: creds, RoundTripper: transport, Logger: slog.New(text),
		Retry: Retry{Attempts: 2}, Observe: func(x Exchange) { fmt.Fprintf(&log, "%+v\n", x) },
	})
	for _, call := range apiCalls {
		if failing && (call.name == "Task.Wait" || call.name == "Client.Watch") {
			continue // they go on trying
		}
		err := call.make(ctx, c, 9)
		if failing != (err != nil) {
			t.Errorf("%s: %v", call.name, err)
		}
		findSecrets(t, call.name+"'s error", fmt.Sprintf("%v\n%+v\n%s\n%q", err, err, err, err))
		var e *Error
		if errors.As(err, &e) {
			findSecrets(t, call.name+"'s error", fmt.Sprintf("%+v\n%s\n%s\n%s\n%v", e, e.Text, e.Reason, e.Sent, e.Fields))
		}
	}
	canLogIn := !failing || creds.IsToken()
	if canLogIn && !strings.Contains(log.String(), "path=/nodes/pve1/qemu/100/clone") || canLogIn && !strings.Contains(log.String(), "params.newid=101") {
		t.Error("the log doesn't tell what was called")
	}
	findSecrets(t, "the log", log.String())
}

func TestSecretsTravelInBodiesAndHeadersOnly(t *testing.T) {
	h := obliging()
	for _, call := range apiCalls {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if err := call.make(ctx, client(t, virtual(h)), 9); err != nil {
				t.Errorf("%s: %v", call.name, err)
			}
		})
	}
	for _, r := range h.all {
		findSecrets(t, "the request line of "+r.String(), r.path+"?"+r.query.Encode())
	}
}

func TestTypesWithSecretsDoNotTellThem(t *testing.T) {
	proxy, _ := url.Parse("http://user:proxy-password@proxy.test:3128")
	token := Token("ci@pve!t", "0b8c1d5e-token-secret")
	cfg := Config{Endpoints: []string{"pve1"}, Credentials: token, Proxy: http.ProxyURL(proxy)}
	type foreign struct {
		secret Secret
		creds  Credentials
		cfg    Config
	}
	created := CreatedToken{"a@pve!b", NewSecret("made-token-value")}
	for _, v := range []any{
		NewSecret("login-password"), token, &token, Password("root@pam", "login-password"), cfg, &cfg, created, created.Credentials(),
		Console{Ticket: NewSecret("console-ticket"), Password: NewSecret("console-password")},
		filled[NewUser](9), filled[CreateOptions](9), filled[ConfigChange](9), filled[ExecOptions](9).Input, VMConfig{Settings: sampleSettings},
		ticketParams{"root@pam", NewSecret("login-password")}, Ticket{Ticket: NewSecret("obliging-ticket"), CSRFToken: NewSecret("obliging-csrf")}, authorization{token: NewSecret("0b8c1d5e-token-secret")},
		ticket{cookie: NewSecret("obliging-ticket"), csrf: NewSecret("obliging-csrf")},
		foreign{NewSecret("login-password"), token, cfg}, &foreign{NewSecret("login-password"), token, cfg},
		[]Secret{NewSecret("login-password")}, map[string]Credentials{"a": token}, client(t, cfg), *client(t, cfg),
		form{{"cipassword", "cloud-init-password"}}.redacted(""),
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t"} {
			findSecrets(t, fmt.Sprintf("%s of %T", verb, v), fmt.Sprintf(verb, v))
		}
		findSecrets(t, fmt.Sprintf("Sprint of %T", v), fmt.Sprint(v))
		if text, err := json.Marshal(v); err == nil {
			findSecrets(t, fmt.Sprintf("JSON of %T", v), string(text))
		}
		var out bytes.Buffer
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
		findSecrets(t, fmt.Sprintf("slog of %T", v), out.String())
	}
	if s := NewSecret("login-password"); s.Reveal() != "login-password" || s.IsZero() || !NewSecret("").IsZero() {
		t.Error("a secret can't be used")
	}
}

func TestWhatIsSecretAndWhatIsNot(t *testing.T) {
	for _, c := range []struct {
		route, key string
		secret     bool
	}{
		{"/access/users", "password", true},
		{"/nodes/{node}/qemu", "cipassword", true},
		{"/nodes/{node}/qemu", "description", false},
		{"/nodes/{node}/qemu", "sshkeys", false},
		{"/nodes/{node}/qemu", "keyboard", false},
		{"/nodes/{node}/qemu/{vmid}/agent/file-write", "content", true},
		{"/nodes/{node}/storage/{storage}/upload", "content", false},
		{"/nodes/{node}/qemu/{vmid}/agent/exec", "command", true},
		{"/nodes/pve1/status", "command", false},
		{"/access/acl", "tokens", false},
		{"/storage", "keyring", true},
		{"/x", "smb-password", true},
		{"/x", "api_token", true},
	} {
		if got := secretParam(c.route, c.key); got != c.secret {
			t.Errorf("%s of %s: %v", c.key, c.route, got)
		}
	}
}

func TestTextsOfOthersAreScrubbed(t *testing.T) {
	for text, want := range map[string]string{
		"downloading https://user:pw@host/a.iso to /x":  "downloading https://[redacted]@host/a.iso to /x",
		"get http://host/a?sig=1&x=2 failed":            "get http://host/a?[redacted] failed",
		"mail root@pam about https://host/a@b":          "mail root@pam about https://host/a@b",
		"got 'hunter22' for password":                   "got '[redacted]' for password",
		"what about 'abc'?":                             "what about 'abc'?",
		`invalid proxy "http://u:pw@proxy:3128": wrong`: `invalid proxy "http://[redacted]@proxy:3128": wrong`,
	} {
		if got := scrub(text, []string{"hunter22", "abc", ""}); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}
