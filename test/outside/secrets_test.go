package outside_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/host/ssh/sshtest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/outside"
	"github.com/proxplane/proxplane/test/kit/secret"
)

// The secrets of the stories. None of them may be seen anywhere but where they were
// given.
const (
	guestPassword = "correct+horse/battery=staple"
	userSecret    = "zx-user-data-secret-77"
	wrongSecret   = "deadbeef-dead-4ead-8ead-deadbeefdead"
	wrongPassword = "no such <password> & no such \"login\""
)

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
  userData: {delivery: proxmox, cloudInit: {secretRef: {name: guests, key: password}}}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: script}
spec:
  classRef: {name: small}
  imageRef: {name: ubuntu}
  userData: {cloudInit: {secretRef: {name: guests, key: script}}}
`

// guestSecret is the Secret that the machines name.
var guestSecret = fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: guests}\nstringData:\n  password: |\n    #cloud-config\n    user: ann\n    password: %s\n    chpasswd: {expire: false}\n"+
	"  script: |\n    #!/bin/sh\n    echo %s > /etc/secret\n", guestPassword, userSecret)

// vault is a lab in which secrets are known, and searched for in all that was
// written.
type vault struct {
	*lab
	secret.Finder
	spy   *spy
	given string // the folder with the secrets that were given, in files
}

func newVault(l *lab) *vault {
	l.t.Helper()
	v := &vault{lab: l, given: l.t.TempDir()}
	for name, text := range map[string]string{
		"guest's password": guestPassword, "user-data": userSecret, "wrong token": wrongSecret, "wrong password": wrongPassword, "token": tokenSecret, "password": userPassword,
	} {
		v.Add(name, text)
	}
	v.spy = startSpy(l.t, l.sim.URL, &v.Finder)
	return v
}

// give writes a file with a secret, and returns its name.
func (v *vault) give(name, text string) string {
	v.t.Helper()
	file := filepath.Join(v.given, name)
	v.must(os.WriteFile(file, []byte(text), 0o600))
	return file
}

// TestNoSecretIsSeenAnywhere lives through a whole story at the most verbose log
// level and searches all that was written anywhere: output, logs, events, plans,
// files, process arguments, and the simulator's log of requests.
func TestNoSecretIsSeenAnywhere(t *testing.T) {
	t.Parallel()
	v := newVault(newLab(t))
	v.must(os.WriteFile(filepath.Join(v.folder, "machines.yaml"), []byte(secretMachine), 0o600))
	files := []string{"-f", v.folder, "-f", v.give("secret.yaml", guestSecret), "-vv"}
	with := func(words ...string) []string { return append(words, files...) }
	for _, step := range []struct {
		args []string
		code int
	}{
		{with("plan", "--set", shop), 0},
		{with("apply", "--set", shop, "--yes", "-o", "json"), 0},
		{with("plan", "--set", shop, "-o", "json"), 0},
		{with("doctor"), -1},
		{[]string{"doctor", "-vv", "--token-id", tokenID, "--token-file", v.give("wrong", wrongSecret)}, 1},
		{[]string{"get", "vms", "-o", "yaml", "-vv"}, 0},
		{[]string{"describe", "vm/password", "-vv"}, 0},
		{[]string{"import", "password", "script", "-vv"}, -1},
		{[]string{"console", "password", "-vv"}, 0},
		{[]string{"loadtest", "--count", "1", "-o", "json", "-vv"}, 0},
		{with("delete", "--set", shop, "--yes"), 0},
	} {
		v.keepsQuiet(v.command(step.args...), step.code)
	}
	// The same when requests fail in ways that repeat what was sent.
	var vmid int
	for vmid = range owner("VirtualMachine", "password").Candidates(model.Range{First: 10000, Last: 99999}) {
		break
	}
	v.must(v.sim.Fault(v.ctx, pvesim.Fault{VM: vmid, Method: "PUT", Path: "/nodes/*/qemu/*/config", Status: 500, Reason: "PVEAPIToken=" + tokenID + "=" + tokenSecret + " may not", Times: 2}))
	v.must(v.sim.Fault(v.ctx, pvesim.Fault{Method: "POST", Path: "/nodes/*/storage/*/upload", Drop: "after", Times: 1}))
	v.keepsQuiet(v.command(with("apply", "--set", shop, "--yes")...), -1)
	v.must(v.sim.Heal(v.ctx))
	v.keepsQuiet(v.command(with("apply", "--set", shop, "--yes")...), 0)
	v.nothingIsSeen()
}

// The same with a password: the tickets that Proxmox gives for it are secrets too,
// and so are those of consoles.
func TestNoTicketIsSeenAnywhere(t *testing.T) {
	t.Parallel()
	v := newVault(newLab(t))
	v.must(os.WriteFile(filepath.Join(v.folder, "machines.yaml"), []byte(secretMachine), 0o600))
	files := []string{"-f", v.folder, "-f", v.give("secret.yaml", guestSecret), "-vv"}
	with := func(words ...string) []string { return append(words, files...) }
	v.keepsQuiet(v.asUser(with("apply", "--set", shop, "--yes")...), 0)
	v.keepsQuiet(v.asUser(with("plan", "--set", shop)...), 0)
	v.keepsQuiet(v.asUser("describe", "vm/password", "-vv", "--password-file", v.give("password", userPassword), "--username", "me@pve"), 0)
	serial := v.asUser("console", "password", "--serial", "-vv")
	serial.Stdin = strings.NewReader("\r\x1d")
	if r := v.keepsQuiet(serial, 0); !strings.Contains(r.Stderr, "Attached to serial0") {
		t.Errorf("the console wasn't reached: %v", r)
	}
	// A console that isn't reached: the library's errors repeat URLs.
	v.must(v.sim.Fault(v.ctx, pvesim.Fault{Method: "GET", Path: "/nodes/*/qemu/*/vncwebsocket", Drop: "before"}))
	serial.Stdin = strings.NewReader("\r\x1d")
	v.keepsQuiet(serial, 1)
	v.must(v.sim.Heal(v.ctx))
	wrong := v.asUser("get", "vms", "-vv")
	wrong.Env = append(without(wrong.Env, "PVE_PASSWORD"), "PVE_PASSWORD="+wrongPassword)
	v.keepsQuiet(wrong, 1)
	v.keepsQuiet(v.asUser(with("delete", "--set", shop, "--yes")...), 0)
	if names := v.Names(); !slices.Contains(names, "ticket") || !slices.Contains(names, "CSRF token") || !slices.Contains(names, "ticket of a console") {
		t.Errorf("nothing was learnt of the tickets: %q", names)
	}
	v.nothingIsSeen()
}

// The same with nodes that are logged in to by SSH: the private key and its
// passphrase, and what is put there.
func TestNoKeyIsSeenAnywhere(t *testing.T) {
	t.Parallel()
	v := newVault(newLab(t))
	node := sshtest.Start(t)
	key := string(node.Authorize())
	v.AddLines("SSH key", key)
	indent := func(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") }
	provider := fmt.Sprintf("apiVersion: infra.virtrigaud.io/v1beta1\nkind: Provider\nmetadata: {name: lab}\nspec:\n  endpoint: %q\n  fingerprint: %q\n  ssh:\n    keySecretRef: {name: key}\n    addresses: {pve1: %q, pve2: %[3]q, pve3: %[3]q}\n    knownHosts: |\n      %[4]s\n"+
		"---\napiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData:\n  ssh-privatekey: |\n    %[5]s\n---\n", v.sim.URL, v.sim.Fingerprint, node.Address, strings.TrimSpace(string(node.KnownHosts())), indent(key))
	machine := strings.ReplaceAll(secretMachine, "userData: {cloudInit: {secretRef: {name: guests, key: script}}}", "userData: {delivery: snippets, cloudInit: {secretRef: {name: guests, key: script}}}")
	v.must(os.WriteFile(filepath.Join(v.folder, "machines.yaml"), []byte(machine), 0o600))
	apply := v.command("apply", "-f", v.folder, "-f", v.give("secret.yaml", provider+guestSecret), "-vv", "--set", shop, "--yes", "--timeout", "20s")
	apply.Args = apply.Args[:len(apply.Args)-2] // the Provider says the fingerprint
	v.keepsQuiet(apply, -1)                     // the simulator doesn't see the files of that node
	if len(node.Logins()) == 0 {
		t.Error("the key wasn't used")
	}
	_, other := sshtest.Key(t)
	node.SetHostKeys(other) // somebody else answers
	v.keepsQuiet(apply, -1)
	v.nothingIsSeen()
}

// asUser is proxplane with a password, through the spy.
func (v *vault) asUser(args ...string) outside.Command {
	c := v.command(args...)
	c.Args[len(c.Args)-1] = v.spy.Fingerprint
	c.Env = append(without(c.Env, "PVE_ENDPOINT", "PVE_TOKEN_ID", "PVE_TOKEN_SECRET"), "PVE_ENDPOINT="+v.spy.URL, "PVE_USERNAME=me@pve", "PVE_PASSWORD="+userPassword)
	return c
}

// keepsQuiet runs a command and looks for secrets in all that it says, and in what
// others see of its process. A code of -1 may be any.
func (v *vault) keepsQuiet(c outside.Command, code int) outside.Result {
	v.t.Helper()
	p := v.start(c)
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.Pid())) // if it is still there
	v.silent("the arguments of proxplane "+c.Args[0], string(line))
	r := p.Wait()
	if code >= 0 && r.Code != code {
		v.t.Errorf("proxplane %s: %v", strings.Join(c.Args, " "), r)
	}
	if !strings.Contains(r.Stderr, "level=debug") {
		v.t.Errorf("proxplane %s doesn't tell all: %v", strings.Join(c.Args, " "), r)
	}
	v.silent("proxplane "+c.Args[0], r.Said())
	v.learnHashes()
	return r
}

// learnHashes makes known what Proxmox keeps of guests' passwords.
func (v *vault) learnHashes() {
	v.t.Helper()
	for id, vm := range v.state().VMs {
		if hash := vm.Conf["cipassword"]; hash != "" && !v.before.Has(id) {
			v.Add("hash of the guest's password", hash)
		}
	}
}

// silent looks for secrets line by line.
func (v *vault) silent(where, text string) {
	v.t.Helper()
	for line := range strings.Lines(text) {
		if found := v.In(line); len(found) > 0 {
			v.t.Errorf("%s: %q: %.2000s", where, found, line)
		}
	}
}

// nothingIsSeen looks where anything may have been written to: what Proxmox logs and
// shows, and all files that proxplane could have made.
func (v *vault) nothingIsSeen() {
	v.t.Helper()
	for _, r := range v.requests() {
		// Proxmox wants the ticket of a console there; it is good for that console only.
		if path, _, _ := strings.Cut(r.URL, "?"); !strings.HasSuffix(path, "/vncwebsocket") {
			v.silent("the log of Proxmox", fmt.Sprintf("%s %s %v", r.Method, r.URL, r.Params))
		}
	}
	s := v.state()
	for id, vm := range s.VMs {
		for key, value := range vm.Conf {
			if !v.before.Has(id) && key != "cipassword" {
				v.silent(fmt.Sprintf("%s of VM %d", key, id), value)
			}
		}
	}
	for _, list := range s.Tasks {
		for _, task := range list {
			v.silent("the task "+task.UPID, strings.Join(append(task.Log, task.Exit), "\n"))
		}
	}
	v.noFileReveals()
}

// noFileReveals looks through all files that proxplane could have written, and at
// who may read them.
func (v *vault) noFileReveals() {
	v.t.Helper()
	for _, dir := range []string{v.home, v.tmp, v.folder} {
		v.must(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			text, err := os.ReadFile(path)
			v.silent(fmt.Sprintf("%s (%v)", path, info.Mode()), string(text))
			if info.Mode().Perm()&0o077 != 0 {
				v.t.Errorf("others may read %s (%v)", path, info.Mode())
			}
			return err
		}))
	}
}
