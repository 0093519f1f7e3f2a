package outside_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// The secrets of the story. None of them may be seen anywhere but where they were
// given.
const (
	guestPassword = "correct+horse/battery=staple"
	userSecret    = "zx-user-data-secret-77"
	wrongSecret   = "deadbeef-dead-4ead-8ead-deadbeefdead"
)

// forms are how a secret may look after it went through something.
func forms(secret string) []string {
	list := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	for shift := range 3 { // base64 of a longer text that has it somewhere inside
		b := base64.StdEncoding.EncodeToString(append(make([]byte, shift), secret...))
		list = append(list, b[4:len(b)-4])
	}
	return list
}

// revealed are the secrets that a text gives away.
func revealed(text []byte) (found []string) {
	for _, secret := range []string{guestPassword, userSecret, wrongSecret, tokenSecret} {
		for _, form := range forms(secret) {
			if bytes.Contains(text, []byte(form)) {
				found = append(found, form)
				break
			}
		}
	}
	return found
}

const secretMachine = `apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 1, memory: 1Gi, spec: {serial: true}}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: ubuntu}
spec: {source: ubuntu-22-template}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: password}
spec:
  classRef: {name: small}
  imageRef: {name: ubuntu}
  networks: [{name: lan}]
  userData: {delivery: proxmox, cloudInit: {secretRef: {name: login, key: password}}}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: script}
spec:
  classRef: {name: small}
  imageRef: {name: ubuntu}
  userData: {cloudInit: {secretRef: {name: login, key: script}}}
`

// TestNoSecretIsSeenAnywhere lives through a whole story at the most verbose log
// level and searches all that was written anywhere: output, logs, events, plans,
// files, process arguments, and the simulator's log of requests.
func TestNoSecretIsSeenAnywhere(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	secrets := t.TempDir()
	secret := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData:\n  password: |\n    #cloud-config\n    user: ann\n    password: %s\n    chpasswd: {expire: false}\n"+
		"  script: |\n    #!/bin/sh\n    echo %s > /etc/secret\n", guestPassword, userSecret)
	l.must(os.WriteFile(filepath.Join(secrets, "secret.yaml"), []byte(secret), 0o600))
	l.must(os.WriteFile(filepath.Join(secrets, "wrong"), []byte(wrongSecret), 0o600))
	l.must(os.WriteFile(filepath.Join(l.folder, "machines.yaml"), []byte(secretMachine), 0o600))
	files := []string{"-f", l.folder, "-f", filepath.Join(secrets, "secret.yaml"), "-vv"}
	with := func(words ...string) []string { return append(words, files...) }
	for _, step := range []struct {
		args []string
		code int
	}{
		{with("plan", "--set", shop), 0},
		{with("apply", "--set", shop, "--yes", "-o", "json"), 0},
		{with("plan", "--set", shop, "--deep", "-o", "json"), 0},
		{with("doctor"), -1},
		{[]string{"doctor", "-vv", "--token-id", "me@pve!laptop", "--token-file", filepath.Join(secrets, "wrong")}, 1},
		{[]string{"get", "vms", "-o", "yaml", "-vv"}, 0},
		{[]string{"describe", "vm/password", "-vv"}, 0},
		{[]string{"import", "500", "-vv"}, 0},
		{[]string{"console", "password", "-vv"}, 0},
		{[]string{"loadtest", "--count", "1", "-o", "json", "-vv"}, 0},
		{with("delete", "--set", shop, "--yes"), 0},
	} {
		l.keepsQuiet(step.args, step.code)
	}
	// The same when requests fail in ways that repeat what was sent.
	var vmid int
	for vmid = range owner("VirtualMachine", "password").Candidates(model.Range{First: 10000, Last: 99999}) {
		break
	}
	l.must(l.sim.Fault(l.ctx, pvesim.Fault{VM: vmid, Method: "PUT", Path: "/nodes/*/qemu/*/config", Status: 500, Reason: "PVEAPIToken=" + tokenID + "=" + tokenSecret + " may not", Times: 2}))
	l.must(l.sim.Fault(l.ctx, pvesim.Fault{Method: "POST", Path: "/nodes/*/storage/*/upload", Drop: "after", Times: 1}))
	l.keepsQuiet(with("apply", "--set", shop, "--yes"), -1)
	l.must(l.sim.Heal(l.ctx))
	l.keepsQuiet(with("apply", "--set", shop, "--yes"), 0)
	for _, r := range l.requests() {
		if found := revealed([]byte(r.URL)); len(found) > 0 {
			t.Errorf("the request %s %s has %v", r.Method, r.URL, found)
		}
	}
	l.noFileReveals()
}

// keepsQuiet runs a command and looks for secrets in all that it says, and in what
// others see of its process. A code of -1 may be any.
func (l *lab) keepsQuiet(args []string, code int) {
	l.t.Helper()
	p := l.start(l.command(args...))
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.Pid())) // if it is still there
	r := p.Wait()
	if code >= 0 && r.Code != code {
		l.t.Errorf("proxplane %s: %v", strings.Join(args, " "), r)
	}
	for said := range strings.Lines(string(line) + "\n" + r.Said()) {
		if found := revealed([]byte(said)); len(found) > 0 {
			l.t.Errorf("proxplane %s reveals %v: %s", args[0], found, said)
		}
	}
}

// noFileReveals looks through all files that proxplane could have written, and at
// who may read them.
func (l *lab) noFileReveals() {
	l.t.Helper()
	for _, dir := range []string{l.home, l.tmp, l.folder} {
		l.must(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			text, err := os.ReadFile(path)
			if found := revealed(text); len(found) > 0 {
				l.t.Errorf("%s (%v) holds %v", path, info.Mode(), found)
			}
			if info.Mode().Perm()&0o077 != 0 {
				l.t.Errorf("others may read %s (%v)", path, info.Mode())
			}
			return err
		}))
	}
}
