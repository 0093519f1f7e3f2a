//go:build linux

package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// host makes a folder that is a Proxmox host with one machine.
func host(t *testing.T, notes, policy string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"etc/pve/qemu-server/100.conf": notes, "etc/proxplane/hook.yaml": policy, "etc/pve/storage.cfg": "dir: local\n\tpath /var/lib/vz\n"} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestHooksCanBeCheckedAndCalledByHand(t *testing.T) {
	notes := "#```\n#hook-script: local:snippets/a\n#cloud-init: local:iso/a.iso\n#```\nargs: -fw_cfg name=opt/x,file=/run/proxplane/ignition/100.ign\n"
	root := host(t, notes, "rules: [{vms: [100], scripts: ['local:snippets/a']}]\n")
	code, out, stderr := run(t.Context(), "", "hook", "check", "100", "--root", root)
	if code != exitFailed {
		t.Errorf("exit %d", code)
	}
	wantText(t, out, `^\+ run local:snippets/a$`)
	wantText(t, stderr, `refused: no rule in /etc/proxplane/hook.yaml lets VM 100 have an Ignition file from local:iso/a.iso`, `root says in`)

	root = host(t, notes, "rules: [{vms: [100], scripts: ['local:snippets/a'], seeds: ['local:iso/*']}]\n")
	_, out, _ = run(t.Context(), "", "hook", "check", "100", "--root", root)
	wantText(t, out, `^\+ put the Ignition file from local:iso/a.iso at /run/proxplane/ignition/100.ign$`)
	code, _, stderr = run(t.Context(), "", "hook", "100", "pre-start", "--root", root)
	if code != exitFailed {
		t.Errorf("exit %d", code)
	}
	wantText(t, stderr, `there is no file .*/template/iso/a.iso`)

	root = host(t, "name: x\n", "")
	_, out, _ = run(t.Context(), "", "hook", "check", "100", "--root", root)
	wantText(t, out, `VM 100 asks for nothing`)
	for _, phase := range []string{"pre-start", "post-start", "pre-stop", "post-stop"} {
		if code, _, stderr := run(t.Context(), "", "hook", "100", phase, "--root", root); code != exitOK {
			t.Errorf("%s: exit %d: %s", phase, code, stderr)
		}
	}
	_, _, stderr = run(t.Context(), "", "hook", "100", "start")
	wantText(t, stderr, `which phase of VM 100`, `pre-start, post-start`)
	_, _, stderr = run(t.Context(), "", "hook", "chek", "100")
	wantText(t, stderr, `no command "chek"`, `check`)
}
