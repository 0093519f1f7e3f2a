package manifest

import (
	"fmt"
	"maps"
	"os"
	"testing"
)

func TestTheEnvironmentAloneIsAConnection(t *testing.T) {
	read := func(name string) ([]byte, error) {
		if name == "/ca.pem" {
			return []byte("-----BEGIN CERTIFICATE-----"), nil
		}
		return nil, os.ErrNotExist
	}
	for _, c := range []struct {
		vars map[string]string
		want string // the credentials, or an error
	}{
		{login, "token me@pve!laptop"},
		{map[string]string{"PROXMOX_VE_ENDPOINT": "a,b", "PROXMOX_VE_API_TOKEN": "me@pve!x=y"}, "token me@pve!x"},
		{map[string]string{"PVE_ENDPOINT": "a", "PVE_USERNAME": "root@pam", "PVE_PASSWORD": "x", "PVE_CA_BUNDLE": "/ca.pem"}, "password of root@pam"},
		{map[string]string{}, "no Proxmox is named: set PVE_ENDPOINT, or give a manifest with a Provider"},
		{map[string]string{"PVE_ENDPOINT": "a"}, "no credentials are given: set PVE_TOKEN_ID and PVE_TOKEN_SECRET, or PVE_USERNAME and PVE_PASSWORD"},
		{map[string]string{"PVE_ENDPOINT": "a", "PVE_TOKEN_SECRET": "x"}, "there is PVE_TOKEN_SECRET, but no PVE_TOKEN_ID"},
		{map[string]string{"PVE_ENDPOINT": "a", "PVE_USERNAME": "root", "PVE_PASSWORD": "x"}, "PVE_USERNAME should have a realm, like root@pam"},
		{map[string]string{"PVE_ENDPOINT": "a", "PROXMOX_VE_API_TOKEN": "x"}, `PROXMOX_VE_API_TOKEN: an API token looks like "user@realm!name=secret"`},
		{map[string]string{"PVE_ENDPOINT": "a", "PVE_TOKEN_ID": "a@b!c", "PVE_TOKEN_SECRET": "x", "PVE_CA_BUNDLE": "/none"}, "PVE_CA_BUNDLE: /none isn't there: no such file or folder"},
		{map[string]string{"PVE_ENDPOINT": "a", "PVE_TOKEN_ID": "a@b!c", "PVE_TOKEN_SECRET": "x", "PVE_CA_BUNDLE": "hunter2"}, "the file that PVE_CA_BUNDLE names isn't there: no such file or folder"},
		{map[string]string{"PVE_ENDPOINT": "a", "PVE_TOKEN_ID": "a@b!c", "PVE_TOKEN_SECRET": "x", "PVE_INSECURE_SKIP_VERIFY": "2"}, `PVE_INSECURE_SKIP_VERIFY: want true or false, have "2"`},
	} {
		got, err := Environment(func(name string) string { return c.vars[name] }, read)
		text := got.Credentials.String()
		if err != nil {
			text = err.Error()
		}
		if text != c.want {
			t.Errorf("%v: %s, want %s", c.vars, text, c.want)
		}
	}
	if c, _ := Environment(func(name string) string { return login[name] }, nil); len(c.Config().Endpoints) != 1 {
		t.Errorf("%+v", c.Config())
	}
	several := maps.Clone(login)
	several["PVE_ENDPOINT"], several["PVE_FINGERPRINT"] = "https://a:8006 https://b:8006", "AA:BB,CC:DD"
	c, err := Environment(func(name string) string { return several[name] }, nil)
	if err != nil || len(c.Endpoints) != 2 || len(c.TLS.Fingerprints) != 2 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestWhomAManifestTrustsComesBeforeTheEnvironment(t *testing.T) {
	const provider = `apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata: {name: lab}
spec: {endpoint: https://pve, credentialSecretRef: {name: login}%s}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {token_id: me@pve!laptop, token_secret: x%s}
`
	const ca = "-----BEGIN CERTIFICATE-----"
	for _, c := range []struct{ spec, secret, variable, value, want string }{
		{"", "", "PVE_INSECURE_SKIP_VERIFY", "true", "any"},
		{"", "", "PVE_CA_BUNDLE", ca, "CA"},
		{"", `, ca.crt: "` + ca + `"`, "PVE_INSECURE_SKIP_VERIFY", "true", "CA"},
		{", fingerprint: AA", "", "PVE_INSECURE_SKIP_VERIFY", "true", "fingerprint"},
		{", insecureSkipVerify: true", "", "PVE_CA_BUNDLE", ca, "any"},
	} {
		set, err := Parse("x.yaml", fmt.Appendf(nil, provider, c.spec, c.secret))
		if err != nil {
			t.Fatal(err)
		}
		getenv := func(name string) string {
			if name == c.variable {
				return c.value
			}
			return ""
		}
		all, err := set.Wanted(Options{Set: "default", Getenv: getenv})
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		got := ""
		switch trust := all[0].Connection.TLS; {
		case trust.Insecure:
			got = "any"
		case len(trust.CA) > 0:
			got = "CA"
		case len(trust.Fingerprints) > 0:
			got = "fingerprint"
		}
		if got != c.want {
			t.Errorf("%+v: it trusts %q", c, got)
		}
	}
}
