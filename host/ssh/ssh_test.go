//go:build unix

package ssh

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/host/ssh/sshtest"
)

// known is how to log in to a server whose host key is known.
func known(s *sshtest.Server) Config {
	return Config{Key: s.Authorize(), KnownHosts: s.KnownHosts()}
}

func dial(t *testing.T, s *sshtest.Server, config Config) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), s.Address, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// refused checks that a login fails for a reason, and that nobody got in.
func refused(t *testing.T, s *sshtest.Server, config Config, kind error, texts ...string) {
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
	s := sshtest.Start(t)
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

func TestLoginsAreRefusedForAReason(t *testing.T) {
	s := sshtest.Start(t)
	good := known(s)
	stranger, _ := sshtest.Key(t)
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

func TestOneMachineIsReachedThroughAnother(t *testing.T) {
	jump, s := sshtest.Start(t), sshtest.Start(t)
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
