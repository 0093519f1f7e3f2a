//go:build linux

package hook

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/proxplane/proxplane/firstboot/hookblock"
)

func TestTheTerraformModulesVMsStartUnchanged(t *testing.T) {
	l := newLab(t)
	data, logs := l.dir("srv/web data", "index.html"), l.dir("srv/logs", "log")
	l.iso("tf-web-1.iso", map[string]string{"meta-data": ignition, "user-data": "", "network-config": "version: 2\n"})
	l.policy("virtiofsd: ROOT/virtiofsd-new\nrules:\n- pools: [web]\n  shares: [{path: ROOT/srv, below: true}]\n  seeds: ['local:iso/tf-*.iso']")
	l.vm(101, "web\n\n## Configuration\n\n```\nhook-script: local:snippets/cloudinit-to-ignition\ncloud-init: local:iso/tf-web-1.iso\nhook-script: local:snippets/virtiofsd.pl\n"+
		"virtiofs: --path \""+data+"\" --socket /run/virtiofs/vm101-fs0\nvirtiofs: --path \""+logs+"\" --socket /run/virtiofs/vm101-fs1\n```",
		"args: -fw_cfg name=opt/org.flatcar-linux/config,file=/etc/pve/local/ignition/101.ign -object memory-backend-file,id=virtiofs-mem,size=2048M,mem-path=/dev/shm,share=on "+
			"-machine memory-backend=virtiofs-mem -chardev socket,id=virtfs0,path=/run/virtiofs/vm101-fs0 -device  vhost-user-fs-pci,queue-size=1024,chardev=virtfs0,tag=data "+
			"-chardev socket,id=virtfs1,path=/run/virtiofs/vm101-fs1", "hookscript: local:snippets/multi-hookscript.pl")
	l.must(101, PreStart)
	file := l.path("etc/pve/local/ignition/101.ign")
	if got, err := os.ReadFile(file); err != nil || string(got) != ignition {
		t.Errorf("%s, %v", got, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if r := l.ask("run/virtiofs/vm101-fs0"); !slices.Equal(r.Files, []string{"index.html"}) || r.Written != "" {
		t.Errorf("the first share: %+v", r)
	}
	if r := l.ask("run/virtiofs/vm101-fs1"); !slices.Equal(r.Files, []string{"log"}) {
		t.Errorf("the second share: %+v", r)
	}
	for _, phase := range []string{PostStart, PreStop} {
		l.must(101, phase)
	}
	l.must(101, PostStop)
	l.clean()
}

func TestIgnitionFilesComeFromTheSeed(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"user-data":        {"user-data": ignition, "meta-data": "instance-id: x\n"},
		"vendor-data":      {"user-data": "#cloud-config\n", "vendor-data": ignition},
		"meta-data":        {"user-data": "#cloud-config\n", "meta-data": ignition},
		"first of several": {"user-data": ignition, "meta-data": `{"ignition":{"version":"2.0.0"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.allow("  seeds: [attached]")
			l.iso("seed.iso", files)
			l.vm(100, block("cloud-init: local:iso/seed.iso"), "args: "+ignitionArgs(ignFile), "ide2: local:iso/seed.iso,media=cdrom,size=372K")
			l.must(100, PreStart)
			if got, err := os.ReadFile(l.path(ignFile)); err != nil || string(got) != ignition {
				t.Errorf("%s, %v", got, err)
			}
			if info, err := os.Stat(l.path("run/proxplane")); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			l.must(100, PostStop)
			l.clean()
		})
	}
}

func TestWhatCannotBeDoneIsSaidAndUndone(t *testing.T) {
	l := newLab(t)
	good := l.dir("srv/good", "a")
	l.allow("  seeds: ['local:iso/*.iso', 'far:iso/*', 'lvm:iso/*', 'off:iso/*', 'none:iso/*']\n  scripts: ['local:snippets/a', 'local:snippets/b', 'far:snippets/c']\n  shares: [{path: ROOT/srv, below: true}]")
	l.iso("cloud.iso", map[string]string{"user-data": "#cloud-config\n", "meta-data": "instance-id: x\n"})
	l.write("var/lib/vz/template/iso/text.iso", 0o644, "no image")
	l.iso("huge.iso", map[string]string{"user-data": strings.Repeat(" ", maxFile+1)})
	if err := os.Symlink("/etc/passwd", l.path("var/lib/vz/template/iso/link.iso")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(l.path("var/lib/vz/template/iso/folder.iso"), 0o755); err != nil {
		t.Fatal(err)
	}
	l.write("var/lib/vz/snippets/b", 0o644, "#!/bin/sh\n")
	l.dir("srv/fail", "fail")
	l.write("srv/file", 0o644, "")
	args := "args: " + ignitionArgs(ignFile) + " " + socketArgs(fs0, fs1)
	share := func(dir, socket string) string {
		return "virtiofs: --path " + filepath.Join(l.root, dir) + " --socket " + socket
	}
	for _, c := range []struct {
		reason string
		lines  []string
		args   string
		want   string
	}{
		{"no such ISO", []string{"cloud-init: local:iso/none.iso"}, args, "there is no file ROOT/var/lib/vz/template/iso/none.iso"},
		{"a cloud-config is no Ignition file", []string{"cloud-init: local:iso/cloud.iso"}, args, "neither user-data nor"},
		{"no ISO at all", []string{"cloud-init: local:iso/text.iso"}, args, "no ISO 9660 image"},
		{"too large", []string{"cloud-init: local:iso/huge.iso"}, args, "more than"},
		{"a link to another file", []string{"cloud-init: local:iso/link.iso"}, args, "too many levels of symbolic links"},
		{"a folder", []string{"cloud-init: local:iso/folder.iso"}, args, "no plain file"},
		{"a storage without files", []string{"cloud-init: lvm:iso/a.iso"}, args, "of type lvmthin"},
		{"a disabled storage", []string{"cloud-init: off:iso/a.iso"}, args, "disabled"},
		{"no such storage", []string{"cloud-init: none:iso/a.iso"}, args, "there is no storage none"},
		{"args don't read it", []string{"cloud-init: local:iso/cloud.iso"}, "args: " + socketArgs(fs0), "they need -fw_cfg name=opt/org.flatcar-linux/config,file=/run/proxplane/ignition/100.ign"},
		{"args read another VM's", []string{"cloud-init: local:iso/cloud.iso"}, "args: " + ignitionArgs(hookblock.IgnitionFile(101)), "they need -fw_cfg"},
		{"there are no args", []string{"cloud-init: local:iso/cloud.iso"}, "cores: 2", "they need -fw_cfg"},
		{"args that can't be split", []string{"cloud-init: local:iso/cloud.iso"}, "args: -fw_cfg 'a", "isn't closed"},
		{"args don't use the share", []string{share("srv/good", fs0)}, "args: " + socketArgs(fs1), "don't have QEMU use the share"},
		{"no such directory", []string{share("srv/good", fs0), share("srv/none", fs1)}, args, "there is no such directory"},
		{"a file", []string{share("srv/file", fs0)}, args, "that is no directory"},
		{"one socket for two", []string{share("srv/good", fs0), share("srv/good", fs0)}, args, "two shares have the socket"},
		{"the daemon fails", []string{share("srv/good", fs0), share("srv/fail", fs1)}, args, "ended at once (exit status 3): something is wrong here"},
		{"no such script", []string{share("srv/good", fs0), "hook-script: local:snippets/a"}, args, "there is no file ROOT/var/lib/vz/snippets/a"},
		{"a script that isn't executable", []string{share("srv/good", fs0), "hook-script: local:snippets/b"}, args, "isn't executable"},
		{"a script in a folder of its own", []string{"hook-script: far:snippets/c"}, args, "ROOT/mnt/pve/far/hooks/c"},
		{"lines that nobody understands", []string{"virtiofs: --path " + good}, args, "no --socket"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			l.T = t
			l.vm(100, block(c.lines...), c.args)
			l.refused(100, c.want)
		})
	}
	l.T = t
	if err := l.run(200, PreStart); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a VM that isn't there: %v", err)
	}
}

func TestVMsThatAskForNothingNeedNoPolicy(t *testing.T) {
	l := newLab(t)
	if err := os.RemoveAll(l.path("etc/proxplane")); err != nil {
		t.Fatal(err)
	}
	l.vm(100, "just notes", "cores: 2")
	for _, phase := range Phases {
		l.must(100, phase)
	}
	l.clean()
	l.vm(100, block("hook-script: local:snippets/a"))
	l.refused(100, "refused", "without /etc/proxplane/hook.yaml nothing is allowed")
}

func TestAVMThatMovesIsReadWhereItComesFrom(t *testing.T) {
	l := newLab(t)
	l.allow("  scripts: ['local:snippets/a']")
	l.script("a", "")
	l.vm(100, block("hook-script: local:snippets/a"))
	if err := os.MkdirAll(l.path("etc/pve/nodes/pve2"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(l.path("etc/pve/qemu-server"), l.path("etc/pve/nodes/pve2/qemu-server")); err != nil {
		t.Fatal(err)
	}
	l.env["PVE_MIGRATED_FROM"] = "pve2"
	l.must(100, PreStart)
	if got := l.calls(); got != "a 100 pre-start" {
		t.Errorf("called %q", got)
	}
	l.env["PVE_MIGRATED_FROM"] = "../../x"
	l.refused(100, "is no node")
}

func TestStartingTwiceKeepsWhatIsThere(t *testing.T) {
	l := newLab(t)
	a, b := l.dir("srv/a", "a"), l.dir("srv/b", "b")
	l.allow("  shares: [{path: ROOT/srv, below: true}]\n  seeds: ['local:iso/seed.iso']")
	l.iso("seed.iso", map[string]string{"user-data": ignition})
	args := "args: " + ignitionArgs(ignFile) + " " + socketArgs(fs0, fs1)
	l.vm(100, block("cloud-init: local:iso/seed.iso", "virtiofs: --path "+a+" --socket "+fs0, "virtiofs: --path "+b+" --socket "+fs1), args)
	l.must(100, PreStart)
	first, second := l.pid(100, fs0), l.pid(100, fs1)
	l.must(100, PreStart)
	if l.pid(100, fs0) != first || l.pid(100, fs1) != second {
		t.Error("a daemon was started anew")
	}

	// Another directory under the same name isn't the same.
	if err := os.Rename(b, b+"-old"); err != nil {
		t.Fatal(err)
	}
	l.dir("srv/b", "new")
	l.must(100, PreStart)
	if l.pid(100, fs0) != first || l.pid(100, fs1) == second {
		t.Error("the wrong daemon was started anew")
	}
	if r := l.ask(fs1); !slices.Equal(r.Files, []string{"new"}) {
		t.Errorf("shares %v", r.Files)
	}

	// What isn't asked for any more goes.
	l.vm(100, block("virtiofs: --path "+b+" --socket "+fs0), args)
	l.must(100, PreStart)
	if r := l.ask(fs0); !slices.Equal(r.Files, []string{"from-guest", "new"}) {
		t.Errorf("shares %v", r.Files)
	}
	if _, err := os.Stat(l.path(ignFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the Ignition file: %v", err)
	}
	if n := len(l.daemons()); n != 1 {
		t.Errorf("%d daemons", n)
	}
	l.must(100, PostStop)
	l.must(100, PostStop)
	l.clean()
}

func TestARunningVMLosesNothing(t *testing.T) {
	l := newLab(t)
	a := l.dir("srv/a", "a")
	l.allow("  shares: [{path: ROOT/srv, below: true}]")
	l.vm(100, block("virtiofs: --path "+a+" --socket "+fs0), "args: "+socketArgs(fs0))
	l.must(100, PreStart)
	pid := l.pid(100, fs0)
	l.write("run/qemu-server/100.pid", 0o644, fmt.Sprintln(os.Getpid()))
	l.vm(100, block("virtiofs: --path "+l.dir("srv/b")+" --socket "+fs0), "args: "+socketArgs(fs0))
	l.must(100, PreStart)
	l.vm(100, block("hook-script: local:snippets/forbidden"))
	if err := l.run(100, PreStart); err == nil {
		t.Error("allowed")
	}
	if l.pid(100, fs0) != pid {
		t.Error("the daemon of a VM that runs was started anew")
	}
}

func TestStoppingNeedsNeitherConfigNorPolicy(t *testing.T) {
	l := newLab(t)
	l.allow("  shares: [{path: ROOT/srv, below: true}]\n  seeds: ['local:iso/seed.iso']")
	l.iso("seed.iso", map[string]string{"user-data": ignition})
	start := func() {
		l.vm(100, block("cloud-init: local:iso/seed.iso", "virtiofs: --path "+l.dir("srv/a")+" --socket "+fs0), "args: "+ignitionArgs(ignFile)+" "+socketArgs(fs0))
		l.must(100, PreStart)
	}
	l.troubled(100, PostStop, "no such file") // before there ever was such a VM
	start()
	l.vm(100, "other notes")
	l.must(100, PostStop)
	l.clean()
	start()
	if err := os.Remove(l.path("etc/pve/qemu-server/100.conf")); err != nil {
		t.Fatal(err)
	}
	l.troubled(100, PostStop, "no such file")
	l.clean()
	start()
	if err := os.Remove(l.path("etc/proxplane/hook.yaml")); err != nil {
		t.Fatal(err)
	}
	l.troubled(100, PostStop, "refused")
	l.clean()
}

// troubled runs a phase that fails, and does its work all the same.
func (l *lab) troubled(vmid int, phase, want string) {
	l.Helper()
	if err := l.run(vmid, phase); err == nil || !strings.Contains(err.Error(), want) {
		l.Errorf("%s: %v, want %q", phase, err, want)
	}
}

func TestTwoHooksAtOnceStartOneDaemon(t *testing.T) {
	l := newLab(t)
	l.allow("  shares: [{path: ROOT/srv, below: true}]")
	l.vm(100, block("virtiofs: --path "+l.dir("srv/a")+" --socket "+fs0), "args: "+socketArgs(fs0))
	hosts := make([]*Host, 4)
	errs := make([]error, len(hosts))
	var all sync.WaitGroup
	for i := range hosts {
		hosts[i] = l.host()
		hosts[i].Out, hosts[i].Record = &strings.Builder{}, func(bool, string) {}
		all.Go(func() { errs[i] = hosts[i].Run(t.Context(), 100, PreStart) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if n := len(l.daemons()); n != 1 {
		t.Errorf("%d daemons", n)
	}
	l.must(100, PostStop)
	l.clean()
}
