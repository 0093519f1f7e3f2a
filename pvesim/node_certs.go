package pvesim

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"
)

// Certificates of nodes. Each cluster has an authority of its own, which all nodes have:
// by it clusters can be told apart.

// nodeCertificates lists the authority and the node's own certificate. Of the latter only
// the fingerprint is known.
func nodeCertificates(c *call) (any, error) {
	n := c.state.Nodes[c.node()]
	if n == nil {
		return nil, die("no such cluster node '%s'", c.node())
	}
	root, text, err := c.authority()
	if err != nil {
		return nil, err
	}
	issuer := fmt.Sprintf("/CN=%s/OU=%s/O=%s", root.Subject.CommonName, root.Subject.OrganizationalUnit[0], root.Subject.Organization[0])
	life := func(m map[string]any) map[string]any {
		m["notbefore"], m["notafter"] = root.NotBefore.Unix(), root.NotAfter.Unix()
		return m
	}
	return []map[string]any{
		life(map[string]any{
			"filename": "pve-root-ca.pem", "fingerprint": colons(root.Raw), "subject": issuer, "issuer": issuer,
			"public-key-type": "ED25519", "public-key-bits": 256, "pem": text, "san": []string{},
		}),
		life(map[string]any{
			"filename": "pve-ssl.pem", "fingerprint": c.fingerprint(n.Name), "issuer": issuer,
			"subject":         fmt.Sprintf("/OU=PVE Cluster Node/O=Proxmox Virtual Environment/CN=%s", n.Name),
			"public-key-type": "rsaEncryption", "public-key-bits": 2048,
			"san": []string{net.IPv4(127, 0, 0, 1).String(), net.IPv6loopback.String(), "localhost", n.Name},
		}),
	}, nil
}

// authority is the root certificate of the cluster. It is the same whenever the simulator
// has the same seed and the same certificate.
func (s *Sim) authority() (*x509.Certificate, string, error) {
	seed := sha256.Sum256(fmt.Appendf(nil, "root certificate %d %s", s.seed, s.fingerprint(s.nodeNames()[0])))
	key := ed25519.NewKeyFromSeed(seed[:])
	id := hex.EncodeToString(seed[:16])
	template := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(seed[:16]),
		Subject: pkix.Name{
			CommonName: "Proxmox Virtual Environment", Organization: []string{"PVE Cluster Manager CA"},
			OrganizationalUnit: []string{strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:]}, "-")},
		},
		NotBefore: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2035, 1, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		return nil, "", err
	}
	root, err := x509.ParseCertificate(der)
	return root, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), err
}

// colons is a certificate's fingerprint as Proxmox shows it.
func colons(der []byte) string {
	sum := sha256.Sum256(der)
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}
