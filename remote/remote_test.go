//go:build unix

package remote

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/proxplane/proxplane/remote/remotetest"
)

// known is how to log in to a server whose host key is known.
func known(s *remotetest.Server) Config {
	return Config{Key: s.Authorize(), KnownHosts: s.KnownHosts()}
}

func dial(t *testing.T, s *remotetest.Server, config Config) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), s.Address, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// refused checks that a login fails for a reason, and that nobody got in.
func refused(t *testing.T, s *remotetest.Server, config Config, kind error, texts ...string) {
	t.Helper()
	before := len(s.Logins())
	c, err := Dial(t.Context(), s.Address, config)
	if err == nil {
		_ = c.Close()
		t.Fatalf("got in, want: %v", kind)
	}
	if !errors.Is(err, kind) {
		t.Errorf("%v: isn't of the kind: %v", err, kind)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%v: doesn't say %q", err, text)
		}
	}
	if after := len(s.Logins()); after != before {
		t.Errorf("somebody logged in all the same")
	}
}

func TestCommandsRunOnTheOtherMachine(t *testing.T) {
	s := remotetest.Start(t)
	c := dial(t, s, known(s))
	out, err := c.Run(t.Context(), "cat; echo done", strings.NewReader("hello "))
	if err != nil || out != "hello done\n" {
		t.Errorf("got %q, %v", out, err)
	}
	_, err = c.Run(t.Context(), "echo oh no >&2; exit 3", nil)
	if err == nil || !strings.Contains(err.Error(), "exit status 3: oh no") {
		t.Errorf("got %v", err)
	}
	if users := s.Logins(); !slices.Equal(users, []string{"root"}) {
		t.Errorf("logged in as %v", users)
	}
}

func TestAChangedHostKeyIsRefused(t *testing.T) {
	s := remotetest.Start(t)
	config := known(s)
	dial(t, s, config)
	old := s.Fingerprint()
	_, key := remotetest.Key(t)
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
	s := remotetest.Start(t)
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
	_, key := remotetest.Key(t)
	s.SetHostKeys(key)
	refused(t, s, config, ErrHostKeyChanged)

	refused(t, s, Config{Key: s.Authorize(), TrustFirst: true}, ErrHostKeyUnknown, "no file")
}

func TestTrustIsAddedToTheLinesThatAreThere(t *testing.T) {
	s, other := remotetest.Start(t), remotetest.Start(t)
	file := filepath.Join(t.TempDir(), "known_hosts")
	// Neither a comment, nor a kind of key from the future, nor a missing line
	// break is in the way.
	text := "# mine\nfuture.example sk-future@example.org AAAA\n@cert-authority\n" + strings.TrimSpace(string(other.KnownHosts()))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	dial(t, s, Config{Key: s.Authorize(), KnownHostsFile: file, TrustFirst: true})
	for _, s := range []*remotetest.Server{s, other} {
		dial(t, s, Config{Key: s.Authorize(), KnownHostsFile: file})
	}
	if got, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(got), text+"\n") {
		t.Errorf("%v:\n%s", err, got)
	}
}

func TestTheKnownOneOfSeveralHostKeysIsAskedFor(t *testing.T) {
	s := remotetest.Start(t)
	own := ecdsaKey(t)
	_, preferred := remotetest.Key(t)
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
	s := remotetest.Start(t)
	config := Config{Key: s.Authorize(), Fingerprints: []string{"SHA256:other", s.Fingerprint()}}
	dial(t, s, config)
	config.Fingerprints, config.KnownHosts = []string{"SHA256:other"}, s.KnownHosts()
	config.TrustFirst, config.KnownHostsFile = true, filepath.Join(t.TempDir(), "k")
	refused(t, s, config, ErrHostKeyChanged, "SHA256:other", s.Fingerprint())
}

func TestMachinesAreKnownByTheirAlias(t *testing.T) {
	first, second := remotetest.Start(t), remotetest.Start(t)
	file := filepath.Join(t.TempDir(), "known_hosts")
	config := Config{Key: first.Authorize(), KnownHostsFile: file, TrustFirst: true, HostAlias: "vm-one"}
	dial(t, first, config)
	config.Key = second.Authorize()
	refused(t, second, config, ErrHostKeyChanged)
	config.HostAlias = "vm-two"
	dial(t, second, config)
}

func TestLoginsAreRefusedForAReason(t *testing.T) {
	s := remotetest.Start(t)
	good := known(s)
	stranger, _ := remotetest.Key(t)
	config := good
	config.Key = stranger
	refused(t, s, config, ErrAuth, "root@127.0.0.1")
	config.Key = nil
	refused(t, s, config, ErrKey, "none is given")
	config.Key = []byte("not a key")
	refused(t, s, config, ErrKey)
	config.Key = nil
	config.Agent = filepath.Join(t.TempDir(), "agent")
	refused(t, s, config, ErrKey, "agent")

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	if _, err := Dial(t.Context(), listener.Addr().String(), good); !errors.Is(err, ErrUnreachable) {
		t.Errorf("nobody is there: %v", err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	good.Timeout = 50 * time.Millisecond
	if _, err := Dial(t.Context(), silent.Addr().String(), good); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("nobody answers: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("changed my mind")
	cancel(stop)
	if _, err := Dial(ctx, s.Address, known(s)); !errors.Is(err, stop) {
		t.Errorf("given up: %v", err)
	}
}

func TestLockedKeysNeedTheirPassphrase(t *testing.T) {
	s := remotetest.Start(t)
	config := known(s)
	private, err := ssh.ParseRawPrivateKey(config.Key)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	config.Key = pem.EncodeToMemory(block)
	refused(t, s, config, ErrKey, "passphrase")
	config.Passphrase = []byte("wrong")
	refused(t, s, config, ErrKey)
	config.Passphrase = []byte("secret")
	dial(t, s, config)
}

func TestKeysOfAnAgentAreTried(t *testing.T) {
	s := remotetest.Start(t)
	config := known(s)
	private, err := ssh.ParseRawPrivateKey(config.Key)
	if err != nil {
		t.Fatal(err)
	}
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: private}); err != nil {
		t.Fatal(err)
	}
	config.Key, config.Agent = nil, filepath.Join(t.TempDir(), "agent")
	listener, err := net.Listen("unix", config.Agent)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(ring, conn) }()
		}
	}()
	dial(t, s, config)
	config.Key, _ = remotetest.Key(t)
	dial(t, s, config)
}

func TestOneMachineIsReachedThroughAnother(t *testing.T) {
	jump, s := remotetest.Start(t), remotetest.Start(t)
	config := known(s)
	config.User = "core"
	config.Jump = &Jump{jump.Address, known(jump)}
	c := dial(t, s, config)
	if out, err := c.Run(t.Context(), "echo there", nil); err != nil || out != "there\n" {
		t.Errorf("got %q, %v", out, err)
	}
	if a, b := jump.Logins(), s.Logins(); !slices.Equal(a, []string{"root"}) || !slices.Equal(b, []string{"core"}) {
		t.Errorf("logins %v and %v", a, b)
	}
	config.Jump.Config.KnownHosts = nil
	refused(t, s, config, ErrHostKeyUnknown, jump.Address)
	config.Jump.Config = known(jump)
	if _, err := Dial(t.Context(), "127.0.0.1:1", config); !errors.Is(err, ErrUnreachable) {
		t.Errorf("nobody is there: %v", err)
	}
}

func TestSessionsHaveATerminal(t *testing.T) {
	s := remotetest.Start(t)
	c := dial(t, s, known(s))
	resized := make(chan Size)
	var out lines
	out.got = make(chan string, 100)
	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer typed.Close()
	type end struct {
		status int
		err    error
	}
	ended := make(chan end)
	go func() {
		status, err := c.Session(t.Context(), Session{
			Command: `echo "$TERM $(stty size)"; until [ "$(stty size)" = "40 120" ]; do sleep 0.01; done; echo resized; read x; echo "read $x"; exit 7`, In: in, Out: &out, Err: &out,
			Terminal: &Terminal{Type: "vt100", Columns: 99, Rows: 33, Resized: resized},
		})
		ended <- end{status, err}
	}()
	out.want(t, "vt100 33 99")
	resized <- Size{Columns: 120, Rows: 40}
	out.want(t, "resized")
	if _, err := typed.WriteString("go on\n"); err != nil {
		t.Fatal(err)
	}
	out.want(t, "read go on")
	if got := <-ended; got.status != 7 || got.err != nil {
		t.Errorf("ended with %+v", got)
	}
}

// lines hands out what is written line by line.
type lines struct {
	got  chan string
	rest string
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest += string(p)
	for {
		line, rest, ok := strings.Cut(l.rest, "\n")
		if !ok {
			return len(p), nil
		}
		l.got <- strings.TrimSpace(line)
		l.rest = rest
	}
}

func (l *lines) want(t *testing.T, text string) {
	t.Helper()
	for {
		select {
		case line := <-l.got:
			if line == text {
				return
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%q doesn't come", text)
		}
	}
}
