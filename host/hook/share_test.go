//go:build linux

package hook

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/proxplane/proxplane/firstboot/hookblock"
	"github.com/proxplane/proxplane/test/kit/need"
)

func TestLinksOnTheWayToAShareAreRefused(t *testing.T) {
	l := newLab(t)
	l.allow("  shares: [{path: ROOT/srv, below: true}]")
	l.dir("srv/real/in")
	for link, to := range map[string]string{"srv/link": "/etc", "srv/inner": "real", "srv/real/up": "../../.."} {
		if err := os.Symlink(to, l.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"srv/link", "srv/inner", "srv/inner/in", "srv/real/up", "srv/real/up/etc"} {
		l.vm(100, block("virtiofs: --path ROOT/"+path+" --socket "+fs0), "args: "+socketArgs(fs0))
		l.refused(100, "a symbolic link is on the way")
	}
	if err := os.Rename(l.path("srv"), l.path("data")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("data", l.path("srv")); err != nil {
		t.Fatal(err)
	}
	l.vm(100, block("virtiofs: --path ROOT/srv/real --socket "+fs0), "args: "+socketArgs(fs0))
	l.refused(100, "name the real path")
}

func TestWhatWasCheckedIsWhatIsShared(t *testing.T) {
	need.Root(t)
	l := newLab(t)
	h := l.host()
	// As on hosts, where systemd has all mounts shared between namespaces.
	for _, args := range [][]string{{"--bind", l.root, l.root}, {"--make-shared", l.root}} {
		if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
			need.None(t, fmt.Errorf("no mounts can be made here: %s", out))
		}
	}
	defer func() {
		if out, err := exec.Command("umount", "--lazy", l.root).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	}()
	path := l.dir("srv/a", "right")
	lock, err := h.lock(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	share := hookblock.Share{Path: path, Socket: fs0}
	dir, err := openShare(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	spec, err := h.spec(dir, share, virtiofsd{l.path("virtiofsd-new"), false})
	if err != nil {
		t.Fatal(err)
	}
	// Now somebody puts another directory there.
	if err := os.Rename(path, path+"-moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(l.dir("secret", "wrong"), path); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{filepath.Dir(l.path(fs0)), h.recordDir(100)} {
		if err := h.privateDir(d); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.startDaemon(t.Context(), lock, dir, 100, h.recordFile(100, fs0), daemon{Share: spec, Socket: l.path(fs0)}); err != nil {
		t.Fatal(err)
	}
	if r := l.ask(fs0); !slices.Equal(r.Files, []string{"right"}) {
		t.Errorf("shares %v", r.Files)
	}
	if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(mounts), spec.Target) {
		t.Errorf("the host sees the mount: %v", err)
	}
	lock.Close()
	l.stopped(100)
}

// stopped is a stop without a config, after which nothing is left.
func (l *lab) stopped(vmid int) {
	l.Helper()
	if err := l.host().undo(l.Context(), vmid); err != nil {
		l.Fatal(err)
	}
	l.clean()
}

func TestReadOnlyIsReadOnly(t *testing.T) {
	need.Root(t)
	for _, program := range []string{"virtiofsd-new", "virtiofsd-old"} {
		t.Run(program, func(t *testing.T) {
			l := newLab(t)
			l.policy("virtiofsd: ROOT/" + program + "\nrules:\n- vms: [100]\n  shares: [{path: ROOT/asked}, {path: ROOT/forced, readOnly: true}]")
			l.vm(100, block("virtiofs: --path "+l.dir("asked", "a")+" --socket "+fs0+" --read-only", "virtiofs: --path "+l.dir("forced", "f")+" --socket "+fs1), "args: "+socketArgs(fs0, fs1))
			l.must(100, PreStart)
			for _, socket := range []string{fs0, fs1} {
				if r := l.ask(socket); !strings.Contains(r.Written, "read-only file system") || len(r.Files) != 1 {
					t.Errorf("%s: %+v", socket, r)
				}
			}
			if !strings.Contains(l.out.String(), "read-only at "+fs1) {
				t.Errorf("it isn't said: %s", l.out.String())
			}
			if err := os.WriteFile(l.path("asked/host"), nil, 0o644); err != nil {
				t.Errorf("the host itself can't write: %v", err)
			}
			l.must(100, PostStop)
			l.clean()
		})
	}
}

func TestBothDaemonsGetTheirOwnOptions(t *testing.T) {
	all := hookblock.Share{Cache: "never", DirectIO: true, XAttr: true, ACL: true}
	for _, c := range []struct {
		old   bool
		share hookblock.Share
		want  string
	}{
		{false, hookblock.Share{}, "--socket-path=/s --shared-dir=/d --announce-submounts"},
		{false, all, "--socket-path=/s --shared-dir=/d --announce-submounts --cache=never --allow-direct-io --xattr --posix-acl"},
		{false, hookblock.Share{Cache: "metadata", ACL: true}, "--socket-path=/s --shared-dir=/d --announce-submounts --cache=metadata --xattr --posix-acl"},
		{true, hookblock.Share{}, "-f --socket-path=/s -o source=/d,announce_submounts"},
		{true, all, "-f --socket-path=/s -o source=/d,announce_submounts,cache=none,allow_direct_io,xattr,posix_acl"},
		{true, hookblock.Share{Cache: "always"}, "-f --socket-path=/s -o source=/d,announce_submounts,cache=always"},
	} {
		got, err := virtiofsd{"virtiofsd", c.old}.args(c.share, "/d", "/s")
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("got %s, %v\nwant %s", strings.Join(got, " "), err, c.want)
		}
	}
	for _, bad := range []struct {
		dir   string
		share hookblock.Share
	}{{"/d", hookblock.Share{Cache: "metadata"}}, {"/a,b", hookblock.Share{}}} {
		if got, err := (virtiofsd{"virtiofsd", true}).args(bad.share, bad.dir, "/s"); err == nil {
			t.Errorf("%+v: %v", bad, got)
		}
	}
}

func TestTheDaemonMustBeTrustedAndKnown(t *testing.T) {
	l := newLab(t)
	dir := l.dir("srv/a")
	l.vm(100, block("virtiofs: --path "+dir+" --socket "+fs0), "args: "+socketArgs(fs0))
	rule := "\nrules:\n- vms: [100]\n  shares: [{path: ROOT/srv/a}]"
	l.policy("virtiofsd: ROOT/none" + rule)
	l.refused(100, "virtiofsd isn't installed (looked for ROOT/none)")
	l.write("other", 0o755, "#!/bin/sh\necho usage\n")
	l.policy("virtiofsd: ROOT/other" + rule)
	l.refused(100, "isn't a virtiofsd that we know")
	if err := os.Chmod(l.path("virtiofsd-new"), 0o777); err != nil {
		t.Fatal(err)
	}
	l.policy("virtiofsd: ROOT/virtiofsd-new" + rule)
	l.refused(100, "isn't trusted")
}

// hookProcess is a hook as Proxmox calls it.
func (l *lab) hookProcess(vmid int, phase string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", fmt.Sprint(vmid), phase)
	cmd.Env = append(os.Environ(), RootVariable+"="+l.root)
	return cmd
}

func TestAKilledHookLeavesNothingThatTheNextDoesNotFind(t *testing.T) {
	for _, after := range []string{PostStop, PreStart} {
		t.Run(after, func(t *testing.T) {
			l := newLab(t)
			l.allow("  shares: [{path: ROOT/srv, below: true}]\n  seeds: ['local:iso/seed.iso']")
			l.iso("seed.iso", map[string]string{"user-data": ignition})
			hang, good := l.dir("srv/hang", "hang"), l.dir("srv/good", "good")
			l.vm(100, block("cloud-init: local:iso/seed.iso", "virtiofs: --path "+good+" --socket "+fs0, "virtiofs: --path "+hang+" --socket "+fs1), "args: "+ignitionArgs(ignFile)+" "+socketArgs(fs0, fs1))
			cmd := l.hookProcess(100, PreStart)
			cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			l.until("the second daemon", func() bool {
				all, _ := l.host().records(100)
				d := all[l.host().recordFile(100, fs1)].Daemon
				return d != nil && d.alive()
			})
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			// What a killed write leaves.
			l.write("run/proxplane/ignition/.100.ign"+partMark+"1", 0o600, ignition)
			l.write("run/proxplane/vm/100/.half.json"+partMark+"1", 0o600, "{")
			if err := os.Remove(filepath.Join(hang, "hang")); err != nil {
				t.Fatal(err)
			}
			l.must(100, after)
			if after == PreStart {
				if r := l.ask(fs1); len(r.Files) != 0 {
					t.Errorf("shares %v", r.Files)
				}
				l.must(100, PostStop)
			}
			l.clean()
		})
	}
}

// until waits until something is so.
func (l *lab) until(what string, so func() bool) {
	l.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for !so() {
		if time.Now().After(deadline) {
			l.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestAnInterruptedHookCleansUp(t *testing.T) {
	l := newLab(t)
	l.allow("  shares: [{path: ROOT/srv, below: true}]")
	l.vm(100, block("virtiofs: --path "+l.dir("srv/hang", "hang")+" --socket "+fs0), "args: "+socketArgs(fs0))
	ctx, cancel := contextWithCause(t)
	done := make(chan error, 1)
	h := l.host()
	go func() { done <- h.Run(ctx, 100, PreStart) }()
	l.until("the daemon", func() bool {
		select {
		case err := <-done:
			l.Fatalf("didn't wait for the daemon: %v", err)
		default:
		}
		return len(l.daemons()) > 0
	})
	cancel(syscall.EINTR)
	if err := <-done; err == nil || !strings.Contains(err.Error(), syscall.EINTR.Error()) {
		t.Errorf("got %v", err)
	}
	l.clean()
}

func TestAnotherProcessWithTheSameNumberIsLeftAlone(t *testing.T) {
	l := newLab(t)
	other := exec.Command("sleep", "600")
	other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	start, ok := startTime(other.Process.Pid)
	if !ok {
		t.Fatal("no start time")
	}
	h := l.host()
	for _, d := range []string{h.run(), h.run("vm"), h.recordDir(100)} {
		if err := h.privateDir(d); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeRecord(h.recordFile(100, fs0), record{Daemon: &daemon{PID: other.Process.Pid, Start: start + 1, Socket: l.path(fs0)}}); err != nil {
		t.Fatal(err)
	}
	l.stopped(100)
	if _, ok := startTime(other.Process.Pid); !ok {
		t.Error("it was killed")
	}
}

func TestAFullDiskLeavesNothing(t *testing.T) {
	need.Root(t)
	l := newLab(t)
	l.allow("  seeds: ['local:iso/seed.iso']")
	l.iso("seed.iso", map[string]string{"user-data": `{"ignition":{"version":"3.4.0"},"x":"` + strings.Repeat("x", 200_000) + `"}`})
	l.vm(100, block("cloud-init: local:iso/seed.iso"), "args: "+ignitionArgs(ignFile))
	if err := os.MkdirAll(l.path("run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k,mode=755", "small", l.path("run")).CombinedOutput(); err != nil {
		need.None(t, fmt.Errorf("no small disk can be made here: %s", out))
	}
	defer func() {
		if out, err := exec.Command("umount", l.path("run")).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	}()
	l.refused(100, "no space left on device")
}
