package outside_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/test/kit/secret"
)

// spy stands between proxplane and Proxmox and learns which secrets Proxmox gives
// away: tickets, the tokens beside them, those of consoles.
type spy struct {
	URL, Fingerprint string
}

func startSpy(t *testing.T, sim string, known *secret.Finder) *spy {
	t.Helper()
	to, err := url.Parse(sim)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		ErrorLog:  log.New(io.Discard, "", 0), // what fails is seen at the other end
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, //nolint:gosec // it is on this machine
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode == http.StatusSwitchingProtocols {
				return nil
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			learn(known, r.Request.Method+" "+r.Request.URL.Path, body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			return nil
		},
	}
	server := httptest.NewTLSServer(proxy)
	t.Cleanup(server.Close)
	sum := sha256.Sum256(server.Certificate().Raw)
	return &spy{URL: server.URL, Fingerprint: strings.ToUpper(strings.Join(strings.Split(strings.TrimSpace(fmt.Sprintf("% x", sum)), " "), ":"))}
}

// learn takes the secrets out of an answer.
func learn(known *secret.Finder, call string, body []byte) {
	var answer struct {
		Data json.RawMessage `json:"data"`
	}
	var given struct {
		Ticket string `json:"ticket"`
		CSRF   string `json:"CSRFPreventionToken"`
	}
	if json.Unmarshal(body, &answer) != nil || json.Unmarshal(answer.Data, &given) != nil {
		return // it has none
	}
	what := "ticket"
	if !strings.HasSuffix(call, "/access/ticket") {
		what = "ticket of a console"
	}
	if given.Ticket != "" {
		known.Add(what, given.Ticket)
	}
	if given.CSRF != "" {
		known.Add("CSRF token", given.CSRF)
	}
}
