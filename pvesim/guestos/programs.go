package guestos

import (
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

func progEcho(p *process, args []string) int {
	end := "\n"
	if len(args) > 0 && args[0] == "-n" {
		args, end = args[1:], ""
	}
	p.out.WriteString(strings.Join(args, " ") + end)
	return 0
}

func progCat(p *process, args []string) int {
	if len(args) == 0 || len(args) == 1 && args[0] == "-" {
		p.out.Write(p.stdin)
		return 0
	}
	code := 0
	for _, file := range args {
		data, err := p.guest.Read(file)
		if err != nil {
			fmt.Fprintf(&p.err, "cat: %s: %s\n", file, err)
			code = 1
			continue
		}
		p.out.Write(data)
	}
	return code
}

func progSleep(p *process, args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(&p.err, "sleep: missing operand")
		return 1
	}
	for _, a := range args {
		unit := time.Second
		if n := len(a); n > 0 {
			switch a[n-1] {
			case 's':
				a = a[:n-1]
			case 'm':
				a, unit = a[:n-1], time.Minute
			case 'h':
				a, unit = a[:n-1], time.Hour
			}
		}
		f, err := strconv.ParseFloat(a, 64)
		if err != nil || f < 0 {
			fmt.Fprintf(&p.err, "sleep: invalid time interval '%s'\n", a)
			return 1
		}
		p.lasts += time.Duration(f * float64(unit))
	}
	return 0
}

func progHostname(p *process, args []string) int {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		p.guest.Name = args[0]
		return 0
	}
	fmt.Fprintln(&p.out, p.guest.Name)
	return 0
}

func progUname(p *process, args []string) int {
	switch strings.Join(args, " ") {
	case "", "-s":
		fmt.Fprintln(&p.out, "Linux")
	case "-r":
		fmt.Fprintln(&p.out, Kernel)
	case "-m":
		fmt.Fprintln(&p.out, Architecture)
	case "-n":
		fmt.Fprintln(&p.out, p.guest.Name)
	default:
		fmt.Fprintln(&p.out, "Linux", p.guest.Name, Kernel, KernelBuild, Architecture, "GNU/Linux")
	}
	return 0
}

func progWhoami(p *process, _ []string) int {
	fmt.Fprintln(&p.out, "root")
	return 0
}

func progID(p *process, args []string) int {
	if slices.Contains(args, "-u") || slices.Contains(args, "-g") {
		fmt.Fprintln(&p.out, "0")
		return 0
	}
	fmt.Fprintln(&p.out, "uid=0(root) gid=0(root) groups=0(root)")
	return 0
}

func progLs(p *process, args []string) int {
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
	if len(args) == 0 {
		args = []string{"/"}
	}
	code := 0
	for _, a := range args {
		dir := path.Clean(a)
		if _, err := p.guest.Read(dir); err == nil {
			fmt.Fprintln(&p.out, a)
			continue
		}
		if !p.guest.isDir(dir) {
			fmt.Fprintf(&p.err, "ls: cannot access '%s': No such file or directory\n", a)
			code = 2
			continue
		}
		for _, name := range p.guest.entries(dir) {
			fmt.Fprintln(&p.out, name)
		}
	}
	return code
}

// entries lists a directory.
func (g *Guest) entries(dir string) []string {
	var names []string
	for f := range g.Files {
		if path.Dir(f) == dir {
			names = append(names, path.Base(f))
		}
	}
	for _, dirs := range []map[string]bool{baseDirs, g.Dirs} {
		for d := range dirs {
			if d != "/" && path.Dir(d) == dir {
				names = append(names, path.Base(d))
			}
		}
	}
	slices.Sort(names)
	return names
}

func progTouch(p *process, args []string) int {
	for _, a := range args {
		if err := p.guest.Write(a, nil, true); err != nil {
			fmt.Fprintf(&p.err, "touch: cannot touch '%s': %s\n", a, err)
			return 1
		}
	}
	return 0
}

func progMkdir(p *process, args []string) int {
	parents := false
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			parents = parents || strings.Contains(a, "p")
			continue
		}
		dir := path.Clean(a)
		switch {
		case !parents && (p.guest.isDir(dir) || p.guest.Files[dir] != nil):
			fmt.Fprintf(&p.err, "mkdir: cannot create directory '%s': File exists\n", a)
			return 1
		case !parents && !p.guest.isDir(path.Dir(dir)):
			fmt.Fprintf(&p.err, "mkdir: cannot create directory '%s': No such file or directory\n", a)
			return 1
		}
		for d := dir; d != "." && !p.guest.isDir(d); d = path.Dir(d) {
			p.guest.Dirs[d] = true
		}
	}
	return 0
}

func progRm(p *process, args []string) int {
	force := false
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			force = force || strings.Contains(a, "f")
			continue
		}
		file := path.Clean(a)
		_, isFile := p.guest.Files[file]
		if !isFile && !p.guest.isDir(file) && !force {
			fmt.Fprintf(&p.err, "rm: cannot remove '%s': No such file or directory\n", a)
			return 1
		}
		for f := range p.guest.Files {
			if f == file || strings.HasPrefix(f, file+"/") {
				delete(p.guest.Files, f)
			}
		}
		delete(p.guest.Dirs, file)
	}
	return 0
}

func progTee(p *process, args []string) int {
	add := len(args) > 0 && args[0] == "-a"
	if add {
		args = args[1:]
	}
	p.out.Write(p.stdin)
	for _, a := range args {
		if err := p.guest.Write(a, p.stdin, add); err != nil {
			fmt.Fprintf(&p.err, "tee: %s: %s\n", a, err)
			return 1
		}
	}
	return 0
}

// progTest knows -e -f -d -n -z = and !=.
func progTest(p *process, args []string) int {
	if n := len(args); n > 0 && args[n-1] == "]" {
		args = args[:n-1]
	}
	ok := false
	switch {
	case len(args) == 2:
		_, isFile := p.guest.Files[path.Clean(args[1])]
		isDir := p.guest.isDir(path.Clean(args[1]))
		ok = map[string]bool{
			"-e": isFile || isDir, "-f": isFile, "-d": isDir, "-n": args[1] != "", "-z": args[1] == "",
		}[args[0]]
	case len(args) == 3 && args[1] == "!=":
		ok = args[0] != args[2]
	case len(args) == 3:
		ok = args[0] == args[2]
	case len(args) == 1:
		ok = args[0] != ""
	}
	if ok {
		return 0
	}
	return 1
}

func progDate(p *process, args []string) int {
	now := p.on.Now().UTC()
	if len(args) > 0 && args[0] == "+%s" {
		fmt.Fprintln(&p.out, now.Unix())
		return 0
	}
	fmt.Fprintln(&p.out, now.Format("Mon Jan _2 15:04:05 UTC 2006"))
	return 0
}

func progCloudInit(p *process, args []string) int {
	if len(args) == 0 || args[0] != "status" {
		return 0
	}
	settleKube(p.on)
	if p.guest.Kube.Failed != "" {
		fmt.Fprintln(&p.out, "status: error")
		return 1
	}
	fmt.Fprintln(&p.out, "status: done")
	return 0
}

func progPoweroff(p *process, args []string) int {
	if slices.Contains(args, "-r") {
		return progReboot(p, nil)
	}
	p.on.PowerOff()
	return 0
}

func progReboot(p *process, _ []string) int {
	p.on.Reboot()
	return 0
}

func progSystemctl(p *process, args []string) int {
	if len(args) == 0 {
		return 0
	}
	if code, known := p.service(args[0], args[len(args)-1]); known {
		return code
	}
	switch args[0] {
	case "poweroff", "halt":
		return progPoweroff(p, nil)
	case "reboot":
		return progReboot(p, nil)
	case "is-system-running":
		fmt.Fprintln(&p.out, "running")
	case "is-active":
		fmt.Fprintln(&p.out, "active")
	}
	return 0
}

func progEnv(p *process, _ []string) int {
	for _, k := range slices.Sorted(maps.Keys(p.vars)) {
		fmt.Fprintf(&p.out, "%s=%s\n", k, p.vars[k])
	}
	return 0
}

// progHead knows -c N.
func progHead(p *process, args []string) int {
	n := len(p.stdin)
	if len(args) == 2 && args[0] == "-c" {
		n, _ = strconv.Atoi(args[1])
	}
	p.out.Write(p.stdin[:min(n, len(p.stdin))])
	return 0
}

func progBase64(p *process, args []string) int {
	if !slices.Contains(args, "-d") {
		p.out.WriteString(base64.StdEncoding.EncodeToString(p.stdin))
		return 0
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(p.stdin)))
	if err != nil {
		fmt.Fprintln(&p.err, "base64: invalid input")
		return 1
	}
	p.out.Write(data)
	return 0
}
