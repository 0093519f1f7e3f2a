package target

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/cli/ui"
)

func TestWhereTheConnectionComesFrom(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	provider := file("provider.yaml", `
apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata: {name: prod}
spec: {type: proxmox, endpoint: "https://prod:8006", credentialSecretRef: {name: creds}}
---
apiVersion: v1
kind: Secret
metadata: {name: creds}
stringData: {token_id: "prod@pve!t", token_secret: "s"}
`)
	env := map[string]string{"PVE_ENDPOINT": "https://env:8006", "PVE_TOKEN_ID": "env@pve!t", "PVE_TOKEN_SECRET": "s"}
	for _, c := range []struct {
		reason string
		t      Target
		env    map[string]string
		want   string // endpoint and credentials, or the beginning of an error
	}{
		{"the environment", Target{}, env, "https://env:8006 token env@pve!t"},
		{"other names", Target{}, map[string]string{"PROXMOX_VE_ENDPOINT": "https://other:8006", "PROXMOX_VE_API_TOKEN": "other@pve!t=s"}, "https://other:8006 token other@pve!t"},
		{"a flag beside the environment", Target{Endpoints: []string{"flag"}}, env, "flag token env@pve!t"},
		{"flags alone", Target{Endpoints: []string{"flag"}, TokenID: "flag@pve!t", TokenFile: file("secret", "s\n")}, nil, "flag token flag@pve!t"},
		{"a token's file alone", Target{Endpoints: []string{"flag"}, TokenFile: file("token", "file@pve!t=s\n")}, env, "flag token file@pve!t"},
		{"a user and a file", Target{Endpoints: []string{"flag"}, Username: "me@pam", PasswordFile: file("password", "p\n")}, env, "flag password of me@pam"},
		{"a user, and the environment's password", Target{Username: "me@pam"}, map[string]string{"PVE_ENDPOINT": "e", "PVE_PASSWORD": "p"}, "e password of me@pam"},
		{"a manifest", Target{Files: []string{provider}}, env, "https://prod:8006 token prod@pve!t"},
		{"a flag beside a manifest", Target{Files: []string{provider}, Endpoints: []string{"https://flag"}}, env, "https://flag token prod@pve!t"},
		{"nothing", Target{}, nil, "error: no Proxmox is named"},
		{"no credentials", Target{Endpoints: []string{"flag"}}, nil, "error: no credentials are given"},
		{"a user and nobody to ask", Target{Endpoints: []string{"flag"}, Username: "me@pam"}, nil, "error: no terminal to ask for the password of me@pam"},
		{"a secret without its token", Target{Endpoints: []string{"flag"}, TokenFile: file("secret", "s\n")}, nil, "error: --token-file"},
		{"two logins", Target{TokenID: "a@b!c", Username: "d@e"}, nil, "error: --token-id and --username"},
		{"another provider", Target{Files: []string{provider}, Provider: "test"}, nil, "error: --provider test: the manifests have only prod"},
	} {
		u := ui.New(strings.NewReader(""), io.Discard, io.Discard)
		u.Getenv = func(name string) string { return c.env[name] }
		w, err := c.t.One(u)
		got := strings.Join(w.Connection.Endpoints, ",") + " " + w.Connection.Credentials.String()
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want && !(err != nil && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
		}
	}
}
