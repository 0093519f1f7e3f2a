package manifest

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/proxplane/proxplane/test/kit/chance"
)

func TestSecretsAreNeverPartOfErrorsOrNotes(t *testing.T) {
	const secret = "s3cr3t-value"
	objects := `
apiVersion: v1
kind: Secret
metadata: {name: login}
data: {DATA}
stringData: {STRING}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata: {name: lab}
spec:
  endpoint: ENDPOINT
  credentialSecretRef: {name: login}
  runtime: {mode: Remote, env: [ENV]}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClone
metadata: {name: web}
spec:
  sourceVMRef: {name: golden}
  userData: {FORM: {secretRef: {name: login, key: KEY}}WAY}
`
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom([]string{"token_id", "token_secret", "username", "password", "ca.crt", "marker_key", "user-data", "other"})
		value := rapid.SampledFrom([]string{secret, "root@pam", "me@pve!x", "a@b!" + secret, "#cloud-config\\n" + secret + ": [", secret + "@pam", "[" + secret,
			"#cloud-config\\n" + secret, "#cloud-config\\n" + secret + ": 1", "#cloud-config\\na: `" + secret, "#cloud-config\\na: *" + secret, "#cloud-config\\nbootcmd: {a: 1, " + secret + "}",
			"variant: flatcar\\nversion: 1.1.0\\n" + secret + ": 1", "variant: " + secret + "\\nversion: 1.1.0", "variant: flatcar\\nversion: 1.1.0\\npasswd: " + secret, "variant: fcos\\nversion: " + secret,
			"variant: flatcar\\nversion: 1.1.0\\nstorage: {files: [{path: " + secret + "}]}", `{"ignition": {"version": "` + secret + `"}}`, `{"ignition": {"version": "3.4.0"}, "` + secret + `": 1}`,
			`{"ignition": {"version": "3.4.0"}, "passwd": {"users": [{"name": ` + secret + `}]}}`, "Content-Type: multipart/mixed; boundary=" + secret, "machine: {" + secret, "${vm_" + secret + "}",
		})
		pairs := func(name string) string {
			m := rapid.MapOfN(key, value, 0, 4).Draw(t, name)
			var out []string
			for k, v := range m {
				out = append(out, fmt.Sprintf("%s: %q", k, v))
			}
			return strings.ReplaceAll(strings.Join(out, ", "), `\\n`, `\n`)
		}
		variable := rapid.SampledFrom([]string{"PVE_TOKEN_ID", "PVE_TOKEN_SECRET", "PVE_USERNAME", "PVE_PASSWORD", "PVE_CA_BUNDLE", "PROXMOX_VE_API_TOKEN"})
		text := strings.NewReplacer(
			"DATA", pairs("data"), "STRING", pairs("string"), "KEY", key.Draw(t, "key"), "FORM", rapid.SampledFrom([]string{"cloudInit", "ignition", "butane"}).Draw(t, "form"),
			"WAY", rapid.SampledFrom([]string{"", ", delivery: proxmox", ", delivery: snippets"}).Draw(t, "way"),
			"ENDPOINT", rapid.SampledFrom([]string{"https://pve", "https://me:" + secret + "@pve"}).Draw(t, "endpoint"),
			"ENV", fmt.Sprintf("{name: %s, value: %q}", variable.Draw(t, "variable"), value.Draw(t, "value")),
		).Replace(objects)
		vars := map[string]string{variable.Draw(t, "process variable"): value.Draw(t, "process value")}
		set, err := Parse("x.yaml", []byte(text))
		if set != nil && err == nil {
			var wanted []Wanted
			wanted, err = set.Wanted(env(vars))
			for _, w := range wanted {
				if shown := fmt.Sprintf("%+v %#v", w.Connection.Credentials, w.Connection.Credentials); strings.Contains(shown, secret) && !strings.Contains(shown, secret+"@") && !strings.Contains(shown, "!"+secret) {
					t.Fatalf("credentials show %s", shown)
				}
			}
		}
		told := fmt.Sprint(err)
		if set != nil {
			told += strings.Join(set.Notes(), "\n")
		}
		if strings.Contains(told, secret) {
			t.Fatalf("%s\ntells\n%s", text, told)
		}
	})
}
