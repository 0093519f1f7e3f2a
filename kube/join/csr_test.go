package join_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/netip"
	"net/url"
	"testing"

	certv1 "k8s.io/api/certificates/v1"

	"github.com/proxplane/proxplane/kube/join"
)

// asked is a certificate that somebody asks for.
type asked struct {
	by       string
	groups   []string
	signer   string
	usages   []certv1.KeyUsage
	template x509.CertificateRequest
}

func (a asked) csr(t *testing.T) *certv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &a.template, key)
	if err != nil {
		t.Fatal(err)
	}
	return &certv1.CertificateSigningRequest{Spec: certv1.CertificateSigningRequestSpec{
		Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: a.signer, Usages: a.usages, Username: a.by, Groups: a.groups,
	}}
}

// What machine n1 asks for when all is well.
func clientCert() asked {
	return asked{
		by: "system:bootstrap:abc123", groups: []string{"system:bootstrappers", "system:authenticated"}, signer: certv1.KubeAPIServerClientKubeletSignerName,
		usages:   []certv1.KeyUsage{certv1.UsageDigitalSignature, certv1.UsageClientAuth},
		template: x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:n1", Organization: []string{"system:nodes"}}},
	}
}

func servingCert() asked {
	return asked{
		by: "system:node:n1", groups: []string{"system:nodes", "system:authenticated"}, signer: certv1.KubeletServingSignerName,
		usages: []certv1.KeyUsage{certv1.UsageDigitalSignature, certv1.UsageServerAuth},
		template: x509.CertificateRequest{
			Subject:  pkix.Name{CommonName: "system:node:n1", Organization: []string{"system:nodes"}},
			DNSNames: []string{"n1"}, IPAddresses: []net.IP{net.ParseIP("10.0.0.1")},
		},
	}
}

// The machines are n1 and n2; abc123 is the token of n1, early1 that of n3, which
// isn't known yet, and others aren't ours.
func judge(t *testing.T, a asked) join.Verdict {
	t.Helper()
	r := join.Read(a.csr(t))
	if r == nil {
		return join.Verdict{Answer: join.Ignore}
	}
	machines := map[string]*join.Machine{
		"n1": {ID: "uid-1", Node: "n1", Names: []string{"n1.example.com"}, Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")}},
		"n2": {ID: "uid-2", Node: "n2", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.2")}},
	}
	var owner *join.Machine
	switch r.Token {
	case "abc123":
		owner = machines["n1"]
	case "early1":
		owner = &join.Machine{ID: "uid-3", Node: "n3"}
	}
	return r.Judge(machines[r.Node], owner)
}

func TestCertificatesAreThoseOfTheMachine(t *testing.T) {
	for _, c := range []struct {
		reason string
		ask    func() asked
		change func(*asked)
		want   join.Answer
	}{
		{"the client certificate of a machine with its token", clientCert, func(*asked) {}, join.Approve},
		{"kubelets with RSA keys ask for key encipherment", clientCert, func(a *asked) { a.usages = append(a.usages, certv1.UsageKeyEncipherment) }, join.Approve},
		{"a node renews its client certificate", clientCert, func(a *asked) { a.by, a.groups = "system:node:n1", []string{"system:nodes"} }, join.Approve},
		{"n1's token asks for n2's certificate", clientCert, func(a *asked) { a.template.Subject.CommonName = "system:node:n2" }, join.Deny},
		{"n1's token asks for that of a node that isn't ours", clientCert, func(a *asked) { a.template.Subject.CommonName = "system:node:control-plane" }, join.Deny},
		{"a machine that isn't known yet", clientCert, func(a *asked) { a.by, a.template.Subject.CommonName = "system:bootstrap:early1", "system:node:n3" }, join.Wait},
		{"n1's token asks to be an administrator", clientCert, func(a *asked) { a.template.Subject.Organization = []string{"system:masters"} }, join.Deny},
		{"… and a node beside it", clientCert, func(a *asked) { a.template.Subject.Organization = []string{"system:nodes", "system:masters"} }, join.Deny},
		{"a name that isn't a node's", clientCert, func(a *asked) { a.template.Subject.CommonName = "n1" }, join.Deny},
		{"a token that isn't ours", clientCert, func(a *asked) { a.by = "system:bootstrap:zzz999" }, join.Ignore},
		{"somebody else", clientCert, func(a *asked) { a.by = "mallory" }, join.Ignore},
		{"somebody named like a token, without its group", clientCert, func(a *asked) { a.groups = []string{"system:authenticated"} }, join.Ignore},
		{"somebody named like a node, without its group", servingCert, func(a *asked) { a.groups = []string{"system:authenticated"} }, join.Ignore},
		{"n2 asks for n1's client certificate", clientCert, func(a *asked) { a.by, a.groups = "system:node:n2", []string{"system:nodes"} }, join.Deny},
		{"a client certificate to sign others", clientCert, func(a *asked) { a.usages = append(a.usages, certv1.UsageCertSign) }, join.Deny},
		{"a client certificate to serve", clientCert, func(a *asked) { a.usages = append(a.usages, certv1.UsageServerAuth) }, join.Deny},
		{"a client certificate without its purpose", clientCert, func(a *asked) { a.usages = a.usages[:1] }, join.Deny},
		{"a client certificate with names", clientCert, func(a *asked) { a.template.DNSNames = []string{"kubernetes.default"} }, join.Deny},
		{"another signer", clientCert, func(a *asked) { a.signer = certv1.KubeAPIServerClientSignerName }, join.Ignore},
		{"a serving certificate with a token", servingCert, func(a *asked) { a.by, a.groups = "system:bootstrap:abc123", []string{"system:bootstrappers"} }, join.Ignore},

		{"the serving certificate of a node", servingCert, func(*asked) {}, join.Approve},
		{"with its other names and addresses", servingCert, func(a *asked) {
			a.template.DNSNames = append(a.template.DNSNames, "N1.example.com")
			a.template.IPAddresses = append(a.template.IPAddresses, net.ParseIP("fd00::1"))
		}, join.Approve},
		{"by its addresses only", servingCert, func(a *asked) { a.template.DNSNames = nil }, join.Approve},
		{"n2's address", servingCert, func(a *asked) { a.template.IPAddresses = []net.IP{net.ParseIP("10.0.0.2")} }, join.Wait},
		{"an address that isn't known beside its own", servingCert, func(a *asked) {
			a.template.IPAddresses = append(a.template.IPAddresses, net.ParseIP("192.0.2.1"))
		}, join.Wait},
		{"the API server's name", servingCert, func(a *asked) { a.template.DNSNames = []string{"kubernetes.default.svc"} }, join.Deny},
		{"a wildcard", servingCert, func(a *asked) { a.template.DNSNames = []string{"*"} }, join.Deny},
		{"no name and no address", servingCert, func(a *asked) { a.template.DNSNames, a.template.IPAddresses = nil, nil }, join.Deny},
		{"a URI", servingCert, func(a *asked) { a.template.URIs = []*url.URL{{Scheme: "spiffe", Host: "x"}} }, join.Deny},
		{"an e-mail address", servingCert, func(a *asked) { a.template.EmailAddresses = []string{"a@b.example"} }, join.Deny},
		{"n2 asks for n1", servingCert, func(a *asked) { a.by = "system:node:n2" }, join.Deny},
		{"a node that isn't ours", servingCert, func(a *asked) {
			a.by, a.template.Subject.CommonName = "system:node:n3", "system:node:n3"
		}, join.Ignore},
		{"a serving certificate to log in with", servingCert, func(a *asked) { a.usages = append(a.usages, certv1.UsageClientAuth) }, join.Deny},
		{"another organization", servingCert, func(a *asked) { a.template.Subject.Organization = nil }, join.Deny},
	} {
		a := c.ask()
		c.change(&a)
		if v := judge(t, a); v.Answer != c.want {
			t.Errorf("%s: the answer is %d (%s) and not %d", c.reason, v.Answer, v.Why, c.want)
		} else if v.Why == "" && v.Answer != join.Ignore {
			t.Errorf("%s: no reason is given", c.reason)
		}
	}
}

func TestWhatIsNoRequestIsIgnored(t *testing.T) {
	good := clientCert().csr(t)
	for _, text := range []string{"", "nonsense", string(good.Spec.Request) + string(good.Spec.Request), "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"} {
		csr := good.DeepCopy()
		csr.Spec.Request = []byte(text)
		if join.Read(csr) != nil {
			t.Errorf("%q was taken for a request", text)
		}
	}
}
