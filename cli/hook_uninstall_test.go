//go:build linux

package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/host/hook"
	"github.com/proxplane/proxplane/host/ssh/sshtest"
	"github.com/proxplane/proxplane/privileges"
	"github.com/proxplane/proxplane/pvesim"
)

func TestTheHookIsTakenOffHosts(t *testing.T) {
	l := ownLab(t)
	l.env["HOME"] = t.TempDir()
	key, _ := sshtest.Key(t)
	one, two := node(t, key), node(t, key)
	how := []string{"--node-address", "pve1=" + one.Address + ",pve2=" + two.Address, "-i", l.write("key", string(key)), "--trust-new"}
	hooks := func(command, nodes string, more ...string) []string {
		return append(append([]string{"hook", command, "--node", nodes}, how...), more...)
	}
	l.must(hooks("install", "pve1,pve2", "--binary", program(t))...)
	policy := filepath.Join(two.Folder, hook.PolicyFile)
	if err := os.WriteFile(policy, []byte("rules: [{vms: [100]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	// Not while somebody has it.
	l.must("apply", "-f", l.write("shop.yaml", shop))
	script := func(value string) (on string) {
		l.sim.Do(func(st *pvesim.State) {
			for _, vm := range st.VMs {
				if vm.Name() == "web-1" {
					vm.Conf["hookscript"], vm.Node, on = value, "pve1", vm.Node
				}
			}
		})
		return on
	}
	script("local:snippets/proxplane-hook")
	for _, nodes := range []string{"pve1", "pve1,pve2"} {
		code, _, stderr := l.run(hooks("uninstall", nodes)...)
		if code != ui.ExitFailed {
			t.Errorf("exit %d", code)
		}
		wantText(t, stderr, `local:snippets/proxplane-hook is in use, and machines that have it can't start without it: web-1 \(\d+\) on pve1$`, `qm set VMID --delete hookscript`)
	}
	there := func(s *sshtest.Server, name string, want bool) {
		t.Helper()
		if _, err := os.Stat(filepath.Join(s.Folder, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", name, err, want)
		}
	}
	const file = "var/lib/vz/snippets/proxplane-hook"
	there(one, file, true)

	// Machines elsewhere don't mind.
	wantText(t, l.must(hooks("uninstall", "pve2")...), `^✓ pve2  /var/lib/vz/snippets/proxplane-hook is removed$`, `^✓ pve2  /etc/proxplane/hook\.yaml is kept: it has rules that somebody wrote$`)
	there(two, file, false)
	there(two, hook.PolicyFile, true)
	there(one, file, true)

	script("local:snippets/other")
	wantText(t, l.must("hook", "uninstall", "--node", "pve1", "--print"), `^ssh root@192\.168\.77\.2 'rm -f /var/lib/vz/snippets/proxplane-hook'$`)
	there(one, file, true)
	wantText(t, l.must(hooks("uninstall", "pve1")...), `^✓ pve1  /etc/proxplane/hook\.yaml is removed$`)
	there(one, file, false)
	there(one, "etc/proxplane", false)
	wantText(t, l.must(hooks("uninstall", "pve1")...), `^✓ pve1  /var/lib/vz/snippets/proxplane-hook isn't there$`)
}

func TestWhoIsntShownAllMachinesTakesNoHookAway(t *testing.T) {
	l := newLab(t)
	l.login([]privileges.Grant{
		{Path: "/storage/local", Privs: []privileges.Priv{{Name: "Datastore.Allocate"}}},
		{Path: "/vms", Privs: []privileges.Priv{{Name: "VM.Audit"}}}, // not below it
		{Path: "/", Privs: []privileges.Priv{{Name: "Sys.Audit"}}},
	})
	code, _, stderr := l.run("hook", "uninstall", "--node", "pve1", "--print")
	if code != ui.ExitFailed {
		t.Errorf("exit %d", code)
	}
	wantText(t, stderr, `can't see all machines, so it isn't known whether one has the hook`, `They need VM\.Audit on /vms`)
}
