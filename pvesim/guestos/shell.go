package guestos

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
)

// process is a program that runs in a guest. What it prints is known at
// once; how long it takes is added up in lasts.
type process struct {
	on    Machine
	guest *Guest
	stdin []byte
	out   bytes.Buffer
	err   bytes.Buffer
	lasts time.Duration
	vars  map[string]string
	code  int  // of the last command
	left  bool // the shell has exited
}

// Machine is what a program can do to the machine that it runs on.
type Machine interface {
	Now() time.Time
	PowerOff()
	Reboot()
	// Guests are all guests that run and are up, this one among them.
	Guests() []*Guest
	// Kubes are the Kubernetes clusters that guests form, by their tokens.
	Kubes() map[string]*Kube
	// Fetch gets something from the internet: its checksum in SHA-256.
	Fetch(url string) (sum string, err error)
}

// Run starts a program with its arguments. Only a few programs are
// simulated; the shell knows lists, redirections, quotes and variables.
func (g *Guest) Run(on Machine, args []string, stdin []byte) (*Exec, error) {
	p := &process{on: on, guest: g, stdin: stdin, vars: map[string]string{"HOME": "/root", "USER": "root"}}
	prog := programs[path.Base(args[0])]
	if prog == nil || strings.Contains(args[0], "/") && !strings.Contains(args[0], "bin/") {
		return nil, fmt.Errorf("No such file or directory")
	}
	code := prog(p, args[1:])
	return &Exec{Ends: on.Now().Add(p.lasts), Code: code, Out: p.out.Bytes(), Err: p.err.Bytes()}, nil
}

// programs are those that the simulated system has.
var programs map[string]func(p *process, args []string) int

func init() {
	programs = map[string]func(p *process, args []string) int{
		"sh": shell, "bash": shell, "ash": shell, "dash": shell,
		"true": func(*process, []string) int { return 0 }, ":": func(*process, []string) int { return 0 },
		"false": func(*process, []string) int { return 1 },
		"echo":  progEcho, "cat": progCat, "sleep": progSleep, "hostname": progHostname, "uname": progUname,
		"whoami": progWhoami, "id": progID, "ls": progLs, "touch": progTouch, "mkdir": progMkdir, "rm": progRm, "mv": progMv,
		"tee": progTee, "test": progTest, "[": progTest, "date": progDate, "cloud-init": progCloudInit,
		"poweroff": progPoweroff, "shutdown": progPoweroff, "halt": progPoweroff, "reboot": progReboot,
		"systemctl": progSystemctl, "sync": func(*process, []string) int { return 0 },
		"kubectl": progKubectl, "rke2": progDistribution, "k3s": progDistribution, "proxplane-node": progNode,
		"journalctl": progJournalctl, "tail": progTail, "head": progHead, "base64": progBase64, "sha256sum": progSHA256Sum,
		"ip": progIP, "env": progEnv, "pwd": func(p *process, _ []string) int { fmt.Fprintln(&p.out, "/"); return 0 },
	}
}

// shell runs "sh -c SCRIPT", a script file, or what comes on its input.
func shell(p *process, args []string) int {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && !strings.Contains(args[0], "c") {
		args = args[1:]
	}
	script := string(p.stdin)
	switch {
	case len(args) > 1 && strings.HasPrefix(args[0], "-"):
		script = args[1]
		for i, a := range args[2:] {
			p.vars[strconv.Itoa(i)] = a
		}
	case len(args) > 0:
		data, err := p.guest.Read(args[0])
		if err != nil {
			fmt.Fprintf(&p.err, "sh: 0: cannot open %s: %s\n", args[0], err)
			return 2
		}
		script = string(data)
	default:
		p.stdin = nil
	}
	return p.script(script)
}

// script runs commands one after the other.
func (p *process) script(text string) int {
	list, err := parseShell(text)
	if err != nil {
		fmt.Fprintf(&p.err, "sh: 1: %s\n", err)
		return 2
	}
	p.code = 0
	for _, c := range list {
		if p.left {
			break
		}
		if c.join == "&&" && p.code != 0 || c.join == "||" && p.code == 0 {
			continue
		}
		p.command(c)
	}
	return p.code
}

// command runs one command of a script, with its redirections.
func (p *process) command(c shellCommand) {
	words := make([]string, 0, len(c.words))
	for _, w := range c.words {
		words = append(words, p.expand(w)...)
	}
	for len(words) > 0 {
		name, value, ok := strings.Cut(words[0], "=")
		if !ok || !isName(name) {
			break
		}
		p.vars[name] = value
		words = words[1:]
	}
	if len(words) == 0 {
		p.code = 0
		return
	}
	child := &process{on: p.on, guest: p.guest, stdin: p.stdin, vars: p.vars}
	if c.piped != nil {
		child.stdin = p.pipe(*c.piped)
	}
	switch words[0] {
	case "exit":
		p.left = true
		if len(words) > 1 {
			p.code, _ = strconv.Atoi(words[1])
		}
		return
	case "export", "set", "cd", "umask":
		p.code = 0
		for _, w := range words[1:] {
			if name, value, ok := strings.Cut(w, "="); ok && isName(name) {
				p.vars[name] = value
			}
		}
		return
	}
	prog := programs[path.Base(words[0])]
	if prog == nil {
		fmt.Fprintf(&child.err, "sh: 1: %s: not found\n", words[0])
		child.code = 127
	} else {
		child.code = prog(child, words[1:])
	}
	p.redirect(c, child)
	p.code = child.code
	p.lasts += child.lasts
}

// pipe runs the command on the left of a pipe and returns what it printed.
func (p *process) pipe(c shellCommand) []byte {
	left := &process{on: p.on, guest: p.guest, stdin: p.stdin, vars: p.vars}
	left.command(c)
	p.err.Write(left.err.Bytes())
	p.lasts += left.lasts
	return left.out.Bytes()
}

// redirect sends what a command printed where it shall go.
func (p *process) redirect(c shellCommand, child *process) {
	out, errs := &p.out, &p.err
	for _, r := range c.redirects {
		target := strings.Join(p.expand(r.target), " ")
		switch {
		case r.fd == 2 && target == "&1":
			errs = out
		case r.fd == 1 && target == "&2":
			out = errs
		default:
			buf := &bytes.Buffer{}
			if r.fd == 1 {
				out = buf
			} else {
				errs = buf
			}
			defer func() {
				if err := p.guest.Write(target, buf.Bytes(), r.add); err != nil {
					fmt.Fprintf(&p.err, "sh: 1: cannot create %s: %s\n", target, err)
					p.code = 2
				}
			}()
		}
	}
	out.Write(child.out.Bytes())
	errs.Write(child.err.Bytes())
}

func isName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == "" && (s[0] < '0' || s[0] > '9')
}
