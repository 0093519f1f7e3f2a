//go:build linux

package cli

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/firstboot/hookblock"
	"github.com/proxplane/proxplane/pvesim"
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
	if code != ui.ExitFailed {
		t.Errorf("exit %d", code)
	}
	wantText(t, out, `^\+ run local:snippets/a$`)
	wantText(t, stderr, `refused: no rule in /etc/proxplane/hook.yaml lets VM 100 have an Ignition file from local:iso/a.iso`, `Root decides in`)

	root = host(t, notes, "rules: [{vms: [100], scripts: ['local:snippets/a'], seeds: ['local:iso/*']}]\n")
	_, out, _ = run(t.Context(), "", "hook", "check", "100", "--root", root)
	wantText(t, out, `^\+ put the Ignition file from local:iso/a.iso at /run/proxplane/ignition/100.ign$`)
	code, _, stderr = run(t.Context(), "", "hook", "100", "pre-start", "--root", root)
	if code != ui.ExitFailed {
		t.Errorf("exit %d", code)
	}
	wantText(t, stderr, `there is no file .*/template/iso/a.iso`)

	root = host(t, "name: x\n", "")
	_, out, _ = run(t.Context(), "", "hook", "check", "100", "--root", root)
	wantText(t, out, `VM 100 asks for nothing`)
	for _, phase := range []string{"pre-start", "post-start", "pre-stop", "post-stop"} {
		if code, _, stderr := run(t.Context(), "", "hook", "100", phase, "--root", root); code != ui.ExitOK {
			t.Errorf("%s: exit %d: %s", phase, code, stderr)
		}
	}
	_, _, stderr = run(t.Context(), "", "hook", "100", "start")
	wantText(t, stderr, `which phase of VM 100`, `pre-start, post-start`)
	_, _, stderr = run(t.Context(), "", "hook", "chek", "100")
	wantText(t, stderr, `no command "chek"`, `check`)
}

// What apply writes into a machine's config is what the hook reads there.
func TestTheHookUnderstandsWhatIsApplied(t *testing.T) {
	l := ownLab(t)
	for _, script := range []string{hookblock.Script, "a.sh", "b.sh"} {
		for _, node := range []string{"pve1", "pve2", "pve3"} {
			if err := l.sim.PutFile(node, "local:snippets/"+script, []byte("#!/bin/sh\n")); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.must("apply", "-f", l.write("machines.yaml", strings.Replace(shop, "networks: [{name: lan}]", `networks: [{name: lan}]
  userData: {delivery: fwcfg, ignition: {inline: '{"ignition":{"version":"3.4.0"}}'}}
  filesystems: [{type: virtiofs, via: hook, source: "/srv/my, data", tag: data}, {type: virtiofs, via: hook, source: /srv/docs, tag: docs, readOnly: true}]
  hookscripts: ["local:snippets/a.sh", "local:snippets/b.sh"]`, 1)))
	var conf strings.Builder
	vmid := 0
	l.sim.Do(func(st *pvesim.State) {
		for _, vm := range st.VMs {
			if vm.Name() != "web-1" {
				continue
			}
			vmid = vm.ID
			for line := range strings.SplitSeq(vm.Conf["description"], "\n") {
				conf.WriteString("#" + url.PathEscape(line) + "\n")
			}
			for key, value := range vm.Conf {
				if key != "description" {
					conf.WriteString(key + ": " + value + "\n")
				}
			}
		}
	})
	root := host(t, "", "rules: [{vms: [all], shares: [{path: /srv, below: true}], scripts: ['local:snippets/a.sh', 'local:snippets/b.sh'], seeds: ['local:iso/proxplane-{vmid}-*.iso']}]\n")
	if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("etc/pve/qemu-server/%d.conf", vmid)), []byte(conf.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := run(t.Context(), "", "hook", "check", fmt.Sprint(vmid), "--root", root)
	if code != ui.ExitOK {
		t.Fatalf("exit %d: %s\n%s", code, stderr, conf.String())
	}
	wantText(t, out, fmt.Sprintf(`^\+ put the Ignition file from local:iso/proxplane-%[1]d-\w+.iso at /run/proxplane/ignition/%[1]d.ign$`, vmid),
		fmt.Sprintf(`^\+ share /srv/my, data at /run/proxplane/virtiofs/vm%d-fs0$`, vmid), fmt.Sprintf(`^\+ share /srv/docs read-only at /run/proxplane/virtiofs/vm%d-fs1$`, vmid),
		`(?s)run local:snippets/a.sh.*run local:snippets/b.sh`)
}
