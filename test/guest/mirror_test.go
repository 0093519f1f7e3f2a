package guest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pvesim/qemu"
	"github.com/proxplane/proxplane/test/kit/controlplane"
)

// hosts are the names of the internet that guests know. All of them are the test.
func hosts() map[string]string {
	known := map[string]string{}
	for _, name := range []string{"dl.k8s.io", "github.com", "releases.test"} {
		known[name] = controlplane.GuestAddress
	}
	return known
}

// authority is who says that the test is these hosts. It is the same each time, so that guests that are
// kept know it, and is trusted by nobody else.
func authority() (cert *x509.Certificate, key ed25519.PrivateKey, text string) {
	seed := sha256.Sum256([]byte("the authority of guests that tests boot"))
	key = ed25519.NewKeyFromSeed(seed[:])
	cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "guests of tests"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		panic(err) // it can't fail
	}
	return cert, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// mirror serves what guests fetch from the internet, under the same URLs.
type mirror struct {
	address string // on this host

	mu      sync.Mutex
	files   map[string][]byte // by host and path
	fetched []string
}

func newMirror(t *testing.T) *mirror {
	t.Helper()
	m := &mirror{files: map[string][]byte{}}
	ca, signer, _ := authority()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "mirror"}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter}
	for name := range hosts() {
		cert.DNSNames = append(cert.DNSNames, name)
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, ca, public, signer)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: m, ReadHeaderTimeout: *patience}
	go func() { _ = server.Serve(l) }() // until it is closed
	t.Cleanup(func() { _ = server.Close() })
	m.address = l.Addr().String()
	return m
}

// put adds a file, and what its release says is its checksum.
func (m *mirror) put(at string, data []byte, sums string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[at] = data
	if sums != "" {
		m.files[sums] = fmt.Appendf(nil, "%s\n", sha(data))
	}
}

func sha(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ServeHTTP answers as the host that is asked for.
func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	data, ok := m.files[r.Host+r.URL.Path]
	m.fetched = append(m.fetched, r.Host+r.URL.Path)
	m.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// wasAsked fails unless something was fetched.
func (m *mirror) wasAsked(t *testing.T, at string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.fetched, at) {
		t.Errorf("nobody fetched %s; fetched were %v", at, m.fetched)
	}
}

// archived is a compressed archive of files of this host, by their names in it.
func archived(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	a := tar.NewWriter(z)
	for name, from := range files {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		addFile(t, a, name, data)
	}
	for _, c := range []io.Closer{a, z} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func addFile(t *testing.T, a *tar.Writer, name string, data []byte) {
	t.Helper()
	if err := a.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(data))}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Write(data); err != nil {
		t.Fatal(err)
	}
}

// offer lets guests reach servers of this host, by the ports under which guests find them.
func (l *lab) offer(servers map[uint16]string) {
	l.t.Helper()
	self, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	var list []qemu.Offer
	for port, address := range servers {
		list = append(list, qemu.Offer{At: netip.AddrPortFrom(netip.MustParseAddr(controlplane.GuestAddress), port), Run: []string{self, relayCommand, address}})
	}
	if err := l.backend.Offer(l.t.Context(), l.sim.GuestNetwork(), list...); err != nil {
		l.t.Fatal(err)
	}
}

// relayCommand has this program connect its standard input and output with an address.
const relayCommand = "relay-for-guests"

// relay does so until both ends are done.
func relay(address string) error {
	here, err := net.FileConn(os.Stdin)
	if err != nil {
		return err
	}
	there, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		pass(there, here)
		close(done)
	}()
	pass(here, there)
	<-done
	return nil
}

// pass hands over what comes from one end, and its end.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from) // whoever is left finds out
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
