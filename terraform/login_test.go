package terraform_test

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/terraform"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// A Proxmox is known by its authority or by its fingerprint, and by nothing less unless that is said.
func TestTheCertificateIsChecked(t *testing.T) {
	c := start(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, sim.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	own, other := c.fingerprint(), strings.Repeat("AB:", 31)+"AB"
	for name, try := range map[string]struct {
		block  values
		reason string // that nothing can be planned; empty: all can
	}{
		"the authority":         {values{"ca": string(sim.CA())}, ""},
		"a file with it":        {values{"ca": file}, ""},
		"the fingerprint":       {values{"fingerprint": own}, ""},
		"another fingerprint":   {values{"fingerprint": other}, "fingerprint"},
		"nothing":               {values{}, "PVE_FINGERPRINT"},
		"a file that isn't one": {values{"ca": filepath.Join(t.TempDir(), "none.pem")}, "none.pem"},
		"whatever it is":        {values{"insecure_skip_verify": true}, ""},
	} {
		block := c.login()
		delete(block, "ca")
		for k, v := range try.block {
			block[k] = v
		}
		c.connect(block)
		_, said := c.plan(c.none("proxplane_virtual_machine"), values{"name": "web", "class": values{"cpus": 1, "memory": "1Gi"}, "image": values{"source": "ubuntu-22-template"}})
		if said.failed != (try.reason != "") || !strings.Contains(said.text, try.reason) {
			t.Errorf("%s: want %q, and it says %q", name, try.reason, said)
		}
		if strings.Contains(said.text, sim.TokenSecret) {
			t.Errorf("%s: the secret is told: %s", name, said)
		}
	}
}

// What the provider's block says counts, whatever the environment has for other programs.
func TestTheBlockCountsMoreThanTheEnvironment(t *testing.T) {
	c := start(t)
	const token, secret = "nobody@pve!other", "00000000-0000-0000-0000-000000000000"
	byPassword := values{"username": "root@pam", "password": "proxplane", "ca": string(sim.CA())}
	byToken := values{"token_id": sim.TokenID, "token_secret": sim.TokenSecret, "ca": string(sim.CA())}
	for _, try := range []struct {
		block values
		env   map[string]string
	}{
		{byPassword, map[string]string{"PVE_TOKEN_ID": token, "PVE_TOKEN_SECRET": secret}},
		{byPassword, map[string]string{"PROXMOX_VE_API_TOKEN": token + "=" + secret}},
		{values{"username": "root@pam", "ca": string(sim.CA())}, map[string]string{"PVE_PASSWORD": "proxplane", "PROXMOX_VE_API_TOKEN": token + "=" + secret}},
		{byToken, map[string]string{"PROXMOX_VE_API_TOKEN": token + "=" + secret, "PVE_USERNAME": "nobody@pve", "PVE_PASSWORD": secret}},
		{byToken, map[string]string{"PROXMOX_VE_INSECURE": "true"}},
		{byToken, map[string]string{"PVE_FINGERPRINT": strings.Repeat("AB:", 31) + "AB"}},
	} {
		block := maps.Clone(try.block)
		block["set"], block["endpoint"] = "shop", c.sim.Endpoint
		c.connectTo(terraform.NewIn(try.env), block)
		if _, said := c.plan(c.none("proxplane_virtual_machine"), small("web")); said.failed {
			t.Errorf("%v beside %v: %s", slices.Sorted(maps.Keys(block)), try.env, said)
		}
	}
}

// Without credentials, the error says where they may be said in Terraform.
func TestMissingCredentialsAreToldInWordsOfTerraform(t *testing.T) {
	c := start(t)
	for _, name := range []string{"PVE_TOKEN_ID", "PVE_TOKEN_SECRET", "PVE_USERNAME", "PVE_PASSWORD", "PROXMOX_VE_API_TOKEN", "PROXMOX_VE_USERNAME", "PROXMOX_VE_PASSWORD"} {
		if os.Getenv(name) != "" {
			t.Skip(name + " is set")
		}
	}
	block := c.login()
	delete(block, "token_id")
	delete(block, "token_secret")
	c.connect(block)
	for kind, config := range map[string]values{"proxplane_virtual_machine": small("web"), "proxplane_manifest": {"name": "web", "yaml": "apiVersion: v1\n"}} {
		_, said := c.plan(c.none(kind), config)
		if !said.failed || strings.Contains(said.text, "credential_secret_ref") {
			t.Errorf("%s: %s", kind, said)
		}
	}
	if _, said := c.plan(c.none("proxplane_virtual_machine"), small("web")); !strings.Contains(said.text, "The provider has no credentials: Say token_id and token_secret, or username and password") {
		t.Error(said)
	}
}

// A wrong password isn't tried again for each resource: hosts shut out who fails too often.
func TestAWrongPasswordIsTriedFewTimes(t *testing.T) {
	c := start(t)
	before := c.sim.RequestCount()
	c.connect(values{"set": "shop", "endpoint": c.sim.Endpoint, "ca": string(sim.CA()), "username": "root@pam", "password": "wrong"})
	for i := range 30 {
		if _, said := c.planBeside(c.none("proxplane_virtual_machine"), small(fmt.Sprint("web-", i))); !said.failed || !strings.Contains(said.text, "authentication failure") {
			t.Fatal(said)
		}
	}
	if logins := c.sim.RequestCount() - before; logins > 3 {
		t.Errorf("there were %d requests", logins)
	}
}

// fingerprint is that of the Proxmox, as its own pages show it.
func (c *client) fingerprint() string {
	c.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(c.sim.Endpoint, "https://"), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		c.Fatal(err)
	}
	defer conn.Close()
	sum := sha256.Sum256(conn.ConnectionState().PeerCertificates[0].Raw)
	text := ""
	for _, b := range sum {
		text += fmt.Sprintf(":%02X", b)
	}
	return text[1:]
}
