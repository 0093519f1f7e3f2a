package terraform_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A secret from a file or from the environment reaches the machine, and is in neither the state nor a saved plan.
func TestAnEphemeralSecretIsNowhereButInTheMachine(t *testing.T) {
	const one, two = "k2Vt-0pen-sesame", "k2Vt-0ther-sesame"
	b := begin(t)
	b.write("secret", one+"\n")
	b.env = append(b.env, "DB_PASSWORD="+two)
	b.config(`
ephemeral "proxplane_secret" "file" {
  file = "${path.module}/secret"
}
ephemeral "proxplane_secret" "variable" {
  variable = "DB_PASSWORD"
}
resource "proxplane_virtual_machine" "web" {
  name      = "web"
  class     = { cpus = 1, memory = "1Gi" }
  image     = { source = "ubuntu-22-template" }
  user_data = { cloud_init = { inline_wo = "#cloud-config\npassword: ${ephemeral.proxplane_secret.file.value}\n# ${ephemeral.proxplane_secret.variable.value}\n" } }
}
`)
	if out, code := b.run("plan", "-out=saved"); code != 0 || strings.Contains(out, "sesame") {
		t.Fatal(out)
	}
	if out, code := b.run("show", "-json", "saved"); code != 0 || strings.Contains(out, "sesame") {
		t.Fatal(out)
	}
	if out, code := b.run("apply", "saved"); code != 0 || strings.Contains(out, "sesame") {
		t.Fatal(out)
	}
	b.settled()
	b.boots("web", "password: "+one, two)
	if err := os.Remove(filepath.Join(b.dir, "secret")); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(b.dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(file)
		if bytes.Contains(text, []byte("sesame")) {
			t.Errorf("%s has the secret", file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
