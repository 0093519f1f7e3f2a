//go:build linux

package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/firstboot/hookblock"
	"github.com/proxplane/proxplane/firstboot/qemuarg"
)

// lab is a host with everything below a folder.
type lab struct {
	*testing.T
	root string
	out  bytes.Buffer
	log  []string // the host's own
	env  map[string]string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	// Short, since the paths of sockets are.
	root, err := os.MkdirTemp("", "pp")
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{T: t, root: root, env: map[string]string{}}
	t.Cleanup(func() {
		for _, vmid := range []int{100, 101, 200} {
			_ = l.host().undo(context.Background(), vmid)
		}
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	l.write("etc/pve/storage.cfg", 0o640, "dir: local\n\tpath /var/lib/vz\n\tcontent iso,snippets\n\nnfs: far\n\tserver x\n\tcontent-dirs snippets=hooks\n\nlvmthin: lvm\n\tvgname pve\n\ndir: off\n\tpath /off\n\tdisable\n")
	l.write("etc/pve/user.cfg", 0o640, "user:root@pam:1:0::::::\npool:web:the web:100,101:local:\npool:db::200::\n")
	l.policy("rules: []")
	for _, name := range []string{"virtiofsd-new", "virtiofsd-old"} {
		l.copyProgram(name)
	}
	return l
}

func (l *lab) host() *Host {
	return &Host{
		Root: l.root, Out: &l.out,
		Getenv: func(name string) string { return l.env[name] },
		Record: func(_ bool, message string) { l.log = append(l.log, message) },
	}
}

func (l *lab) path(name string) string { return filepath.Join(l.root, name) }

// write makes a file of the host.
func (l *lab) write(name string, mode fs.FileMode, text string) string {
	l.Helper()
	file := l.path(name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		l.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		l.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil {
		l.Fatal(err)
	}
	return file
}

func (l *lab) copyProgram(name string) {
	l.Helper()
	in, err := os.Open("/proc/self/exe")
	if err != nil {
		l.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(l.path(name), os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		l.Fatal(err)
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		l.Fatal(err)
	}
}

func (l *lab) policy(text string) {
	l.Helper()
	l.write("etc/proxplane/hook.yaml", 0o644, strings.ReplaceAll(text, "ROOT", l.root))
}

// allow is a policy for VM 100, with a false daemon.
func (l *lab) allow(rule string) {
	l.policy("virtiofsd: ROOT/virtiofsd-new\nrules:\n- vms: [100]\n" + rule)
}

// vm writes a VM's config as Proxmox does.
func (l *lab) vm(vmid int, description string, lines ...string) {
	l.Helper()
	var text strings.Builder
	for line := range strings.SplitSeq(strings.ReplaceAll(description, "ROOT", l.root), "\n") {
		text.WriteString("#" + strings.ReplaceAll(url.PathEscape(line), "%20", " ") + "\n")
	}
	for _, line := range lines {
		text.WriteString(line + "\n")
	}
	text.WriteString("\n[before]\n#```\n#hook-script: local:snippets/snapshot.sh\n#```\nargs: -old\n")
	l.write(fmt.Sprintf("etc/pve/qemu-server/%d.conf", vmid), 0o640, text.String())
}

// iso makes a seed in the storage local.
func (l *lab) iso(name string, files map[string]string) {
	l.Helper()
	content := map[string][]byte{}
	for n, text := range files {
		content[n] = []byte(text)
	}
	image, err := firstboot.ISO(content)
	if err != nil {
		l.Fatal(err)
	}
	l.write("var/lib/vz/template/iso/"+name, 0o644, string(image))
}

// dir makes a directory to share.
func (l *lab) dir(name string, files ...string) string {
	l.Helper()
	if err := os.MkdirAll(l.path(name), 0o755); err != nil {
		l.Fatal(err)
	}
	for _, f := range files {
		l.write(filepath.Join(name, f), 0o644, f)
	}
	return l.path(name)
}

// script makes a hookscript that writes down its calls.
func (l *lab) script(name, text string) {
	l.Helper()
	l.write("var/lib/vz/snippets/"+name, 0o755, fmt.Sprintf("#!/bin/sh\necho \"%s $*\" >>%s/calls\n%s\n", name, l.root, text))
}

// calls are those of all scripts until now.
func (l *lab) calls() string {
	text, _ := os.ReadFile(l.path("calls"))
	_ = os.Remove(l.path("calls"))
	return strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", ", ")
}

func (l *lab) run(vmid int, phase string) error {
	l.out.Reset()
	return l.host().Run(l.Context(), vmid, phase)
}

func (l *lab) must(vmid int, phase string) {
	l.Helper()
	if err := l.run(vmid, phase); err != nil {
		l.Fatalf("%d %s: %v\n%s", vmid, phase, err, l.out.String())
	}
}

// refused checks that a phase fails with these words, that the host's log has
// them, and that nothing was made.
func (l *lab) refused(vmid int, words ...string) {
	l.Helper()
	l.log = nil
	err := l.run(vmid, PreStart)
	if err == nil {
		l.Fatalf("allowed, want %q", words)
	}
	for _, w := range words {
		w = strings.ReplaceAll(w, "ROOT", l.root)
		if !strings.Contains(err.Error(), w) {
			l.Errorf("%v: doesn't say %q", err, w)
		}
		if !strings.Contains(strings.Join(l.log, "\n"), w) {
			l.Errorf("the log doesn't say %q: %q", w, l.log)
		}
	}
	l.clean()
}

// clean checks that nothing is left of any VM.
func (l *lab) clean() {
	l.Helper()
	for _, dir := range []string{"run", "etc/pve/local"} {
		_ = filepath.WalkDir(l.path(dir), func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && !strings.HasSuffix(path, ".lock") {
				l.Errorf("left behind: %s", path)
			}
			return nil
		})
	}
	if left := l.daemons(); len(left) > 0 {
		l.Errorf("still running: %q", left)
	}
}

// daemons are the command lines of those of this lab that run.
func (l *lab) daemons() []string {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, f := range files {
		text, _ := os.ReadFile(f)
		if bytes.Contains(text, []byte(l.root+"/run/")) {
			found = append(found, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	slices.Sort(found)
	return found
}

// ask asks the daemon at a socket what it shares.
func (l *lab) ask(socket string) report {
	l.Helper()
	conn, err := net.Dial("unix", l.path(socket))
	if err != nil {
		l.Fatal(err)
	}
	defer conn.Close()
	var r report
	if err := json.NewDecoder(conn).Decode(&r); err != nil {
		l.Fatal(err)
	}
	return r
}

// pid is the process that serves a socket.
func (l *lab) pid(vmid int, socket string) int {
	l.Helper()
	all, err := l.host().records(vmid)
	if err != nil {
		l.Fatal(err)
	}
	d := all[l.host().recordFile(vmid, socket)].Daemon
	if d == nil || !d.alive() {
		l.Fatalf("nobody serves %s: %+v", socket, all)
	}
	return d.PID
}

// block is a description with a block of ours.
func block(lines ...string) string {
	return "notes\n\n```proxplane\n" + strings.Join(lines, "\n") + "\n```\n"
}

// Arguments that have QEMU use what the hook makes.
func ignitionArgs(file string) string {
	return qemuarg.Option("-fw_cfg", qemuarg.Param{Key: "name", Value: "opt/com.coreos/config"}, qemuarg.Param{Key: "file", Value: file})
}

func socketArgs(sockets ...string) string {
	var options []string
	for i, s := range sockets {
		options = append(options, qemuarg.Option("-chardev", qemuarg.Param{Value: "socket"}, qemuarg.Param{Key: "id", Value: fmt.Sprint("fs", i)}, qemuarg.Param{Key: "path", Value: s}))
	}
	return qemuarg.Line(options...)
}

const ignition = `{"ignition":{"version":"3.4.0"}}`

var (
	ignFile = hookblock.IgnitionFile(100)
	fs0     = hookblock.Socket(100, 0)
	fs1     = hookblock.Socket(100, 1)
)
