package manifest

import (
	"fmt"
	"strings"
	"testing"
)

// Parsers repeat parts of what they can't read: quoted, in backticks, or bare.
func TestNothingOfATextFromASecretIsRepeated(t *testing.T) {
	const secret = "hunter2"
	bad := 0
	for _, form := range []string{"cloudInit", "ignition", "butane"} {
		for _, way := range []string{"iso", "proxmox", "snippets"} {
			for _, text := range []string{
				"#cloud-config\n" + secret, "#cloud-config\n" + secret + ": 1\n", "#cloud-config\na: `" + secret, "#cloud-config\na: *" + secret, "#cloud-config\nbootcmd: {a: 1, " + secret + "\n",
				"#cloud-config\n" + secret + ": a: b", "#cloud-config\nusers: [" + secret + "]\n", "#cloud-config\n? [" + secret + "]\n", "#cloud-config\na: !!int " + secret,
				"variant: flatcar\nversion: 1.1.0\n" + secret + ": 1\n", "variant: " + secret + "\nversion: 1.1.0\n", "variant: flatcar\nversion: 1.1.0\npasswd: " + secret, "variant: fcos\nversion: " + secret,
				"variant: flatcar\nversion: 1.1.0\nstorage: {files: [{path: " + secret + "}]}\n", "variant: flatcar\nversion: 1.1.0\nsystemd: {units: [{name: " + secret + "}]}\n",
				"variant: flatcar\nversion: 1.1.0\npasswd: {users: [{name: core, " + secret + ": 1}]}\n", "variant: flatcar\nversion: 1.1.0\nstorage: {files: [{path: /a, contents: {local: " + secret + "}}]}\n",
				`{"ignition": {"version": "` + secret + `"}}`, `{"ignition": {"version": "3.4.0"}, "` + secret + `": 1}`, `{"ignition": {"version": "3.4.0"}, "passwd": {"users": [{"name": ` + secret + `}]}}`,
				`{"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "` + secret + `"}]}}`, `{"ignition": {"version": "3.4.0", "config": {"merge": [{"source": "` + secret + `:x"}]}}}`,
				"Content-Type: multipart/mixed; boundary=" + secret + "\n\nx", "Content-Type: " + secret + "; \"\n\n", "machine: {type: " + secret + "\ncluster: {}\n", "#cloud-config\n${vm_" + secret + "}\n", "${vm_" + secret + "}",
			} {
				manifest := fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: boot}
stringData: {user-data: %q}
---
`+little+`  variables: {}
  userData: {%s: {secretRef: {name: boot}}, delivery: %s}
`, text, form, way)
				set, err := Parse("x.yaml", []byte(manifest))
				if err != nil {
					t.Fatal(err)
				}
				_, err = set.Wanted(env(map[string]string{"PVE_ENDPOINT": "https://pve:8006", "PVE_USERNAME": "root@pam", "PVE_PASSWORD": "x"}))
				if err != nil {
					bad++
				}
				if told := fmt.Sprint(err) + strings.Join(set.Notes(), "\n"); strings.Contains(told, secret) {
					t.Errorf("%s by %s of %q tells\n%s", form, way, text, told)
				}
			}
		}
	}
	if bad < 100 {
		t.Errorf("only %d of the texts are wrong", bad)
	}
}
