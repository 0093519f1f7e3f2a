//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// file is one of the certificates and keys.
func file(name string) string { return filepath.Join(certs, name) }

// issueAll makes the cluster's authority and the certificates of the control plane, unless they are there.
func issueAll(c *config, own, vip string) error {
	if err := os.MkdirAll(certs, 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(file("server-ca.crt")); err != nil {
		ca := template("rke2-server-ca", nil)
		ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
		cert, key, err := sign(ca, nil, nil)
		if err := errors.Join(err, write("server-ca", cert, key)); err != nil {
			return err
		}
		_, key, err = sign(template("service", nil), nil, nil)
		if err := errors.Join(err, os.WriteFile(file("service.key"), []byte(key), 0o600)); err != nil {
			return err
		}
	}
	if _, err := os.Stat(file("serving-kube-apiserver.crt")); err == nil {
		return nil
	}
	server := template("kube-apiserver", nil)
	server.DNSNames = []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost", c.Name}
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 43, 0, 1), net.ParseIP(own), net.ParseIP(vip)}
	for _, san := range c.SANs {
		if ip := net.ParseIP(san); ip != nil {
			server.IPAddresses = append(server.IPAddresses, ip)
		} else {
			server.DNSNames = append(server.DNSNames, san)
		}
	}
	for name, cert := range map[string]*x509.Certificate{"serving-kube-apiserver": server, "client-admin": template("system:admin", []string{"system:masters"})} {
		text, key, err := issue(cert)
		if err := errors.Join(err, write(name, text, key)); err != nil {
			return err
		}
	}
	return writeKubeconfig(kubeconfig, "https://127.0.0.1:6443", file("server-ca.crt"), file("client-admin.crt"), file("client-admin.key"))
}

// issueNode makes the certificate of a kubelet.
func issueNode(name string) (cert, key string, err error) {
	return issue(template("system:node:"+name, []string{"system:nodes"}))
}

// rotate forgets the certificates that the authority has signed: the next start makes new ones.
func rotate() error {
	return errors.Join(os.RemoveAll(file("serving-kube-apiserver.crt")), os.RemoveAll(file("client-admin.crt")), os.RemoveAll(nodeCert))
}

func template(name string, groups []string) *x509.Certificate {
	const validity = 365 * 24 * time.Hour
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name, Organization: groups}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(validity),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

// issue signs by the cluster's authority.
func issue(cert *x509.Certificate) (text, key string, err error) {
	read := func(name string) []byte {
		data, bad := os.ReadFile(file(name))
		block, _ := pem.Decode(data)
		if block == nil {
			err = errors.Join(err, bad, errors.New("no PEM in "+name))
			return nil
		}
		return block.Bytes
	}
	caDER, keyDER := read("server-ca.crt"), read("server-ca.key")
	if err != nil {
		return "", "", err
	}
	ca, err := x509.ParseCertificate(caDER)
	if err != nil {
		return "", "", err
	}
	by, err := x509.ParseECPrivateKey(keyDER)
	if err != nil {
		return "", "", err
	}
	return sign(cert, ca, by)
}

// sign makes a key and a certificate for it; by nil: it signs itself.
func sign(cert, parent *x509.Certificate, by *ecdsa.PrivateKey) (text, keyText string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	if by == nil {
		parent, by = cert, key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, by)
	if err != nil {
		return "", "", err
	}
	raw, err := x509.MarshalECPrivateKey(key)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw})), err
}

func write(name, cert, key string) error {
	return errors.Join(os.WriteFile(file(name+".crt"), []byte(cert), 0o600), os.WriteFile(file(name+".key"), []byte(key), 0o600))
}

// writeKubeconfig writes one that has everything in itself.
func writeKubeconfig(to, server, ca, cert, key string) error {
	var parts [3]string
	for i, name := range []string{ca, cert, key} {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		parts[i] = base64.StdEncoding.EncodeToString(text)
	}
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: default
clusters: [{name: default, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: default, user: {client-certificate-data: %s, client-key-data: %s}}]
contexts: [{name: default, context: {cluster: default, user: default}}]
`, server, parts[0], parts[1], parts[2])
	return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, []byte(text), 0o600))
}
