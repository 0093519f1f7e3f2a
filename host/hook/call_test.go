//go:build linux

package hook

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/proxplane/proxplane/test/kit/need"
)

func contextWithCause(t *testing.T) (context.Context, context.CancelCauseFunc) {
	t.Helper()
	return context.WithCancelCause(t.Context())
}

func TestProxmoxCallsAreRecognised(t *testing.T) {
	for args, want := range map[string]bool{
		"100 pre-start": true, "999999999 post-stop": true, "101 post-start": true, "101 pre-stop": true,
		"": false, "100": false, "100 start": false, "99 pre-start": false, "0100 pre-start": false, "-1 pre-start": false, "1e3 pre-start": false,
		"100 pre-start x": false, "hook 100": false, "hook 100 pre-start": false, "get vms": false, "power on": false, "1000000000 pre-start": false,
	} {
		if got := Called(strings.Fields(args)); got != want {
			t.Errorf("%q: %v", args, got)
		}
	}
}

func TestTheProgramIsAHookUnderAnyName(t *testing.T) {
	l := newLab(t)
	l.allow("  scripts: ['local:snippets/a']")
	l.script("a", "exit 5")
	l.vm(100, "nothing")
	l.copyProgram("var/lib/vz/anything.pl")
	run := func() (int, string) {
		cmd := l.hookProcess(100, PreStart)
		cmd.Path = l.path("var/lib/vz/anything.pl")
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	if code, out := run(); code != 0 || out != "" {
		t.Errorf("%d, %s", code, out)
	}
	l.vm(100, block("hook-script: local:snippets/a"))
	if code, out := run(); code != 1 || !strings.Contains(out, "proxplane: VM 100: hookscript local:snippets/a: 100 pre-start: exit status 5") {
		t.Errorf("%d, %s", code, out)
	}
}

func TestWithoutRootItWorksForItsOwnUser(t *testing.T) {
	need.Root(t)
	l := newLab(t)
	const nobody = 65534
	l.allow("  shares: [{path: ROOT/srv, below: true}]\n  scripts: ['local:snippets/a']\n  seeds: [attached]")
	l.script("a", "id -u >>"+l.root+"/calls")
	l.iso("seed.iso", map[string]string{"user-data": ignition})
	dir := l.dir("srv/a", "a")
	l.vm(100, block("cloud-init: local:iso/seed.iso", "virtiofs: --path "+dir+" --socket "+fs0, "hook-script: local:snippets/a"), "args: "+ignitionArgs(ignFile)+" "+socketArgs(fs0), "sata0: file=local:iso/seed.iso,media=cdrom")
	l.copyProgram("hook")
	give := func(owner int) {
		err := filepath.WalkDir(l.root, func(path string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, owner, owner)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	give(nobody)
	run := func(phase string) string {
		cmd := l.hookProcess(100, phase)
		cmd.Path, cmd.Dir = l.path("hook"), "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			return err.Error() + ": " + out.String()
		}
		return ""
	}
	if said := run(PreStart); said != "" {
		t.Fatal(said)
	}
	if r := l.ask(fs0); len(r.Files) != 1 || r.Args[1] != "--shared-dir="+dir {
		t.Errorf("%+v", r)
	}
	if got := l.calls(); got != "a 100 pre-start, 65534" {
		t.Errorf("called %s", got)
	}
	if said := run(PostStop); said != "" {
		t.Error(said)
	}
	l.clean()

	// Only root's word counts beside its own.
	if err := os.Lchown(l.path("etc/proxplane/hook.yaml"), 65533, 65533); err != nil {
		t.Fatal(err)
	}
	if said := run(PreStart); !strings.Contains(said, "belongs to user 65533") {
		t.Errorf("said %s", said)
	}
	if err := os.Lchown(l.path("etc/proxplane/hook.yaml"), 0, 0); err != nil {
		t.Fatal(err)
	}
	l.policy("virtiofsd: ROOT/virtiofsd-new\nrules: [{vms: [all], shares: [{path: ROOT/srv/a, readOnly: true}], seeds: [attached], scripts: ['local:snippets/a']}]")
	if said := run(PreStart); !strings.Contains(said, "only root can share read-only") {
		t.Errorf("said %s", said)
	}
	l.clean()
}
