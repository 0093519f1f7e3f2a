package ui

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pve"
)

// Distrust says why a certificate isn't trusted, in words that follow "the certificate of
// …", and how to connect all the same.
func Distrust(err error, cert *x509.Certificate) (what string, do []string) {
	var (
		pinned  *pve.FingerprintError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &pinned):
		return "isn't the pinned one; its fingerprint is " + pinned.Got,
			[]string{"If the certificate was renewed, pin the new one: --fingerprint, PVE_FINGERPRINT, or fingerprint in the Provider."}
	case errors.As(err, &name):
		return "is for " + strings.Join(namesOf(name.Certificate), ", "),
			[]string{"Use such a name in the endpoint, or trust the certificate itself: --fingerprint, PVE_FINGERPRINT, or fingerprint in the Provider."}
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && time.Now().Before(cert.NotBefore):
		return fmt.Sprintf("is valid from %s on, and by the clock here it is %s", when(cert.NotBefore), when(time.Now())),
			[]string{"Set the clock right, here or on the node."}
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "has expired on " + when(cert.NotAfter), []string{"Renew it on the node: " + RenewCertificate + "."}
	}
	return "isn't signed by an authority that is trusted here", []string{
		"Its fingerprint is",
		"  " + Fingerprint(cert.Raw),
		"Compare it with the one in Proxmox: node, System, Certificates.",
		"Trust Proxmox' CA: --ca-file with a copy of /etc/pve/pve-root-ca.pem, PVE_CA_BUNDLE, or ca.crt in the Secret.",
		"Or trust this certificate: --fingerprint, PVE_FINGERPRINT, or fingerprint in the Provider.",
		"For tests only: --insecure, or PVE_INSECURE_SKIP_VERIFY=true.",
	}
}

// RenewCertificate is what helps against one that is about to expire, or has.
const RenewCertificate = "pvecm updatecerts --force, or pvenode acme cert renew"

// namesOf are the names and addresses that a certificate is good for.
func namesOf(cert *x509.Certificate) []string {
	names := append([]string{}, cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return []string{"no name at all"}
	}
	return names
}

func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// Fingerprint returns the fingerprint of a certificate, as Proxmox shows it.
func Fingerprint(raw []byte) string {
	sum := sha256.Sum256(raw)
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}
