//go:build unix

package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/host/ssh/sshtest"
)

func TestDoctorLogsInWhereFirstBootDataAreCopiedTo(t *testing.T) {
	f := newFarm(t)
	wantText(t, f.must("doctor", "-f", f.manifest(f.known(), "date")), `^  ✓ snippets are copied by SSH as root, and pve1, pve2, pve3 let it in$`)

	_, other := sshtest.Key(t)
	f.nodes["pve2"].SetHostKeys(other)
	code, out, _ := f.run("doctor", "-f", f.manifest("knownHosts: |\n      "+strings.TrimSpace(string(f.nodes["pve1"].KnownHosts())), "date"))
	if code != ui.ExitFailed {
		t.Errorf("unknown keys: exit %d", code)
	}
	wantText(t, out, `^  ✓ snippets are copied by SSH as root, and pve1 lets it in$`,
		`^  ✗ snippets are copied to pve2 by SSH: .*the host key isn't known: it is `+regexp.QuoteMeta(f.nodes["pve2"].Fingerprint()), `ssh-keyscan prints it`)

	// Looking trusts nobody.
	out = f.must("doctor", "-f", f.manifest("trustOnFirstUse: true", "date"))
	wantText(t, out, `^  · snippets are copied by SSH as root; the key of pve1, pve2, pve3 isn't known yet, and is trusted when it is seen first$`)
	if _, err := os.Stat(filepath.Join(f.env["HOME"], ".config", "proxplane", "known_hosts")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the doctor has remembered a key: %v", err)
	}

	f.key, _ = sshtest.Key(t)
	_, out, _ = f.run("doctor", "-f", f.manifest(f.known(), "date"))
	wantText(t, out, `^  ✗ snippets are copied to pve1 by SSH: .*the login was refused`, `see its authorized_keys`)
}

func TestDoctorLooksForHookscripts(t *testing.T) {
	l := ownLab(t)
	file := l.write("hooked.yaml", strings.Replace(shop, "networks: [{name: lan}]", `networks: [{name: lan}]
  hookscripts: ["local:snippets/a.sh", "nfs:snippets/b.sh"]
  filesystems: [{type: virtiofs, source: /srv/media, tag: media}]`, 1))
	put := func(node, volume string) {
		t.Helper()
		if err := l.sim.PutFile(node, volume, []byte("#!/bin/sh\n")); err != nil {
			t.Fatal(err)
		}
	}
	put("pve1", "local:snippets/a.sh")
	put("pve1", "nfs:snippets/b.sh")
	code, out, _ := l.run("doctor", "-f", file)
	if code != ui.ExitFailed {
		t.Errorf("without the hook: exit %d", code)
	}
	wantText(t, out,
		`^  ! snippet local:snippets/a\.sh, needed by vm/web-1, isn't on pve2, pve3, so that leaves pve1$`,
		`^  ✗ snippet local:snippets/proxplane-hook, needed by vm/web-1, isn't on pve1, pve2, pve3$`,
		`^    Put it there: proxplane hook install --node pve1 --node pve2 --node pve3$`,
		`^  ✓ snippet nfs:snippets/b\.sh is on pve1, pve2, pve3$`,
		`^  ✓ mapping media of directories will be made, of /srv/media on the nodes$`)
	for _, node := range []string{"pve1", "pve2", "pve3"} {
		put(node, "local:snippets/proxplane-hook")
	}
	wantText(t, l.must("doctor", "-f", file), `^  ✓ snippet local:snippets/proxplane-hook is on pve1, pve2, pve3$`)
}

func TestDoctorTellsWhatKeepsMachinesWhereTheyAre(t *testing.T) {
	l := newLab(t)
	given := strings.Replace(shop, "networks: [{name: lan}]", `networks: [{name: lan}]
  userData: {cloudInit: {inline: "#!/bin/sh\n"}}`, 1)
	const stuck = `^  · first-boot data is on local, of which each node has its own: Proxmox can't migrate vm/web-1$`
	wantText(t, l.must("doctor", "-f", l.write("shop.yaml", given)), stuck)
	shared := given + "---\napiVersion: infra.virtrigaud.io/v1beta1\nkind: Provider\nmetadata: {name: lab}\nspec: {defaults: {isoStorage: nfs}}\n"
	if out := l.must("doctor", "-f", l.write("shared.yaml", shared)); regexp.MustCompile("(?m)"+stuck).MatchString(out) || !strings.Contains(out, "storage nfs: ") {
		t.Error(out)
	}
}
