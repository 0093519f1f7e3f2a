//go:build linux

package cli

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/host/hook"
	"github.com/proxplane/proxplane/host/ssh/sshtest"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/need"
)

// program builds a small static program that knows its version.
func program(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module hook\n", "main.go": "package main\n\nfunc main() { println(\"small\") }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-o", "hook", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "hook")
}

// programFor is the head of a program for another processor.
func programFor(l *lab, machine elf.Machine) string {
	l.Helper()
	header := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Ehsize: 64, Phentsize: 56, Shentsize: 64}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA], header.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	text, err := binary.Append(nil, binary.LittleEndian, header)
	if err != nil {
		l.Fatal(err)
	}
	return l.write(machine.String(), string(text))
}

// node is a Proxmox host that can be logged in to. What is run there runs for
// real.
func node(t *testing.T, key []byte) *sshtest.Server {
	t.Helper()
	s := sshtest.Start(t)
	s.AuthorizeKey(key)
	s.OnCommand(func(command string) (string, int, bool) {
		file, args, _ := strings.Cut(command, " ")
		if !strings.HasPrefix(file, "/") {
			return "", 0, false
		}
		out, err := exec.Command(filepath.Join(s.Folder, file), strings.Fields(args)...).CombinedOutput()
		if err != nil {
			return err.Error(), 126, true
		}
		return string(out), 0, true
	})
	return s
}

func TestTheHookIsInstalledOnHosts(t *testing.T) {
	l := ownLab(t)
	l.env["HOME"] = t.TempDir()
	key, _ := sshtest.Key(t)
	one, two := node(t, key), node(t, key)
	args := []string{
		"hook", "install", "--node", "pve1,pve2", "--node-address", "pve1=" + one.Address + ",pve2=" + two.Address,
		"-i", l.write("key", string(key)), "--trust-new", "--binary", program(t),
	}
	out := l.must(args...)
	wantText(t, out, `^✓ pve1  /var/lib/vz/snippets/proxplane-hook is small$`, `^✓ pve2  /etc/proxplane/hook.yaml is new, and allows nothing yet$`, `hookscript: local:snippets/proxplane-hook`)
	for _, s := range []*sshtest.Server{one, two} {
		for name, mode := range map[string]os.FileMode{"var/lib/vz/snippets/proxplane-hook": 0o755, "etc/proxplane/hook.yaml": 0o644, "etc/proxplane": os.ModeDir | 0o755} {
			if info, err := os.Stat(filepath.Join(s.Folder, name)); err != nil || info.Mode() != mode {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
	}
	policy := filepath.Join(one.Folder, hook.PolicyFile)
	if err := os.WriteFile(policy, []byte("# mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantText(t, l.must(args...), `^✓ pve1  /etc/proxplane/hook.yaml is kept$`)
	if got, err := os.ReadFile(policy); err != nil || string(got) != "# mine\n" {
		t.Errorf("%s, %v", got, err)
	}

	_, other := sshtest.Key(t)
	two.SetHostKeys(other)
	_, _, stderr := l.run(args...)
	wantText(t, stderr, `node pve2: log in to root@127.0.0.1:\d+: the host key has changed`)
	one.OnWrite(func() error { return errors.New("no space left on device") })
	_, _, stderr = l.run(args...)
	wantText(t, stderr, `node pve1: write /var/lib/vz/snippets/proxplane-hook .*no space is left in /var/lib/vz/snippets`)
}

func TestTheHookIsInstalledAsTheProviderSays(t *testing.T) {
	l := ownLab(t)
	l.env["HOME"] = t.TempDir()
	key, _ := sshtest.Key(t)
	s := node(t, key)
	indent := func(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") }
	file := l.write("provider.yaml", `apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata: {name: lab}
spec:
  ssh:
    user: admin
    keySecretRef: {name: key}
    addresses: {pve2: "`+s.Address+`"}
    knownHosts: |
      `+string(s.KnownHosts())+`
---
apiVersion: v1
kind: Secret
metadata: {name: key}
stringData:
  ssh-privatekey: |
    `+indent(string(key))+"\n")
	wantText(t, l.must("hook", "install", "-f", file, "--node", "pve2", "--binary", program(t)), `^✓ pve2  .*proxplane-hook is small$`)
	if users := s.Logins(); len(users) != 1 || users[0] != "admin" {
		t.Errorf("logged in as %v", users)
	}
	_, other := sshtest.Key(t)
	s.SetHostKeys(other)
	_, _, stderr := l.run("hook", "install", "-f", file, "--node", "pve2", "--binary", program(t), "--trust-new")
	wantText(t, stderr, `the host key has changed`)
}

func TestTheHookIsInstalledOnlyWhereItCanRun(t *testing.T) {
	l := ownLab(t)
	l.env["HOME"] = t.TempDir()
	key, _ := sshtest.Key(t)
	s := node(t, key)
	args := func(more ...string) []string {
		return append([]string{"hook", "install", "--node", "pve1", "--node-address", "pve1=" + s.Address, "-i", l.write("key", string(key)), "--trust-new"}, more...)
	}
	for reason, c := range map[string]struct {
		args []string
		want []string
	}{
		"no program":         {args("--binary", l.write("text", "hello")), []string{`can't be a hook: it is no program for Linux`, `CGO_ENABLED=0`}},
		"no file":            {args("--binary", "/nowhere"), []string{`/nowhere`}},
		"needs libraries":    {args("--binary", "/bin/sh"), []string{`needs libraries`}},
		"another processor":  {args("--binary", programFor(l, elf.EM_RISCV)), []string{`it is for EM_RISCV`}},
		"another's hardware": {args("--binary", programFor(l, elf.EM_AARCH64)), []string{`the program is for aarch64, and the host is x86_64`}},
		"no such node":       {[]string{"hook", "install", "--node", "pve9"}, []string{`there is no node pve9; there are pve1, pve2, pve3`}},
		"no such storage":    {args("--storage", "none"), []string{`read storage none`, `does not exist`}},
		"no files":           {args("--storage", "local-lvm"), []string{`can't hold snippets`}},
	} {
		t.Run(reason, func(t *testing.T) {
			code, _, stderr := l.run(c.args...)
			if code != ui.ExitFailed {
				t.Errorf("exit %d", code)
			}
			wantText(t, stderr, c.want...)
		})
	}
	if left, err := os.ReadDir(s.Folder); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	l.sim.Do(func(st *pvesim.State) { st.Storages["local"].Conf["content"] = "iso,backup" })
	_, _, stderr := l.run(args("--print")...)
	wantText(t, stderr, `storage local isn't for snippets`, `pvesm set local --content iso,backup,snippets`)
}

func TestTheHookCanBeInstalledByHand(t *testing.T) {
	l := ownLab(t)
	l.env["HOME"] = t.TempDir()
	l.sim.Do(func(st *pvesim.State) { st.Storages["local"].Conf["content-dirs"] = "snippets=my+hooks" })
	out := l.must("hook", "install", "--node", "pve2", "--print", "--binary", "it's here")
	want := `scp 'it'\''s here' 'root@192.168.77.3:/var/lib/vz/my+hooks/proxplane-hook'
ssh root@192.168.77.3 'chmod 0755 '\''/var/lib/vz/my+hooks/proxplane-hook'\'''
ssh root@192.168.77.3 'test -e /etc/proxplane/hook.yaml || { install -d -m 0755 /etc/proxplane && echo '\''rules: []'\'' >/etc/proxplane/hook.yaml; }'
`
	if out != want {
		t.Errorf("got:\n%swant:\n%s", out, want)
	}
	for address, lines := range map[string][2]string{
		"10.1.1.1:2222":      {"scp -P 2222 x 'root@10.1.1.1:", "ssh -p 2222 root@10.1.1.1 "},
		"fd00::2":            {"scp x 'root@\\[fd00::2\\]:", "ssh root@fd00::2 "},
		"[fd00::2]:2222":     {"scp -P 2222 x 'root@\\[fd00::2\\]:", "ssh -p 2222 root@fd00::2 "},
		"pve2.example.org":   {"scp x 'root@pve2.example.org:", "ssh root@pve2.example.org "},
		"pve2.example.org:2": {"scp -P 2 x 'root@pve2.example.org:", "ssh -p 2 root@pve2.example.org "},
	} {
		wantText(t, l.must("hook", "install", "--node", "pve2", "--node-address", "pve2="+address, "--print", "--binary", "x"), lines[0], lines[1])
	}
	shellcheck := need.Program(t, "shellcheck")
	script := l.write("install.sh", "#!/bin/sh\n"+l.must("hook", "install", "--print"))
	if said, err := exec.Command(shellcheck, script).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}
