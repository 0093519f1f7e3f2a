package crds_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/need"
)

// refused is what kube-apiserver says of definitions, without a server: the checks are its own.
func refused(t *testing.T, files ...string) string {
	t.Helper()
	programs, err := controlplane.Programs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !programs.Built() {
		need.None(t, errors.New("the Kubernetes to test with isn't built yet; make controlplane does it once, in some minutes"))
	}
	for i, f := range files {
		if files[i], err = filepath.Abs(f); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"run", "./checkcrds"}, files...)...)
	cmd.Dir = "../../test/kit/controlplane/kubernetes"
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	out, err := cmd.Output()
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed) && failed.ExitCode() == 1 && len(out) > 0:
	case errors.As(err, &failed):
		t.Fatalf("%v: %s", err, failed.Stderr)
	case err != nil:
		t.Fatal(err)
	}
	return string(out)
}

// Rules in CEL have a budget: a list or text without an upper limit makes them too expensive, and the API server
// refuses the definition.
func TestKubernetesTakesAllDefinitions(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no definitions", err)
	}
	more, err := filepath.Glob("*/*_*.yaml")
	if err != nil || len(more) == 0 {
		t.Fatal("no definitions of other doors", err)
	}
	files = append(files, more...)
	if out := refused(t, files...); out != "" {
		t.Errorf("refused:\n%s", out)
	}
}

func TestRulesThatCostTooMuchAreFound(t *testing.T) {
	text, err := os.ReadFile("testdata/expensive.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"lists without a limit", "a == b", "a == b", "cost"},
		{"fields that aren't there", "self.names.all", "self.name.all", "undefined field 'name'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "crd.yaml")
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), c.old, c.new)), 0o600); err != nil {
				t.Fatal(err)
			}
			if out := refused(t, file); !strings.Contains(out, c.want) {
				t.Errorf("got %q, want something with %q", out, c.want)
			}
		})
	}
}
