package kubelet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/certificate/csr"
)

// discover finds the CA of the API server as kubeadm does: the ConfigMap cluster-info can be read by
// anybody, is signed with the token, and has to have the CA that the seed expects.
func (s *Settings) discover(ctx context.Context) error {
	anybody, err := kubernetes.NewForConfig(&rest.Config{Host: s.Server, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		return err
	}
	info, err := anybody.CoreV1().ConfigMaps("kube-public").Get(ctx, "cluster-info", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read cluster-info: %w", err)
	}
	text := info.Data["kubeconfig"]
	id, secret, _ := strings.Cut(s.Token, ".")
	if !signed(text, info.Data["jws-kubeconfig-"+id], secret) {
		return errors.New("cluster-info isn't signed with the token, or not yet")
	}
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		return err
	}
	for _, c := range config.Clusters {
		s.CA = c.CertificateAuthorityData
	}
	return s.checkCA()
}

// signed reports whether a text has the detached JSON web signature of a token.
func signed(text, signature, secret string) bool {
	parts := strings.Split(signature, ".")
	if len(parts) != 3 {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(text))))
	got, err := base64.RawURLEncoding.DecodeString(parts[2])
	return err == nil && hmac.Equal(got, mac.Sum(nil))
}

// checkCA holds the CA against what the seed says of it.
func (s *Settings) checkCA() error {
	block, _ := pem.Decode(s.CA)
	if block == nil {
		return errors.New("cluster-info has no CA")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err
	}
	public := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	if len(s.CAHashes) > 0 && !slices.Contains(s.CAHashes, "sha256:"+hex.EncodeToString(public[:])) {
		return errors.New("the CA isn't the one that the seed has the hash of")
	}
	whole := sha256.Sum256(s.CA)
	if s.CASum != "" && s.CASum != hex.EncodeToString(whole[:]) {
		return errors.New("the CA isn't the one that the token has the checksum of")
	}
	return nil
}

// ask has Kubernetes sign a certificate, and waits for it.
func ask(ctx context.Context, c kubernetes.Interface, signer, node string, usage certv1.KeyUsage, names []string, addresses []net.IP) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}, DNSNames: names, IPAddresses: addresses,
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &template, private)
	if err != nil {
		return nil, nil, err
	}
	request := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	name, uid, err := csr.RequestCertificateWithContext(ctx, c, request, "", signer, nil, []certv1.KeyUsage{certv1.UsageDigitalSignature, usage}, private)
	if err != nil {
		return nil, nil, err
	}
	if cert, err = csr.WaitForCertificate(ctx, c, name, uid); err != nil {
		return nil, nil, err
	}
	b, err := x509.MarshalECPrivateKey(private)
	return cert, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: b}), err
}

// bootstrap gets the client certificate of the node with its token.
func (n *node) bootstrap(ctx context.Context) error {
	if len(n.CA) == 0 {
		if err := n.discover(ctx); err != nil {
			return err
		}
	}
	config := &rest.Config{Host: n.Server, BearerToken: n.Token, TLSClientConfig: rest.TLSClientConfig{CAData: n.CA}, QPS: -1}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, csrPatience)
	defer cancel()
	n.cert, n.key, err = ask(ctx, c, certv1.KubeAPIServerClientKubeletSignerName, n.Name, certv1.UsageClientAuth, nil, nil)
	return err
}

// csrPatience is how long a kubelet waits for a certificate before it asks again.
const csrPatience = 5 * time.Minute
