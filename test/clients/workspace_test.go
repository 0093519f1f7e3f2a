package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// workspace is a folder with the configuration in which tofu runs.
type workspace struct {
	dir    string
	tofu   string
	env    []string
	counts changes
}

// changes is what the applies of a workspace did.
type changes struct{ added, changed, destroyed int }

func (c changes) String() string {
	return fmt.Sprintf("%d created, %d changed, %d destroyed", c.added, c.changed, c.destroyed)
}

// newWorkspace copies the configuration into a workspace.
func newWorkspace(t *testing.T, tofu, provider, providerVersion string) *workspace {
	t.Helper()
	w := emptyWorkspace(t, tofu, provider, providerVersion)
	files, err := filepath.Glob(filepath.Join("terraform", "*.tf*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range files {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		w.write(t, filepath.Base(from), string(data))
	}
	return w
}

// emptyWorkspace installs the provider from a mirror on disk, where `tofu init` finds it under the
// name in main.tf.
func emptyWorkspace(t *testing.T, tofu, provider, providerVersion string) *workspace {
	t.Helper()
	w := &workspace{dir: t.TempDir(), tofu: tofu}
	mirror := t.TempDir()
	target := filepath.Join(mirror, "mirror.test", "bpg", "proxmox", providerVersion, runtime.GOOS+"_"+runtime.GOARCH)
	if err := os.MkdirAll(target, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(provider, filepath.Join(target, "terraform-provider-proxmox_v"+providerVersion)); err != nil {
		t.Fatal(err)
	}
	rc := w.write(t, "tofurc", fmt.Sprintf("disable_checkpoint = true\nprovider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror))
	// Nothing of the user's own configuration of either tool gets in.
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TF_") && !strings.HasPrefix(v, "PROXMOX_") && !strings.HasPrefix(v, "PM_") {
			w.env = append(w.env, v)
		}
	}
	w.env = append(w.env, "HOME="+w.dir, "TMPDIR="+t.TempDir(), "TF_CLI_CONFIG_FILE="+rc, "TF_IN_AUTOMATION=1", "TF_INPUT=0", "TF_CLI_ARGS=-no-color", "CHECKPOINT_DISABLE=1")
	return w
}

// write puts a file into the workspace.
func (w *workspace) write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var applied = regexp.MustCompile(`Resources: (\d+) added, (\d+) changed, (\d+) destroyed|Resources: (\d+) destroyed`)

// run runs a tofu command and gives its output and exit status.
func (w *workspace) run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	say("  tofu %s", strings.Join(args, " "))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.tofu, args...)
	// tofu stops its providers when it is interrupted.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	cmd.Dir, cmd.Env = w.dir, w.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("tofu %s: %v\n%s", args[0], err, out.String())
	}
	if m := applied.FindStringSubmatch(out.String()); m != nil {
		w.counts.added += number(m[1])
		w.counts.changed += number(m[2])
		w.counts.destroyed += number(m[3]) + number(m[4])
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// must runs a tofu command that has to succeed.
func (w *workspace) must(t *testing.T, args ...string) string {
	t.Helper()
	out, code := w.run(t, args...)
	if code != 0 {
		t.Fatalf("tofu %s: exit status %d\n%s", args[0], code, out)
	}
	return out
}

// expectSettled plans again: nothing may be left to do.
func (w *workspace) expectSettled(t *testing.T, args ...string) {
	t.Helper()
	out, code := w.run(t, append([]string{"plan", "-detailed-exitcode"}, args...)...)
	switch code {
	case 0:
	case 2:
		t.Errorf("the plan after an apply is not empty:\n%s", out)
	default:
		t.Fatalf("tofu plan: exit status %d\n%s", code, out)
	}
}

// outputs reads the configuration's outputs.
func (w *workspace) outputs(t *testing.T) map[string]any {
	t.Helper()
	var raw map[string]struct{ Value any }
	if err := json.Unmarshal([]byte(w.must(t, "output", "-json")), &raw); err != nil {
		t.Fatalf("decode the outputs: %v", err)
	}
	values := map[string]any{}
	for name, o := range raw {
		values[name] = o.Value
	}
	return values
}
