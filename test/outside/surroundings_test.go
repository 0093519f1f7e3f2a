package outside_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/proxplane/proxplane/test/kit/need"
	"github.com/proxplane/proxplane/test/kit/outside"
)

func without(env []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(names, name)
	})
}

// proxplane keeps nothing on this side, so that it matters little where it runs.
func TestItNeedsNoHomeAndNoPlaceToWrite(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write("first.yaml")
	file := filepath.Join(l.tmp, "file")
	l.must(os.WriteFile(file, nil, 0o600))
	for _, c := range []struct {
		reason string
		change func(*outside.Command)
	}{
		{"without a home", func(c *outside.Command) { c.Env = without(c.Env, "HOME") }},
		{"with a home that isn't there", func(c *outside.Command) { c.Env = append(without(c.Env, "HOME"), "HOME=/nowhere/at/all") }},
		{"with a home that is a file", func(c *outside.Command) { c.Env = append(without(c.Env, "HOME"), "HOME="+file) }},
		{"in a folder that nobody can write to", func(c *outside.Command) { c.Dir = "/proc" }},
		{"in a folder that is gone", func(c *outside.Command) {
			gone := filepath.Join(l.tmp, "gone")
			l.must(os.Mkdir(gone, 0o700))
			c.Dir, c.Args = gone, slices.Concat([]string{"-c", `rmdir "$PWD" && exec "$0" "$@"`, c.Program}, c.Args)
			c.Program = "/bin/sh"
		}},
	} {
		apply := l.apply(shop)
		c.change(&apply)
		if r := l.start(apply).Wait(); r.Code != 0 {
			t.Fatalf("%s: %v", c.reason, r)
		}
	}
	l.settled(shop, firstWishes()...)
	l.must(os.Remove(file))
	for _, dir := range []string{l.home, l.tmp} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left in %s: %v, %v", dir, left, err)
		}
	}
	if left, err := os.ReadDir(l.folder); err != nil || len(left) != 1 {
		t.Errorf("there is more than the manifests: %v, %v", left, err)
	}
}

// Temporary files are needed for first-boot data only: the others are made, and
// what can't be done is said.
func TestAFullDiskStopsOnlyWhatNeedsIt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write("first.yaml")
	apply := l.apply(shop, "--timeout", "5s")
	fullDisk(&apply, "size=4k,nr_inodes=1")
	r := l.start(apply).Wait()
	needMount(t, r)
	if r.Code != 1 || !strings.Contains(r.Stdout, "virtualmachine/db") && !strings.Contains(r.Stdout, "vm/db") {
		t.Errorf("want exit status 1 and what is wrong with db, have %v", r)
	}
	if !strings.Contains(r.Said(), "no space left on device") {
		t.Errorf("it isn't said why: %v", r)
	}
	l.sound(firstWishes()...)
	l.succeeds(l.apply(shop))
	l.settled(shop, firstWishes()...)
}

// Where files can still be made, nothing is written into them: what they would hold
// is secret.
func TestADiskWithoutRoomStopsNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write("first.yaml")
	apply := l.apply(shop)
	fullDisk(&apply, "size=4k")
	r := l.start(apply).Wait()
	needMount(t, r)
	if r.Code != 0 {
		t.Error(r)
	}
	l.settled(shop, firstWishes()...)
}

// needMount skips what needs a file system of its own.
func needMount(t *testing.T, r outside.Result) {
	t.Helper()
	if strings.Contains(r.Stderr, "unshare") {
		need.None(t, fmt.Errorf("a file system can't be mounted here: %s", r.Stderr))
	}
}

// fullDisk has a command run with a directory for temporary files in which there is
// no room, on a file system that only it can see.
func fullDisk(c *outside.Command, options string) {
	script := `mount -t tmpfs -o ` + options + ` tmpfs "$TMPDIR" || { echo unshare: no tmpfs >&2; exit 77; }; exec "$0" "$@"`
	c.Args = slices.Concat([]string{"--mount", "--map-root-user", "/bin/sh", "-c", script, c.Program}, c.Args)
	c.Program = "unshare"
	c.Env = append(c.Env, "PATH="+os.Getenv("PATH"))
}

func TestOutputThatNobodyTakesHarmsNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write("first.yaml")

	// As with "| head -1": the reader goes after the first line.
	r, w, err := os.Pipe()
	l.must(err)
	apply := l.apply(shop, "-o", "json")
	apply.Stdout = w
	p := l.start(apply)
	l.must(w.Close())
	if n, err := r.Read(make([]byte, 1)); n != 1 {
		t.Fatal(err)
	}
	l.must(r.Close())
	if res := p.Wait(); res.Signal != syscall.SIGPIPE || strings.Contains(res.Stderr, "goroutine") {
		t.Errorf("want an end by SIGPIPE, as of other programs, have %v", res)
	}

	// A full disk where the output goes: said at once, before anything is done.
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	l.must(err)
	defer full.Close()
	apply = l.apply(shop)
	apply.Stdout = full
	if res := l.start(apply).Wait(); res.Code != 1 || !strings.Contains(res.Stderr, "no space left on device") {
		t.Errorf("want exit status 1 and the reason, have %v", res)
	}

	// No output at all (>&- 2>&-).
	apply = l.apply(shop)
	apply.Args = slices.Concat([]string{"-c", `exec "$0" "$@" >&- 2>&- <&-`, apply.Program}, apply.Args)
	apply.Program = "/bin/sh"
	l.succeeds(apply)
	l.settled(shop, firstWishes()...)
}
