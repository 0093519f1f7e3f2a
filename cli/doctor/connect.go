package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/status"
)

// Limits beyond which a finding is reported.
const (
	probeTimeout = 10 * time.Second
	expirySoon   = 30 * 24 * time.Hour
	clockApart   = 10 * time.Second
	slowAnswer   = 2 * time.Second
	openToAll    = "/api2/json/access/domains" // the one call that takes no login
)

// endpoints tries each endpoint by itself, without any credentials.
func (e *examination) endpoints() {
	for _, text := range e.conn.Endpoints {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			u, err = url.Parse("https://" + text)
		}
		if err != nil || u.Host == "" {
			e.bad(areaConnection, "an endpoint isn't a URL", "It looks like https://pve.example.com:8006.")
			continue
		}
		if u.Port() == "" && u.Scheme == "https" {
			u.Host = net.JoinHostPort(u.Hostname(), "8006")
		}
		u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/api2/json")
		e.endpoint(u)
	}
	if !e.reached {
		e.skip(areaConnection, "nothing more can be checked before an endpoint can be used", "")
		return
	}
	// One that works is enough; the others are for the day when it doesn't.
	for i := range e.d.Checks {
		if c := &e.d.Checks[i]; c.Level == bad {
			c.Level = warning
		}
	}
}

// endpoint tries one endpoint: the connection, the certificate, the clock.
func (e *examination) endpoint(u *url.URL) {
	var shown *x509.Certificate
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: probeTimeout}).DialContext,
		TLSHandshakeTimeout: probeTimeout,
		// Only looked at: nothing secret is sent here, and the verdict follows.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
			shown = s.PeerCertificates[0]
			e.chain = s.PeerCertificates
			return nil
		}},
	}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(e.ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String()+openToAll, nil)
	if err != nil {
		e.bad(areaConnection, u.Host+" isn't an endpoint", "It looks like https://pve.example.com:8006.")
		return
	}
	begun := time.Now()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	took := time.Since(begun)
	if err != nil {
		err = &pve.Error{Kind: pve.ErrConnection, Err: errors.Unwrap(err), Text: errors.Unwrap(err).Error()}
		e.bad(areaConnection, u.Host+" doesn't answer", ui.InOne(ui.Unreachable(err, manifest.Connection{Endpoints: []string{u.String()}})))
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"data"`) {
		e.bad(areaConnection, fmt.Sprintf("%s answers, but not as Proxmox does (%s)", u.Host, resp.Status), "Is it the address of a Proxmox node, with the port 8006?")
		return
	}
	if took > slowAnswer {
		e.warn(areaConnection, fmt.Sprintf("%s answers slowly (%s)", u.Host, took.Round(time.Millisecond)), "Is the network slow, or the node busy?")
	} else {
		e.good(areaConnection, "%s answers (%s)", u.Host, took.Round(time.Millisecond))
	}
	if e.certificate(u, shown) {
		e.reached = true
	}
	e.clock(u, resp.Header.Get("Date"))
}

// certificate says who vouches for an endpoint.
func (e *examination) certificate(u *url.URL, cert *x509.Certificate) (trusted bool) {
	if u.Scheme == "http" {
		e.warn(areaConnection, u.Host+" is asked without TLS: passwords and tokens can be read on the way", "Use https.")
		return true
	}
	if cert == nil {
		return true // a proxy of the environment's has talked to it
	}
	mark := ui.Fingerprint(cert.Raw)
	how, err := e.verify(u, cert)
	until := "valid until " + cert.NotAfter.Format(time.DateOnly)
	switch {
	case err != nil:
		what, do := ui.Distrust(err, cert)
		e.bad(areaConnection, fmt.Sprintf("the certificate of %s %s", u.Host, what), ui.InOne(do))
		return false
	case e.conn.TLS.Insecure:
		e.warn(areaConnection, "any certificate is trusted, so somebody in between could read the credentials", "Trust only this one: spec.fingerprint or --fingerprint "+mark+".")
	case time.Until(cert.NotAfter) < expirySoon:
		e.warn(areaConnection, fmt.Sprintf("the certificate of %s, %s, is %s only", u.Host, how, until), "Renew it on the node: "+ui.RenewCertificate+".")
	default:
		e.note(areaConnection, good, fmt.Sprintf("TLS: the certificate is %s, %s", how, until), mark)
	}
	return true
}

// verify checks a certificate as the client does, and returns how.
func (e *examination) verify(u *url.URL, cert *x509.Certificate) (how string, err error) {
	t := e.conn.TLS
	opts := x509.VerifyOptions{DNSName: cmp.Or(t.ServerName, u.Hostname()), Intermediates: x509.NewCertPool()}
	for _, c := range e.chain[1:] {
		opts.Intermediates.AddCert(c)
	}
	switch {
	case t.Insecure:
		return "not checked", nil
	case len(t.CA) > 0:
		opts.Roots = x509.NewCertPool()
		opts.Roots.AppendCertsFromPEM(t.CA)
		how = "signed by the authority that was given"
	case len(t.Fingerprints) > 0:
		return "the pinned one", e.pinned(cert)
	default:
		how = "signed by an authority that this computer trusts"
	}
	if _, err := cert.Verify(opts); err != nil {
		return how, err
	}
	if len(t.Fingerprints) > 0 {
		return how + ", and the pinned one", e.pinned(cert)
	}
	return how, nil
}

func (e *examination) pinned(cert *x509.Certificate) error {
	plain := func(s string) string { return strings.ToUpper(strings.ReplaceAll(s, ":", "")) }
	for _, p := range e.conn.TLS.Fingerprints {
		if plain(strings.TrimSpace(p)) == plain(ui.Fingerprint(cert.Raw)) {
			return nil
		}
	}
	return &pve.FingerprintError{Got: ui.Fingerprint(cert.Raw)}
}

// clock compares the clocks: logins and certificates go by them.
func (e *examination) clock(u *url.URL, date string) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	apart := time.Until(at).Abs()
	if apart > clockApart {
		e.warn(areaConnection, fmt.Sprintf("the clocks of %s and of this computer are %s apart", u.Host, status.Duration(apart)),
			"Logins end early or are refused by that. Synchronize both: chronyc tracking.")
		return
	}
	e.good(areaConnection, "the clock of %s is right", u.Host)
}

// login tries the credentials, and returns the version.
func (e *examination) login() bool {
	v, err := e.c.Client.Version(e.ctx)
	if err != nil {
		e.bad(areaConnection, "the login failed: "+ui.ShortCause(err), ui.InOne(ui.WhatToDo(err, e.conn)))
		return false
	}
	e.version = v
	switch {
	case v.Major() == 9, v.Major() == 8 && v.AtLeast(8, 4):
		e.good(areaConnection, "Proxmox VE %s", v.Version)
	case !v.AtLeast(8, 4):
		e.warn(areaConnection, fmt.Sprintf("Proxmox VE %s is older than what proxplane is tested with", v.Version), "Tested are 8.4 and 9. Images from URLs need 8.4.")
	default:
		e.warn(areaConnection, fmt.Sprintf("Proxmox VE %s is newer than what proxplane is tested with", v.Version), "Tested are 8.4 and 9.")
	}
	return true
}
