package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/netip"
	"os"
	"time"
)

// guests is where guests under QEMU reach the API server, if somebody offers it to them there.
var guests = netip.MustParseAddr(GuestAddress)

// GuestAddress is that as a text.
const GuestAddress = "192.168.77.4"

// certificates makes the CA of the cluster, by which the API server and the kubelets are known, and the key of
// service accounts.
func (p *Plane) certificates() error {
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageCRLSign, SubjectKeyId: []byte{1},
	}
	signer, err := p.issue("ca", ca, ca, nil)
	if err != nil {
		return err
	}
	_, err = p.issue("apiserver", &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kube-apiserver"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), guests.AsSlice()},
		DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, ca, signer)
	if err != nil {
		return err
	}
	_, err = p.key("sa")
	return err
}

// key makes a private key and writes it into a file.
func (p *Plane) key(name string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	return key, errors.Join(err, os.WriteFile(p.file(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600))
}

// issue makes a certificate that lasts longer than any test, with a key; by nil: it signs itself.
func (p *Plane) issue(name string, cert, parent *x509.Certificate, by *ecdsa.PrivateKey) (*ecdsa.PrivateKey, error) {
	key, err := p.key(name)
	if err != nil {
		return nil, err
	}
	if by == nil {
		by = key
	}
	const validity = 30 * 24 * time.Hour
	cert.NotBefore, cert.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(validity)
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, by)
	return key, errors.Join(err, os.WriteFile(p.file(name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
}
