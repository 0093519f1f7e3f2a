// Package tool builds public programs from their Go modules, for tests that need
// the real thing.
//
// A folder with a go.mod and a tool.json says which. What was built is kept in a
// cache outside of the checkout (PROXPLANE_TOOLS, by default proxplane/tools in
// the user's cache folder), once for each version.
package tool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// Set is some programs that are built together.
type Set struct {
	Name     string            `json:"name"`     // for people
	Module   string            `json:"module"`   // whose version it is
	Programs map[string]string `json:"programs"` // packages by the programs' names
	LDFlags  string            `json:"ldflags"`  // VERSION stands for the version
	CGO      bool              `json:"cgo"`      // needs a C compiler, and runs with this machine's libraries
	Takes    string            `json:"takes"`    // how long, for people

	Version string `json:"-"` // without the v
	Bin     string `json:"-"` // the folder with the programs
	dir     string
}

// Open reads what a folder says. Nothing is built.
func Open(ctx context.Context, dir string) (*Set, error) { return OpenAs(ctx, dir, "") }

// OpenAs does the same for programs that say of their version that it has something behind it, as
// those of distributions do: "+rke2r1".
func OpenAs(ctx context.Context, dir, suffix string) (*Set, error) {
	s := &Set{dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, "tool.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("read %s/tool.json: %w", dir, err)
	}
	cmd := s.goCommand(ctx, "list", "-m", "-f", "{{.Version}}", s.Module)
	cmd.Stderr = os.Stderr
	version, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("find the version of %s: %w", s.Module, err)
	}
	s.Version = strings.TrimPrefix(string(bytes.TrimSpace(version)), "v")
	s.LDFlags = strings.ReplaceAll(s.LDFlags, "VERSION", "v"+s.Version+suffix)
	print, err := s.fingerprint()
	if err != nil {
		return nil, err
	}
	cache, err := cacheFolder()
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s.Bin = filepath.Join(cache, fmt.Sprintf("%s-%s-%s", filepath.Base(abs), s.Version, print))
	return s, nil
}

// Only is the set with some of its programs, for those who need no others.
func (s *Set) Only(names ...string) *Set {
	out := *s
	out.Programs = maps.Clone(s.Programs)
	maps.DeleteFunc(out.Programs, func(name, _ string) bool { return !slices.Contains(names, name) })
	return &out
}

// Path is where a program is, or will be when it is built.
func (s *Set) Path(program string) string { return filepath.Join(s.Bin, program) }

// Built reports whether all programs are there.
func (s *Set) Built() bool { return len(s.missing()) == 0 }

func (s *Set) missing() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.Programs)), func(name string) bool {
		_, err := os.Stat(s.Path(name))
		return err == nil
	})
}

// Build builds what isn't there yet, and says so. Of several processes that need the set one builds it, and the others wait.
func (s *Set) Build(ctx context.Context, say io.Writer) error {
	if s.Built() {
		return nil
	}
	if err := os.MkdirAll(s.Bin, 0o755); err != nil {
		return err
	}
	unlock, err := lockedfile.MutexAt(s.Bin + ".lock").Lock()
	if err != nil {
		return fmt.Errorf("wait for another build of %s: %w", s.Name, err)
	}
	defer unlock()
	missing := s.missing()
	if len(missing) == 0 {
		return nil
	}
	fmt.Fprintf(say, "building %s %s from its Go module: %s, once\n", s.Name, s.Version, s.Takes)
	began := time.Now()
	since := func() time.Duration { return time.Since(began).Round(time.Second) }
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(30 * time.Second):
				fmt.Fprintf(say, "  still building %s (%s)\n", s.Name, since())
			}
		}
	}()
	for _, name := range missing {
		if err := s.build(ctx, name); err != nil {
			return err
		}
	}
	fmt.Fprintf(say, "  built %s in %s\n", s.Name, since())
	return nil
}

func (s *Set) build(ctx context.Context, name string) error {
	// Another name until it is whole: an interrupted build leaves nothing that
	// looks like the program.
	partial := fmt.Sprintf("%s.%d", s.Path(name), os.Getpid())
	// Without -trimpath, as tests are compiled: what both need is then compiled once.
	cmd := s.goCommand(ctx, "build", "-ldflags", "-s -w "+s.LDFlags, "-o", partial, s.Programs[name])
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("build %s: %w\n%s", name, err, out), os.RemoveAll(partial))
	}
	return os.Rename(partial, s.Path(name))
}

func (s *Set) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = s.dir
	cgo := "0"
	if s.CGO {
		cgo = "1"
	}
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo, "GOWORK=off")
	return cmd
}

// fingerprint changes with anything that the build depends on.
func (s *Set) fingerprint() (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH, s.LDFlags)
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			return "", err
		}
		sum.Write(data)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:4]), nil
}

// cacheFolder is where built programs are kept. It is absolute, since builds run
// in other folders.
func cacheFolder() (string, error) {
	dir := os.Getenv("PROXPLANE_TOOLS")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no cache folder (set PROXPLANE_TOOLS): %w", err)
		}
		dir = filepath.Join(cache, "proxplane", "tools")
	}
	return filepath.Abs(dir)
}
