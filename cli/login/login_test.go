package login

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/host/ssh"
)

// Without a home there is none: what is in the working directory is somebody else's.
func TestKeysOfTheWorkingDirectoryArentOurs(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir(".ssh", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"known_hosts", "id_ed25519"} {
		if err := os.WriteFile(filepath.Join(".ssh", name), []byte("of somebody else"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u := ui.New(strings.NewReader(""), io.Discard, io.Discard)
	u.Getenv = func(name string) string {
		return map[string]string{"XDG_CONFIG_HOME": t.TempDir(), "SSH_AUTH_SOCK": "agent.sock"}[name]
	}
	c, err := (&SSH{}).Config(t.Context(), u, "")
	if err != nil || len(c.KnownHosts) > 0 {
		t.Errorf("trusts %q: %v", c.KnownHosts, err)
	}
	c = ssh.Config{}
	if err := (&SSH{}).key(u, &c); err == nil || len(c.Key) > 0 {
		t.Errorf("logs in with %q: %v", c.Key, err)
	}
}

func TestTheHostOfAnEndpointIsFound(t *testing.T) {
	for endpoint, want := range map[string]string{
		"https://pve.example.com:8006":           "pve.example.com",
		"https://pve1:8006, https://pve2:8006":   "pve1",
		"https://[fd00::1]:8006":                 "fd00::1",
		"pve.example.com":                        "pve.example.com",
		"pve.example.com:8006":                   "pve.example.com",
		"":                                       "",
		"https://pve.example.com:8006/api2/json": "pve.example.com",
		"https://pve.example.com,https://pve2.example.com": "pve.example.com",
	} {
		if have := HostOf(endpoint); have != want {
			t.Errorf("%s: %q, want %q", endpoint, have, want)
		}
	}
}
