package clients

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// tool is a public program that is built from its Go module.
type tool struct {
	name    string // for people
	dir     string // the folder with its go.mod
	module  string
	pkg     string
	ldflags string
	takes   string
}

var (
	tofu = tool{
		name: "OpenTofu", dir: "tofu",
		module: "github.com/opentofu/opentofu", pkg: "github.com/opentofu/opentofu/cmd/tofu",
		ldflags: "-X github.com/opentofu/opentofu/version.dev=no",
		takes:   "about 6 minutes on two cores",
	}
	bpg = tool{
		name: "the bpg/proxmox provider", dir: "bpg",
		module: "github.com/bpg/terraform-provider-proxmox", pkg: "github.com/bpg/terraform-provider-proxmox",
		takes: "about a minute on two cores",
	}
)

// build gives the tool's path and version, from the cache when it is there.
func (tl tool) build(t *testing.T) (path, version string) {
	t.Helper()
	version = strings.TrimPrefix(moduleVersion(t, tl.dir, tl.module), "v")
	path = filepath.Join(toolCache(t), fmt.Sprintf("%s-%s-%s", tl.dir, version, tl.fingerprint(t)), filepath.Base(tl.pkg))
	if _, err := os.Stat(path); err == nil {
		return path, version
	}
	say("building %s %s from its Go module: %s, once", tl.name, version, tl.takes)
	began := time.Now()
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(30 * time.Second):
				say("  still building %s (%s)", tl.name, time.Since(began).Round(time.Second))
			}
		}
	}()
	// Another name until it is whole: an interrupted build leaves nothing that
	// looks like the tool.
	partial := fmt.Sprintf("%s.%d", path, os.Getpid())
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w "+tl.ldflags, "-o", partial, tl.pkg)
	cmd.Dir = tl.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", tl.name, err, out)
	}
	if err := os.Rename(partial, path); err != nil {
		t.Fatal(err)
	}
	say("  built %s in %s", tl.name, time.Since(began).Round(time.Second))
	return path, version
}

// fingerprint changes with anything that the build depends on.
func (tl tool) fingerprint(t *testing.T) string {
	t.Helper()
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH, tl.ldflags)
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(tl.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(data)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:4])
}

// moduleVersion reads which version of a module a folder's go.mod asks for.
func moduleVersion(t *testing.T, dir, module string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", module)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("find the version of %s: %v", module, err)
	}
	return string(bytes.TrimSpace(out))
}

// toolCache is where built tools are kept, outside of the checkout.
func toolCache(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("PROXPLANE_TOOLS")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatalf("no cache folder (set PROXPLANE_TOOLS): %v", err)
		}
		dir = filepath.Join(cache, "proxplane", "tools")
	}
	// The builds run in other folders.
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
