package nodeos

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
)

// each opens the files that the arguments name, or the input, one after the other.
func (p *process) each(program string, names []string, do func(name string, r io.Reader) error) (status int) {
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		var err error
		if name == "-" {
			err = do(name, p.in)
		} else if file, oerr := p.files().stream(p.path(name), os.O_RDONLY, 0); oerr != nil {
			err = oerr
		} else {
			err = errors.Join(do(name, file), file.Close())
		}
		if err != nil {
			status = p.fail(program, name, err)
		}
	}
	return status
}

func progCat(p *process) int {
	_, names := p.options()
	return p.each("cat", names, func(_ string, r io.Reader) error {
		_, err := io.Copy(p.out, r)
		return err
	})
}

func progTee(p *process) int {
	letters, names := p.options()
	how, status := os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0
	if strings.Contains(letters, "a") {
		how = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	to := []io.Writer{p.out}
	var open []*stream
	for _, name := range names {
		file, err := p.files().stream(p.path(name), how, 0o644)
		if err != nil {
			status = p.fail("tee", name, err)
			continue
		}
		open, to = append(open, file), append(to, file)
	}
	_, err := io.Copy(io.MultiWriter(to...), p.in)
	for i, file := range open {
		err = errors.Join(err, file.Close())
		if err != nil {
			status = p.fail("tee", names[i], err)
		}
	}
	return status
}

// progWget is "wget [-q] [-O FILE] URL".
func progWget(p *process) int {
	var url, to string
	for i := 0; i < len(p.args); i++ {
		switch a := p.args[i]; {
		case a == "-O" && i+1 < len(p.args):
			i++
			to = p.args[i]
		case !strings.HasPrefix(a, "-"):
			url = a
		}
	}
	if url == "" {
		fmt.Fprintln(p.err, "wget: missing URL")
		return 1
	}
	if to == "" {
		to = path.Base(url)
	}
	answer, err := p.node.host.Fetch(url)
	if err != nil {
		fmt.Fprintf(p.err, "wget: %v\n", err)
		return 4
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		fmt.Fprintf(p.err, "ERROR %s.\n", answer.Status)
		return 8
	}
	file, err := p.files().stream(p.path(to), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return p.fail("wget", to, err)
	}
	_, err = io.Copy(file, answer.Body)
	if err = errors.Join(err, file.Close()); err != nil {
		return p.fail("wget", to, err)
	}
	return 0
}

func progLs(p *process) int {
	letters, names := p.options()
	if len(names) == 0 {
		names = []string{p.dir}
	}
	status := 0
	for _, name := range names {
		info, err := p.files().Stat(p.path(name))
		if err != nil {
			fmt.Fprintf(p.err, "ls: cannot access '%s': %s\n", name, reason(err))
			status = 2
			continue
		}
		list := []fs.FileInfo{info}
		if info.IsDir() && !strings.Contains(letters, "d") {
			if list, err = p.files().ReadDir(p.path(name)); err != nil {
				status = p.fail("ls", name, err)
			}
		}
		for _, i := range list {
			shown := i.Name()
			if !info.IsDir() || strings.Contains(letters, "d") {
				shown = name
			} else if strings.HasPrefix(shown, ".") && !strings.ContainsAny(letters, "aA") {
				continue
			}
			if strings.Contains(letters, "l") {
				shown = fmt.Sprintf("%s 1 root root %d %s %s", i.Mode(), i.Size(), i.ModTime().UTC().Format("Jan _2 15:04"), shown)
			}
			fmt.Fprintln(p.out, shown)
		}
	}
	return status
}

func progMkdir(p *process) int {
	letters, names := p.options()
	for _, name := range names {
		dirs := []string{p.path(name)}
		for strings.Contains(letters, "p") && path.Dir(dirs[0]) != dirs[0] {
			dirs = append([]string{path.Dir(dirs[0])}, dirs...)
		}
		for _, dir := range dirs {
			if info, err := p.files().Stat(dir); err == nil && info.IsDir() && strings.Contains(letters, "p") {
				continue
			}
			if err := p.files().Mkdir(dir, 0o755); err != nil {
				fmt.Fprintf(p.err, "mkdir: cannot create directory '%s': %s\n", name, reason(err))
				return 1
			}
		}
	}
	return 0
}

func progRm(p *process) int {
	letters, names := p.options()
	status := 0
	for _, name := range names {
		err := p.remove(p.path(name), strings.ContainsAny(letters, "rR"))
		if err != nil && !(errors.Is(err, fs.ErrNotExist) && strings.Contains(letters, "f")) {
			fmt.Fprintf(p.err, "rm: cannot remove '%s': %s\n", name, reason(err))
			status = 1
		}
	}
	return status
}

func (p *process) remove(name string, all bool) error {
	info, err := p.files().Stat(name)
	switch {
	case err != nil:
		return err
	case info.IsDir() && !all:
		return errors.New("Is a directory")
	case info.IsDir():
		list, err := p.files().ReadDir(name)
		for _, i := range list {
			err = errors.Join(err, p.remove(path.Join(name, i.Name()), all))
		}
		if err != nil {
			return err
		}
	}
	return p.files().Remove(name)
}

// target is where a file goes when it is moved or copied.
func (p *process) target(from, to string) string {
	if info, err := p.files().Stat(to); err == nil && info.IsDir() {
		return path.Join(to, path.Base(from))
	}
	return to
}

func progMv(p *process) int { return p.transfer("mv", p.files().Rename) }
func progCp(p *process) int { return p.transfer("cp", p.files().copy) }

func (p *process) transfer(program string, do func(old, name string) error) int {
	_, names := p.options()
	if len(names) < 2 {
		fmt.Fprintf(p.err, "%s: missing file operand\n", program)
		return 1
	}
	to := p.path(names[len(names)-1])
	for _, name := range names[:len(names)-1] {
		if err := do(p.path(name), p.target(name, to)); err != nil {
			return p.fail(program, name, err)
		}
	}
	return 0
}

func progChmod(p *process) int {
	if len(p.args) < 2 {
		fmt.Fprintln(p.err, "chmod: missing operand")
		return 1
	}
	for _, name := range p.args[1:] {
		info, err := p.files().Stat(p.path(name))
		if err != nil {
			fmt.Fprintf(p.err, "chmod: cannot access '%s': %s\n", name, reason(err))
			return 1
		}
		mode := info.Mode().Perm()
		if bits, err := strconv.ParseUint(p.args[0], 8, 12); err == nil {
			mode = fs.FileMode(bits)
		} else if p.args[0] == "+x" || p.args[0] == "a+x" {
			mode |= 0o111
		} else {
			fmt.Fprintf(p.err, "chmod: invalid mode: '%s'\n", p.args[0])
			return 1
		}
		if err := p.files().Chmod(p.path(name), mode); err != nil {
			return p.fail("chmod", name, err)
		}
	}
	return 0
}

func progTouch(p *process) int {
	for _, name := range p.args {
		file, err := p.files().OpenFile(p.path(name), os.O_WRONLY|os.O_CREATE, 0o644)
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			fmt.Fprintf(p.err, "touch: cannot touch '%s': %s\n", name, reason(err))
			return 1
		}
	}
	return 0
}
