package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		t      target
		env    map[string]string
		want   string // endpoint and credentials, or the beginning of an error
	}{
		{"the environment", target{}, env, "https://env:8006 token env@pve!t"},
		{"other names", target{}, map[string]string{"PROXMOX_VE_ENDPOINT": "https://other:8006", "PROXMOX_VE_API_TOKEN": "other@pve!t=s"}, "https://other:8006 token other@pve!t"},
		{"a flag beside the environment", target{endpoints: []string{"flag"}}, env, "flag token env@pve!t"},
		{"flags alone", target{endpoints: []string{"flag"}, tokenID: "flag@pve!t", tokenFile: file("secret", "s\n")}, nil, "flag token flag@pve!t"},
		{"a token's file alone", target{endpoints: []string{"flag"}, tokenFile: file("token", "file@pve!t=s\n")}, env, "flag token file@pve!t"},
		{"a user and a file", target{endpoints: []string{"flag"}, username: "me@pam", passwordFile: file("password", "p\n")}, env, "flag password of me@pam"},
		{"a user, and the environment's password", target{username: "me@pam"}, map[string]string{"PVE_ENDPOINT": "e", "PVE_PASSWORD": "p"}, "e password of me@pam"},
		{"a manifest", target{files: []string{provider}}, env, "https://prod:8006 token prod@pve!t"},
		{"a flag beside a manifest", target{files: []string{provider}, endpoints: []string{"https://flag"}}, env, "https://flag token prod@pve!t"},
		{"nothing", target{}, nil, "error: no Proxmox is named"},
		{"no credentials", target{endpoints: []string{"flag"}}, nil, "error: no credentials are given"},
		{"a user and nobody to ask", target{endpoints: []string{"flag"}, username: "me@pam"}, nil, "error: no terminal to ask for the password of me@pam"},
		{"a secret without its token", target{endpoints: []string{"flag"}, tokenFile: file("secret", "s\n")}, nil, "error: --token-file"},
		{"two logins", target{tokenID: "a@b!c", username: "d@e"}, nil, "error: --token-id and --username"},
		{"another provider", target{files: []string{provider}, provider: "test"}, nil, "error: --provider test: the manifests have only prod"},
	} {
		u := newUI(strings.NewReader(""), io.Discard, io.Discard)
		u.getenv = func(name string) string { return c.env[name] }
		w, err := c.t.one(u)
		got := strings.Join(w.Connection.Endpoints, ",") + " " + w.Connection.Credentials.String()
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want && !(err != nil && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
		}
	}
}
