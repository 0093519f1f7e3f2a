//go:build unix

package remote_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/remote"
	"github.com/proxplane/proxplane/remote/remotetest"
)

func TestHostsNeverShowTheirKeys(t *testing.T) {
	h := remote.Hosts{Config: remote.Config{User: "deploy", Key: []byte("secret"), Passphrase: []byte("secret")}}
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
	s := remotetest.Start(t)
	h := remote.Hosts{Config: remote.Config{Key: s.Authorize(), KnownHosts: s.KnownHosts()}, Addresses: map[string]string{"pve1": s.Address}}
	for node, address := range map[string]string{"pve1": "192.0.2.1", "pve2": s.Address} {
		c, err := h.Dial(t.Context(), node, address)
		if err != nil {
			t.Fatalf("%s: %v", node, err)
		}
		c.Close()
	}
}
