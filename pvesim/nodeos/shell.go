package nodeos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/term"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/proxplane/proxplane/host/ssh/sshserver"
)

// run runs what a client sent through the shell, and returns the exit status.
func (n *Node) run(ctx context.Context, user string, s sshserver.Session) int {
	sh := &shell{node: n, user: user}
	switch {
	case s.Text != "":
		return sh.script(ctx, strings.NewReader(s.Text), s.In, s.Out, s.Err, home(user), nil)
	case !s.Terminal:
		return sh.script(ctx, s.In, nil, s.Out, s.Err, home(user), nil)
	}
	return sh.interactive(ctx, s)
}

// shell runs scripts as a user. The language is bash's; what it runs are the
// programs of this package.
type shell struct {
	node *Node
	user string
}

func (sh *shell) files() *files { return &files{sh.node, sh.user} }

// runner is an interpreter that reaches nothing but the node.
func (sh *shell) runner(in io.Reader, out, errs io.Writer, dir string, args []string) (*interp.Runner, error) {
	r, err := interp.New(
		interp.Dir("/"), // which is there on this machine, too
		interp.Env(expand.ListEnviron("HOME="+home(sh.user), "USER="+sh.user, "LOGNAME="+sh.user, "SHELL=/bin/bash", "LANG=C.UTF-8",
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")),
		interp.StdIO(in, out, errs),
		interp.Params(append([]string{"--"}, args...)...),
		interp.CallHandler(call),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return sh.exec }),
		interp.OpenHandler(sh.open),
		interp.StatHandler(func(_ context.Context, name string, _ bool) (fs.FileInfo, error) { return sh.files().Stat(name) }),
		interp.AccessHandler(sh.access),
		interp.ReadDirHandler2(sh.readDir),
	)
	if err != nil {
		return nil, err
	}
	quoted, err := syntax.Quote(dir, syntax.LangBash)
	if err != nil {
		return nil, err
	}
	cd, err := syntax.NewParser().Parse(strings.NewReader("cd "+quoted), "")
	if err != nil {
		return nil, err
	}
	_ = r.Run(context.Background(), cd) // where it isn't there, one begins at the top
	return r, nil
}

// script runs commands, each when it has been read.
func (sh *shell) script(ctx context.Context, text, in io.Reader, out, errs io.Writer, dir string, args []string) int {
	r, err := sh.runner(in, out, errs, dir, args)
	if err != nil {
		fmt.Fprintln(errs, "bash:", err)
		return 2
	}
	status := 0
	for stmt, err := range syntax.NewParser().StmtsSeq(text) {
		if err != nil {
			fmt.Fprintln(errs, "bash:", err)
			return 2
		}
		status = sh.status(errs, r.Run(ctx, stmt))
		if r.Exited() {
			break
		}
	}
	return status
}

// status is the exit status of a command.
func (sh *shell) status(errs io.Writer, err error) int {
	var exit interp.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	}
	fmt.Fprintln(errs, "bash:", err)
	return 1
}

// interactive runs commands that somebody types at a terminal.
func (sh *shell) interactive(ctx context.Context, s sshserver.Session) int {
	sign := "$"
	if sh.user == "root" {
		sign = "#"
	}
	prompt := func(dir string) string {
		if dir == home(sh.user) {
			dir = "~"
		}
		return fmt.Sprintf("%s@%s:%s%s ", sh.user, sh.node.host.Name(), dir, sign)
	}
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{s.In, s.Out}, prompt(home(sh.user)))
	r, err := sh.runner(nil, t, t, home(sh.user), nil)
	status := 0
	for err == nil && (r == nil || !r.Exited()) {
		var line string
		if line, err = t.ReadLine(); err != nil {
			break
		}
		file, perr := syntax.NewParser().Parse(strings.NewReader(line), "")
		if perr != nil {
			fmt.Fprintln(t, "bash:", perr)
			status = 2
			continue
		}
		for _, stmt := range file.Stmts {
			if status = sh.status(t, r.Run(ctx, stmt)); r.Exited() {
				break
			}
		}
		t.SetPrompt(prompt(r.Dir))
	}
	return status
}

// call has questions about programs answered for those of the node.
func call(_ context.Context, args []string) ([]string, error) {
	if len(args) > 2 && args[0] == "command" && (args[1] == "-v" || args[1] == "-V") {
		return append([]string{"which"}, args[2:]...), nil
	}
	if len(args) > 1 && (args[0] == "type" || args[0] == "hash") {
		return append([]string{"which"}, args[1:]...), nil
	}
	return args, nil
}

// exec runs a program.
func (sh *shell) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	p := &process{Context: ctx, shell: sh, args: args[1:], in: hc.Stdin, out: hc.Stdout, err: hc.Stderr, dir: hc.Dir}
	if hc.Stdin == nil {
		p.in = strings.NewReader("")
	}
	status := sh.program(args[0])(p)
	if status != 0 {
		return interp.ExitStatus(status)
	}
	return nil
}

// program finds a program by its name or path.
func (sh *shell) program(name string) func(*process) int {
	base := path.Base(name)
	if prog := programs[base]; prog != nil && (name == base || strings.HasSuffix(path.Dir(name), "bin")) {
		return prog
	}
	return func(p *process) int {
		if name != base {
			fmt.Fprintf(p.err, "bash: line 1: %s: No such file or directory\n", name)
		} else {
			fmt.Fprintf(p.err, "bash: line 1: %s: command not found\n", name)
		}
		return 127
	}
}

// open opens a file for a redirection.
func (sh *shell) open(ctx context.Context, name string, flag int, perm fs.FileMode) (io.ReadWriteCloser, error) {
	if !path.IsAbs(name) {
		name = path.Join(interp.HandlerCtx(ctx).Dir, name)
	}
	file, err := sh.files().stream(path.Clean(name), flag, perm)
	if err != nil {
		return nil, &fs.PathError{Op: "bash: line 1:", Path: name, Err: errors.New(reason(err))}
	}
	return file, nil
}

func (sh *shell) access(_ context.Context, name string, mode interp.AccessMode) error {
	info, err := sh.files().Stat(name)
	switch {
	case err != nil:
		return err
	case mode&interp.AccessWrite != 0 && !sh.files().mayWrite(name), mode&interp.AccessExec != 0 && !info.IsDir() && info.Mode()&0o111 == 0:
		return fs.ErrPermission
	}
	return nil
}

func (sh *shell) readDir(_ context.Context, name string) ([]fs.DirEntry, error) {
	infos, err := sh.files().ReadDir(path.Clean(name))
	var list []fs.DirEntry
	for _, i := range infos {
		list = append(list, fs.FileInfoToDirEntry(i))
	}
	return list, err
}

// stream opens a file that is read or written from its beginning, or from its end.
func (f *files) stream(name string, flag int, perm fs.FileMode) (*stream, error) {
	s := &stream{}
	if flag&os.O_APPEND != 0 {
		if info, err := f.Stat(name); err == nil {
			s.at = info.Size()
		}
	}
	var err error
	s.File, err = f.OpenFile(name, flag&^os.O_APPEND, perm)
	return s, err
}
