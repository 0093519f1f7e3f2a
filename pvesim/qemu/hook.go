//go:build linux

package qemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"

	"github.com/proxplane/proxplane/pvesim"
)

// root is the folder that stands for the root directory of a node, for
// hookscripts: they find its name in PROXPLANE_ROOT.
func (b *Backend) root(node string) string { return filepath.Join(b.dir, "nodes", node) }

// onNode are the paths in "args" that a hookscript makes on its node.
var onNode = regexp.MustCompile(`(^|[=,])(/run/proxplane/|/run/virtiofs/|/etc/pve/)`)

// located puts the paths of a node in a word of "args" where they are here.
func (b *Backend) located(node, word string) string {
	return onNode.ReplaceAllString(word, "${1}"+b.root(node)+"${2}")
}

// Hook runs a script. Its own folder stands for the node's root directory,
// as far as it looks for what a hookscript needs.
func (b *Backend) Hook(ctx context.Context, h *pvesim.Hook) (string, error) {
	root := b.root(h.Node)
	if err := b.layOut(root, h); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(root, h.Script), strconv.Itoa(h.VMID), h.Phase)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "PROXPLANE_ROOT="+root)
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = fmt.Errorf("exit code %d", exit.ExitCode())
	}
	return string(out), err
}

// layOut puts into a node's folder what a script finds there. Other guests of the node may
// start at the same time.
func (b *Backend) layOut(root string, h *pvesim.Hook) error {
	b.nodes.Lock()
	defer b.nodes.Unlock()
	for path, text := range h.Texts {
		if err := replaceFile(filepath.Join(root, path), func(tmp string) error { return os.WriteFile(tmp, []byte(text), 0o600) }); err != nil {
			return err
		}
	}
	for path, file := range h.Files {
		// Scripts may call others, and nothing else among snippets minds.
		program := filepath.Dir(path) == filepath.Dir(h.Script)
		if err := replaceFile(filepath.Join(root, path), func(tmp string) error { return linkFile(file, tmp, program) }); err != nil {
			return err
		}
	}
	return nil
}

// replaceFile puts a file into the place of another.
func replaceFile(path string, write func(tmp string) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp := path + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := write(tmp); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// linkFile makes a file appear under another name; a program can be run.
func linkFile(from, to string, program bool) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !program || info.Mode()&0o100 != 0 {
		if os.Link(from, to) == nil {
			return nil
		}
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	mode := os.FileMode(0o644)
	if program {
		mode = 0o755
	}
	// A process that is started meanwhile would have the file open for a moment longer than
	// we do, and no program can be run that somebody writes to.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
