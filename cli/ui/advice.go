package ui

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/status"
)

// WhatToDo returns advice about an error of Proxmox, or about the lack of an answer.
func WhatToDo(err error, conn manifest.Connection) []string {
	var e *pve.Error
	errors.As(err, &e)
	switch {
	case errors.Is(err, pve.ErrUnauthorized):
		return unauthorized(conn)
	case errors.Is(err, pve.ErrConnection) && e != nil && e.Status == 0:
		return Unreachable(err, conn)
	case e != nil && e.Status/100 == 3:
		return []string{fmt.Sprintf("What answers at %s sends elsewhere. Proxmox' API is at https://HOST:8006.", where(conn))}
	case errors.As(err, new(*pve.LoginError)) && e != nil && e.Status/100 == 4, e != nil && e.Status == http.StatusNotImplemented:
		return []string{fmt.Sprintf("What answers at %s isn't the API of Proxmox VE.", where(conn)), checkEndpoint}
	}
	if hint := status.CLI.Advice(act.Judge(err).Hint); hint != "" {
		return []string{Sentence(hint)}
	}
	return nil
}

// HintLines formats advice about a failure, for the lines below its message.
func HintLines(do []string, width int) []string {
	var lines []string
	for _, text := range do {
		if strings.HasPrefix(text, "  ") {
			lines = append(lines, "    "+text) // a command: never broken
		} else {
			lines = append(lines, status.Wrap("    "+Sentence(text), width, "    "))
		}
	}
	return lines
}

// InOne returns the advice as one paragraph.
func InOne(do []string) string {
	lines := make([]string, len(do))
	for i, text := range do {
		lines[i] = strings.TrimSpace(text)
		if strings.HasPrefix(text, "  ") {
			lines[i] += "."
		}
	}
	return strings.Join(lines, " ")
}

func unauthorized(conn manifest.Connection) []string {
	do := []string{fmt.Sprintf("Proxmox at %s doesn't take the %s.", where(conn), conn.Credentials)}
	if conn.Credentials.IsToken() {
		return append(do,
			fmt.Sprintf("Check that the token exists and hasn't expired (pveum user token list %s), and that the secret is the one that was shown when it was made.", conn.Credentials.User()))
	}
	return append(do, "Check user, realm and password. A user with a second factor needs an API token instead.")
}

// Who returns the user or token that somebody logs in as.
func Who(creds pve.Credentials) string {
	if creds.IsZero() {
		return "the user"
	}
	return strings.TrimPrefix(creds.String(), "password of ")
}

func where(conn manifest.Connection) string {
	if len(conn.Endpoints) == 0 {
		return "the endpoint"
	}
	return strings.Join(conn.Endpoints, ", ")
}

// Unreachable says why there was no answer, and which options matter.
func Unreachable(err error, conn manifest.Connection) []string {
	var (
		untrusted *tls.CertificateVerificationError
		pinned    *pve.FingerprintError
		dns       *net.DNSError
		record    tls.RecordHeaderError
	)
	at := where(conn)
	switch {
	case errors.As(err, &pinned):
		what, do := Distrust(pinned, nil)
		return append([]string{fmt.Sprintf("The certificate of %s %s.", at, what)}, do...)
	case errors.As(err, &untrusted) && len(untrusted.UnverifiedCertificates) > 0:
		what, do := Distrust(untrusted, untrusted.UnverifiedCertificates[0])
		return append([]string{fmt.Sprintf("The certificate of %s %s.", at, what)}, do...)
	case errors.As(err, &dns):
		return []string{fmt.Sprintf("The name %s isn't known to the DNS here: check the endpoint %s.", dns.Name, at)}
	case errors.As(err, &record):
		return []string{fmt.Sprintf("What answers at %s doesn't speak TLS: check the port; Proxmox' API is at 8006.", at)}
	}
	do := []string{fmt.Sprintf("There was no answer from %s: %s.", at, strings.TrimPrefix(innermost(err), "net/http: "))}
	return append(do, checkEndpoint)
}

const checkEndpoint = "Check the endpoint (its port is usually 8006), the network, and that pveproxy runs there."

// innermost is the last cause of an error that has only one.
func innermost(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		if op, ok := err.(*net.OpError); ok { //nolint:errorlint // this one itself, not one further in
			return op.Err.Error()
		}
		err = next
	}
}
