//go:build unix

package ssh_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/host/ssh/sshtest"
)

func TestHostsNeverShowTheirKeys(t *testing.T) {
	h := ssh.Hosts{Config: ssh.Config{User: "deploy", Key: []byte("secret"), Passphrase: []byte("secret")}}
	text, err := json.Marshal(&h)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{string(text), fmt.Sprint(h), fmt.Sprintf("%+v %#v %s", h, &h, &h)} {
		if strings.Contains(shown, "secret") || strings.Contains(shown, "115 101") || !strings.Contains(shown, "deploy") {
			t.Errorf("%q", shown)
		}
	}
}

func TestHostsAreWhereTheyAreSaidToBe(t *testing.T) {
	s := sshtest.Start(t)
	h := ssh.Hosts{Config: ssh.Config{Key: s.Authorize(), KnownHosts: s.KnownHosts()}, Addresses: map[string]string{"pve1": s.Address}}
	for node, address := range map[string]string{"pve1": "192.0.2.1", "pve2": s.Address} {
		c, err := h.Dial(t.Context(), node, address)
		if err != nil {
			t.Fatalf("%s: %v", node, err)
		}
		c.Close()
	}
}
