//go:build linux

package hook

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/proxplane/proxplane/test/kit/need"
)

func TestAPolicyThatOthersCanWriteIsNone(t *testing.T) {
	other := 65534
	for _, c := range []struct {
		reason string
		root   bool // needed to set it up
		spoil  func(l *lab, file, dir string) error
		want   string
	}{
		{"the file belongs to somebody", true, func(_ *lab, file, _ string) error { return os.Chown(file, other, 0) }, "belongs to user 65534"},
		{"the file can be written by its group", false, func(_ *lab, file, _ string) error { return os.Chmod(file, 0o664) }, "may write to it (mode 0664)"},
		{"the file can be written by all", false, func(_ *lab, file, _ string) error { return os.Chmod(file, 0o646) }, "may write to it (mode 0646)"},
		{"the folder belongs to somebody", true, func(_ *lab, _, dir string) error { return os.Chown(dir, other, 0) }, "belongs to user 65534"},
		{"the folder can be written by all", false, func(_ *lab, _, dir string) error { return os.Chmod(dir, 0o777) }, "may write to it (mode 0777)"},
		{"the folder above it can be", false, func(_ *lab, _, dir string) error { return os.Chmod(filepath.Dir(dir), 0o775) }, "may write to it (mode 0775)"},
		{"a link to somebody's file", true, func(l *lab, file, _ string) error {
			theirs, err := l.linkHome(file)
			return errors.Join(err, os.Chown(theirs, other, 0))
		}, "belongs to user 65534"},
		{"a link into somebody's folder", true, func(l *lab, file, _ string) error {
			theirs, err := l.linkHome(file)
			return errors.Join(err, os.Chown(filepath.Dir(theirs), other, 0))
		}, "belongs to user 65534"},
		{"a link in a folder that all can write", false, func(l *lab, file, dir string) error {
			roots := l.write("root/hook.yaml", 0o644, "rules: [{vms: [all], scripts: ['local:snippets/a']}]")
			if err := replace(file, func() error { return os.Symlink(roots, file) }); err != nil {
				return err
			}
			return os.Chmod(dir, 0o777)
		}, "etc/proxplane isn't trusted: others than root may write to it (mode 0777)"},
		{"somebody's link in a folder for everybody", true, func(l *lab, file, dir string) error {
			roots := l.write("root/hook.yaml", 0o644, "rules: [{vms: [all], scripts: ['local:snippets/a']}]")
			if err := replace(file, func() error { return os.Symlink("../../root/"+filepath.Base(roots), file) }); err != nil {
				return err
			}
			return errors.Join(os.Lchown(file, other, 0), os.Chmod(dir, 0o777|fs.ModeSticky))
		}, "hook.yaml isn't trusted: it belongs to user 65534"},
		{"a link to itself", false, func(_ *lab, file, _ string) error {
			return replace(file, func() error { return os.Symlink(filepath.Base(file), file) })
		}, "too many levels of symbolic links"},
		{"a folder", false, func(_ *lab, file, _ string) error {
			return replace(file, func() error { return os.Mkdir(file, 0o755) })
		}, "no plain file"},
		{"too large", false, func(_ *lab, file, _ string) error { return os.Truncate(file, 2<<20) }, "more than 1048576"},
		{"not YAML", false, func(_ *lab, file, _ string) error { return os.WriteFile(file, []byte("rules: {"), 0o644) }, "can't be used"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if c.root {
				need.Root(t)
			}
			l := newLab(t)
			runsScript(l)
			file := l.path("etc/proxplane/hook.yaml")
			refusedOnce(l, c.spoil(l, file, filepath.Dir(file)), c.want)
		})
	}
}

// runsScript has VM 100 run a script that it may run.
func runsScript(l *lab) {
	l.Helper()
	l.allow("  scripts: ['local:snippets/a']")
	l.script("a", "")
	l.vm(100, block("hook-script: local:snippets/a"))
	l.must(100, PreStart)
	l.calls()
}

// refusedOnce checks that a VM doesn't start once something is spoilt, and that nothing was run.
func refusedOnce(l *lab, spoilt error, want string) {
	l.Helper()
	if spoilt != nil {
		l.Fatal(spoilt)
	}
	l.refused(100, "refused", want)
	if got := l.calls(); got != "" {
		l.Errorf("called %s", got)
	}
}

// linkHome makes a file a link to a copy of it in another folder.
func (l *lab) linkHome(file string) (to string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	to = l.write("home/"+filepath.Base(file), 0o644, string(text))
	return to, replace(file, func() error { return os.Symlink(to, file) })
}

// replace puts something else in the place of a file.
func replace(file string, with func() error) error {
	if err := os.Remove(file); err != nil {
		return err
	}
	return with()
}

func TestScriptsThatOthersCanWriteDoNotRun(t *testing.T) {
	need.Root(t)
	for reason, spoil := range map[string]func(l *lab, file string) error{
		"it can be written":      func(_ *lab, file string) error { return os.Chmod(file, 0o775) },
		"it belongs to somebody": func(_ *lab, file string) error { return os.Chown(file, 65534, 0) },
		"its folder can be":      func(_ *lab, file string) error { return os.Chmod(filepath.Dir(file), 0o777) },
		"it is a link to one": func(l *lab, file string) error {
			theirs := l.write("home/a", 0o777, "#!/bin/sh\ntouch "+l.path("calls")+"\n")
			return replace(file, func() error { return os.Symlink(theirs, file) })
		},
		"it is a link in a folder that can be": func(l *lab, file string) error {
			roots := l.write("root/a", 0o755, "#!/bin/sh\ntouch "+l.path("calls")+"\n")
			if err := replace(file, func() error { return os.Symlink(roots, file) }); err != nil {
				return err
			}
			return os.Chmod(filepath.Dir(file), 0o777)
		},
		"its storage is a link into somebody's folder": func(l *lab, file string) error {
			dir := filepath.Dir(file)
			theirs := l.path("home/snippets")
			if err := os.MkdirAll(filepath.Dir(theirs), 0o755); err != nil {
				return err
			}
			if err := os.Rename(dir, theirs); err != nil {
				return err
			}
			if err := os.Chown(theirs, 65534, 0); err != nil {
				return err
			}
			return os.Symlink(theirs, dir)
		},
	} {
		t.Run(reason, func(t *testing.T) {
			l := newLab(t)
			runsScript(l)
			refusedOnce(l, spoil(l, l.path("var/lib/vz/snippets/a")), "isn't trusted")
		})
	}
}

func TestLinksOfRootAreFollowed(t *testing.T) {
	l := newLab(t)
	l.allow("  scripts: ['local:snippets/a']")
	l.script("real", "")
	for link, to := range map[string]string{
		"var/lib/vz/snippets/a": "../snippets/./b", "var/lib/vz/snippets/b": l.path("var/lib/vz/snippets/real"),
	} {
		if err := os.Symlink(to, l.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"etc/proxplane", "var/lib/vz"} {
		if err := os.Rename(l.path(dir), l.path(dir+"-moved")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Base(dir)+"-moved", l.path(dir)); err != nil {
			t.Fatal(err)
		}
	}
	l.vm(100, block("hook-script: local:snippets/a"))
	l.must(100, PreStart)
	if got := l.calls(); got != "real 100 pre-start" {
		t.Errorf("called %s", got)
	}
}
