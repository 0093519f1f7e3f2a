package pve

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// TLS says whom to trust. The zero value trusts the system's certificate authorities.
type TLS struct {
	// CA is a bundle of certificates in PEM to trust instead of the system's, such as
	// /etc/pve/pve-root-ca.pem.
	CA []byte

	// Fingerprints are SHA-256 fingerprints of the certificates that the endpoints may show,
	// one for each node, in hexadecimal with or without colons. Without CA the certificate's
	// issuer, name and dates don't matter then; with CA both must be right.
	Fingerprints []string

	// ServerName is the name that certificates must have when it isn't the endpoint's.
	ServerName string

	// Insecure trusts everybody. It can't be combined with the above.
	Insecure bool
}

// Config returns the settings for package crypto/tls.
func (t TLS) Config() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.Insecure {
		if len(t.CA) > 0 || len(t.Fingerprints) > 0 {
			return nil, errors.New("insecure makes no sense beside a CA bundle or a fingerprint")
		}
		cfg.InsecureSkipVerify = true
		return cfg, nil
	}
	if len(t.CA) > 0 {
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(t.CA) {
			return nil, errors.New("the CA bundle has no certificate in PEM")
		}
	}
	if len(t.Fingerprints) == 0 {
		return cfg, nil
	}
	pins := map[[sha256.Size]byte]bool{}
	for _, text := range t.Fingerprints {
		pin, err := parseFingerprint(text)
		if err != nil {
			return nil, err
		}
		pins[pin] = true
	}
	cfg.InsecureSkipVerify = len(t.CA) == 0
	// Also called for resumed sessions, unlike VerifyPeerCertificate.
	cfg.VerifyConnection = func(state tls.ConnectionState) error {
		got := sha256.Sum256(state.PeerCertificates[0].Raw)
		if !pins[got] {
			return &FingerprintError{Got: formatFingerprint(got)}
		}
		return nil
	}
	return cfg, nil
}

// FingerprintError says that the endpoint showed another certificate than the pinned ones.
type FingerprintError struct {
	Got string // in the form that Proxmox shows
}

func (e *FingerprintError) Error() string {
	return "the server's certificate has the fingerprint " + e.Got + ", which isn't the pinned one"
}

func parseFingerprint(text string) (pin [sha256.Size]byte, err error) {
	digits := strings.ReplaceAll(strings.TrimSpace(text), ":", "")
	raw, err := hex.DecodeString(digits)
	if err != nil || len(raw) != sha256.Size {
		return pin, fmt.Errorf("%q is not a SHA-256 fingerprint: it should have 64 hexadecimal digits", text)
	}
	return [sha256.Size]byte(raw), nil
}

func formatFingerprint(sum [sha256.Size]byte) string {
	var b strings.Builder
	for i, c := range sum {
		if i > 0 {
			b.WriteByte(':')
		}
		fmt.Fprintf(&b, "%02X", c)
	}
	return b.String()
}
