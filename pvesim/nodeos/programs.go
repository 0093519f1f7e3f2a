package nodeos

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// programs are those that a node has. What the shell has itself, such as echo and
// test, isn't among them.
var programs map[string]func(*process) int

func init() {
	programs = map[string]func(*process) int{
		"bash": progShell, "sh": progShell, "dash": progShell, "sudo": progSudo, "which": progWhich,
		"id": progID, "whoami": progWhoami, "hostname": progHostname, "uname": progUname, "getent": progGetent,
		"cat": progCat, "tee": progTee, "ls": progLs, "mkdir": progMkdir, "rm": progRm, "mv": progMv, "cp": progCp, "chmod": progChmod,
		"touch": progTouch, "sync": func(*process) int { return 0 },
		"grep": progGrep, "cut": progCut, "wc": progWc,
		"md5sum": progSum(md5.New), "sha256sum": progSum(sha256.New), "sha512sum": progSum(sha512.New),
		"qm": progQm, "pvesm": progPvesm, "pvesh": progPvesh, "pveversion": progPveversion, "ha-manager": progHAManager,
		"wget": progWget,
	}
}

// progShell runs "bash -c SCRIPT", a script file, or what comes on its input.
func progShell(p *process) int {
	args, text, in := p.args, p.in, io.Reader(nil)
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && !strings.Contains(args[0], "c") {
		args = args[1:]
	}
	switch {
	case len(args) > 1 && strings.HasPrefix(args[0], "-"):
		text, in, args = strings.NewReader(args[1]), p.in, args[2:]
		if len(args) > 0 {
			args = args[1:] // $0
		}
	case len(args) > 0:
		file, err := p.files().stream(p.path(args[0]), os.O_RDONLY, 0)
		if err != nil {
			fmt.Fprintf(p.err, "bash: %s: %s\n", args[0], reason(err))
			return 127
		}
		defer file.Close()
		text, in, args = file, p.in, args[1:]
	}
	return p.script(p, text, in, p.out, p.err, p.dir, args)
}

// progSudo runs a program as root: everybody who can log in may.
func progSudo(p *process) int {
	args := p.args
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if args[0] == "-u" && len(args) > 1 {
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(p.err, "usage: sudo [-n] command [arg ...]")
		return 1
	}
	root := &shell{node: p.node, user: "root"}
	if prog := programs[path.Base(args[0])]; prog == nil {
		fmt.Fprintf(p.err, "sudo: %s: command not found\n", args[0])
		return 1
	}
	return root.program(args[0])(&process{Context: p.Context, shell: root, args: args[1:], in: p.in, out: p.out, err: p.err, dir: p.dir})
}

func progWhich(p *process) int {
	status := 0
	for _, name := range p.args {
		base := path.Base(name)
		if programs[base] == nil || name != base && !strings.HasSuffix(path.Dir(name), "bin") {
			status = 1
			continue
		}
		dir := "/usr/bin/"
		if slices.Contains([]string{"qm", "pvesm"}, base) {
			dir = "/usr/sbin/"
		}
		fmt.Fprintln(p.out, dir+base)
	}
	return status
}

// uid is the number of the user.
func (sh *shell) uid() int {
	if sh.user == "root" {
		return 0
	}
	return 1000
}

func progID(p *process) int {
	letters, _ := p.options()
	switch {
	case strings.Contains(letters, "n"):
		fmt.Fprintln(p.out, p.user)
	case strings.ContainsAny(letters, "ugG"):
		fmt.Fprintln(p.out, p.uid())
	default:
		fmt.Fprintf(p.out, "uid=%[1]d(%[2]s) gid=%[1]d(%[2]s) groups=%[1]d(%[2]s)\n", p.uid(), p.user)
	}
	return 0
}

func progWhoami(p *process) int {
	fmt.Fprintln(p.out, p.user)
	return 0
}

func progHostname(p *process) int {
	fmt.Fprintln(p.out, p.node.host.Name())
	return 0
}

func progUname(p *process) int {
	const kernel, machine = "6.17.4-1-pve", "x86_64"
	switch strings.Join(p.args, " ") {
	case "", "-s":
		fmt.Fprintln(p.out, "Linux")
	case "-r":
		fmt.Fprintln(p.out, kernel)
	case "-m":
		fmt.Fprintln(p.out, machine)
	case "-n":
		fmt.Fprintln(p.out, p.node.host.Name())
	default:
		fmt.Fprintln(p.out, "Linux", p.node.host.Name(), kernel, "#1 SMP PREEMPT_DYNAMIC PMX", machine, "GNU/Linux")
	}
	return 0
}

func progGetent(p *process) int {
	if len(p.args) != 2 || p.args[0] != "passwd" || !p.node.host.Account(p.args[1]) {
		return 2
	}
	user := &shell{user: p.args[1]}
	fmt.Fprintf(p.out, "%s:x:%d:%d::%s:/bin/bash\n", user.user, user.uid(), user.uid(), home(user.user))
	return 0
}
