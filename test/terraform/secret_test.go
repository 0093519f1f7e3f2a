package terraform_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
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
	b.lacks(b.dir, "sesame")
}

// lacks: no file of a folder has a text.
func (b *bench) lacks(dir, text string) {
	b.Helper()
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(file)
		if bytes.Contains(content, []byte(text)) {
			b.Errorf("%s has %s", file, text)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

// A saved plan has the values of all variables, but for those that are ephemeral: the examples and the module have their passwords in such ones.
func TestTheModulesPasswordIsInNoSavedPlan(t *testing.T) {
	const password = "k2Vt-0pen-sesame"
	w := flatcarWorld()
	w.Users = append(w.Users, pvesim.WorldUser{ID: "maker@pve", Password: password})
	w.ACL = append(w.ACL, pvesim.WorldACL{Path: "/", Role: "Administrator", User: "maker@pve"})
	b := beginIn(t, w)
	b.take("kubernetes")
	b.env = append(b.env, "TF_VAR_pm_user=maker@pve", "TF_VAR_pm_password="+password)
	b.do("plan", "-out=saved")
	files, err := zip.OpenReader(filepath.Join(b.dir, "saved"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }() // which was read only
	if err := os.CopyFS(filepath.Join(b.dir, "unpacked"), files); err != nil {
		t.Fatal(err)
	}
	b.do("apply", "saved")
	b.settled()
	b.lacks(b.dir, password)
}
