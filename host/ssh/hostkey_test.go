//go:build unix

package ssh

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/host/ssh/sshtest"
)

func TestAChangedHostKeyIsRefused(t *testing.T) {
	s := sshtest.Start(t)
	config := known(s)
	dial(t, s, config)
	old := s.Fingerprint()
	_, key := sshtest.Key(t)
	s.SetHostKeys(key)
	refused(t, s, config, ErrHostKeyChanged, old, s.Fingerprint(), "in between")
	config.TrustFirst, config.KnownHostsFile = true, filepath.Join(t.TempDir(), "known_hosts")
	refused(t, s, config, ErrHostKeyChanged)
	s.SetHostKeys(ecdsaKey(t))
	refused(t, s, config, ErrHostKeyChanged, "kind")
}

func ecdsaKey(t *testing.T) ssh.Signer {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func TestAnUnknownHostIsRefusedUnlessTrusted(t *testing.T) {
	s := sshtest.Start(t)
	file := filepath.Join(t.TempDir(), "new", "known_hosts")
	config := Config{Key: s.Authorize(), KnownHostsFile: file}
	refused(t, s, config, ErrHostKeyUnknown, s.Fingerprint())

	asked := ""
	config.Ask = func(_, kind, fingerprint string) bool { asked = kind + " " + fingerprint; return false }
	refused(t, s, config, ErrHostKeyUnknown)
	if asked != "ssh-ed25519 "+s.Fingerprint() {
		t.Errorf("asked about %q", asked)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a refused key was kept")
	}

	config.Ask, config.TrustFirst = nil, true
	dial(t, s, config)
	config.TrustFirst = false
	dial(t, s, config)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	config.TrustFirst = true
	_, key := sshtest.Key(t)
	s.SetHostKeys(key)
	refused(t, s, config, ErrHostKeyChanged)

	refused(t, s, Config{Key: s.Authorize(), TrustFirst: true}, ErrHostKeyUnknown, "no file")
}

func TestTrustIsAddedToTheLinesThatAreThere(t *testing.T) {
	s, other := sshtest.Start(t), sshtest.Start(t)
	file := filepath.Join(t.TempDir(), "known_hosts")
	// Neither a comment, nor a kind of key from the future, nor a missing line
	// break is in the way.
	text := "# mine\nfuture.example sk-future@example.org AAAA\n@cert-authority\n" + strings.TrimSpace(string(other.KnownHosts()))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	dial(t, s, Config{Key: s.Authorize(), KnownHostsFile: file, TrustFirst: true})
	for _, s := range []*sshtest.Server{s, other} {
		dial(t, s, Config{Key: s.Authorize(), KnownHostsFile: file})
	}
	if got, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(got), text+"\n") {
		t.Errorf("%v:\n%s", err, got)
	}
}

func TestTheKnownOneOfSeveralHostKeysIsAskedFor(t *testing.T) {
	s := sshtest.Start(t)
	own := ecdsaKey(t)
	_, preferred := sshtest.Key(t)
	s.SetHostKeys(own)
	config, pin := known(s), s.Fingerprint()
	s.SetHostKeys(preferred, own)
	dial(t, s, config)
	dial(t, s, Config{Key: s.Authorize(), Fingerprints: []string{pin}})
	s.SetHostKeys(preferred, ecdsaKey(t))
	refused(t, s, config, ErrHostKeyChanged)
	refused(t, s, Config{Key: s.Authorize(), Fingerprints: []string{pin}}, ErrHostKeyChanged)
}

func TestPinnedFingerprintsCountAlone(t *testing.T) {
	s := sshtest.Start(t)
	config := Config{Key: s.Authorize(), Fingerprints: []string{"SHA256:other", s.Fingerprint()}}
	dial(t, s, config)
	config.Fingerprints, config.KnownHosts = []string{"SHA256:other"}, s.KnownHosts()
	config.TrustFirst, config.KnownHostsFile = true, filepath.Join(t.TempDir(), "k")
	refused(t, s, config, ErrHostKeyChanged, "SHA256:other", s.Fingerprint())
}

func TestMachinesAreKnownByTheirAlias(t *testing.T) {
	first, second := sshtest.Start(t), sshtest.Start(t)
	file := filepath.Join(t.TempDir(), "known_hosts")
	config := Config{Key: first.Authorize(), KnownHostsFile: file, TrustFirst: true, HostAlias: "vm-one"}
	dial(t, first, config)
	config.Key = second.Authorize()
	refused(t, second, config, ErrHostKeyChanged)
	config.HostAlias = "vm-two"
	dial(t, second, config)
}
