package guestos

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

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

// progMv renames a file.
func progMv(p *process, args []string) int {
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
	if len(args) != 2 {
		fmt.Fprintln(&p.err, "mv: want a file and its new name")
		return 1
	}
	data, err := p.guest.Read(args[0])
	if err == nil {
		err = p.guest.Write(args[1], data, false)
	}
	if err != nil {
		fmt.Fprintf(&p.err, "mv: cannot move '%s' to '%s': %s\n", args[0], args[1], err)
		return 1
	}
	delete(p.guest.Files, path.Clean(args[0]))
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

// progTail knows -n N and -c +N.
func progTail(p *process, args []string) int {
	text, rest := p.stdin, args
	if n := len(args); n > 0 && strings.HasPrefix(args[n-1], "/") {
		data, err := p.guest.Read(args[n-1])
		if err != nil {
			fmt.Fprintf(&p.err, "tail: cannot open '%s' for reading: %s\n", args[n-1], err)
			return 1
		}
		text, rest = data, args[:n-1]
	}
	var from int
	if len(rest) == 2 && rest[0] == "-c" {
		_, _ = fmt.Sscanf(rest[1], "+%d", &from)
		text = text[min(max(0, from-1), len(text)):]
	}
	p.out.Write(text)
	return 0
}

// makeDirs makes a folder with those above it.
func (g *Guest) makeDirs(dir string) {
	for d := path.Clean(dir); d != "/" && d != "." && !g.isDir(d); d = path.Dir(d) {
		g.Dirs[d] = true
	}
}

func progSHA256Sum(p *process, args []string) int {
	code := 0
	for _, file := range args {
		data, err := p.guest.Read(file)
		if err != nil {
			fmt.Fprintf(&p.err, "sha256sum: %s: %s\n", file, err)
			code = 1
			continue
		}
		fmt.Fprintf(&p.out, "%x  %s\n", sha256.Sum256(data), file)
	}
	return code
}
