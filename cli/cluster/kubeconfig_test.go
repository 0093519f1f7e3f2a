//go:build unix

package cluster

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/cli/login"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/host/ssh/sshtest"
)

func TestTheKubeconfigComesOverSSHWhereThereIsNoAgent(t *testing.T) {
	const file = "/etc/rancher/rke2/rke2.yaml"
	server := sshtest.Start(t)
	server.OnCommand(func(command string) (string, int, bool) {
		if command == "sudo -n cat "+file {
			return "apiVersion: v1\n", 0, true
		}
		return "sudo: a password is required\n", 1, true
	})
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, server.Authorize(), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir())
	var out bytes.Buffer
	u := ui.New(strings.NewReader(""), &out, &out)
	l := &login.SSH{Identity: key, HostKeys: []string{server.Fingerprint()}}
	if text, err := overSSH(t.Context(), u, l, server.Address, file); err != nil || text != "apiVersion: v1\n" {
		t.Errorf("it reads %q, %v", text, err)
	}
	if _, err := overSSH(t.Context(), u, l, server.Address, "/root/other"); err == nil || !strings.Contains(err.Error(), "read /root/other at "+server.Address) {
		t.Errorf("a file that can't be read gives: %v", err)
	}
	l.HostKeys = []string{"SHA256:" + strings.Repeat("A", 43)}
	if _, err := overSSH(t.Context(), u, l, server.Address, file); err == nil {
		t.Error("a host with another key is trusted")
	}
}
