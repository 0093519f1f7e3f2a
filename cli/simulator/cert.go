package simulator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/proxplane/proxplane/cli/ui"
)

// Certificate makes the simulator's certificate, or takes the one that is
// kept beside its state. Its fingerprint is shown as Proxmox does.
func Certificate(dataDir, listen string) (cert tls.Certificate, shown string, err error) {
	file := ""
	if dataDir != "" {
		file = filepath.Join(dataDir, "pve-ssl.pem")
	}
	pemBytes, err := readOrMakeCert(file, listen)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	cert, err = tls.X509KeyPair(pemBytes, pemBytes)
	if err != nil {
		return tls.Certificate{}, "", fmt.Errorf("read %s: %w", file, err)
	}
	return cert, ui.Fingerprint(cert.Certificate[0]), nil
}

func readOrMakeCert(file, listen string) ([]byte, error) {
	if file != "" {
		b, err := os.ReadFile(file)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return b, err
		}
	}
	b, err := makeCert(listen)
	if err != nil || file == "" {
		return b, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	return b, os.WriteFile(file, b, 0o600)
}

// makeCert makes a key and a certificate that is its own authority.
func makeCert(listen string) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "proxplane sim", Organization: []string{"Simulated Proxmox VE"}},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(10, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              []string{"localhost", "pve1"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if host, _, err := net.SplitHostPort(listen); err == nil {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	out := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return append(out, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})...), nil
}
