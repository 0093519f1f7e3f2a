package nodeos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/proxplane/proxplane/pvesim"
)

// process is a program that runs.
type process struct {
	context.Context
	*shell
	args     []string
	in       io.Reader
	out, err io.Writer
	dir      string // the current one
}

// path is a file that an argument names.
func (p *process) path(arg string) string {
	if !path.IsAbs(arg) {
		arg = path.Join(p.dir, arg)
	}
	return path.Clean(arg)
}

// options takes the arguments that begin with a dash away; each letter of those is
// an option.
func (p *process) options() (letters string, rest []string) {
	for i, a := range p.args {
		switch {
		case a == "--":
			return letters, append(rest, p.args[i+1:]...)
		case strings.HasPrefix(a, "-") && a != "-":
			letters += strings.TrimLeft(a, "-")
		default:
			rest = append(rest, a)
		}
	}
	return letters, rest
}

// fail complains about a file as programs do, and is the exit status.
func (p *process) fail(program, what string, err error) int {
	fmt.Fprintf(p.err, "%s: %s: %s\n", program, what, reason(err))
	return 1
}

// reason is an error in the words of the C library.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "No such file or directory"
	case errors.Is(err, fs.ErrPermission):
		return "Permission denied"
	case errors.Is(err, fs.ErrExist):
		return "File exists"
	case errors.Is(err, pvesim.ErrNoRoom):
		return pvesim.ErrNoRoom.Error()
	}
	return err.Error()
}
