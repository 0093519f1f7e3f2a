package guest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/proxplane/proxplane/terraform"
	"github.com/proxplane/proxplane/test/kit/tool"
)

var withTofu = flag.Bool("tofu", false, "make guests with OpenTofu and the module too, which builds it once")

// buildTofu finds or builds OpenTofu, and builds the provider.
var buildTofu = sync.OnceValues(func() (programs struct{ tofu, folder string }, err error) {
	ctx := context.Background()
	set, err := tool.Open(ctx, "../clients/tofu")
	if err == nil {
		err = set.Build(ctx, os.Stderr)
	}
	if err != nil {
		return programs, err
	}
	programs.tofu = set.Path("tofu")
	if programs.folder, err = os.MkdirTemp(labs, "provider"); err != nil {
		return programs, err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", programs.folder, "../../cmd/terraform-provider-proxplane")
	cmd.Stderr = os.Stderr
	return programs, cmd.Run()
})

// workspace is a copy of an example for Terraform, as people have it.
type workspace struct {
	*lab
	tofu, dir string
	env       []string
}

// example copies one, and changes texts in its files: what this lab has otherwise than people.
func (l *lab) example(name string, changes ...string) *workspace {
	l.t.Helper()
	programs, err := buildTofu()
	if err != nil {
		l.t.Fatal(err)
	}
	top := filepath.Join(l.dir, "terraform")
	w := &workspace{lab: l, tofu: programs.tofu, dir: filepath.Join(top, "examples", "terraform", name)}
	for to, from := range map[string]string{filepath.Join(top, "modules"): "../../modules", w.dir: "../../examples/terraform/" + name} {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			l.t.Fatal(err)
		}
	}
	w.change(changes)
	rc := filepath.Join(top, "tofurc")
	l.write(rc, fmt.Sprintf("provider_installation {\n  dev_overrides {\n    %q = %q\n  }\n  direct {}\n}\n", terraform.Address, programs.folder))
	w.env = append(os.Environ(), "HOME="+top, "TF_CLI_CONFIG_FILE="+rc, "TF_IN_AUTOMATION=1", "TF_INPUT=0", "TF_CLI_ARGS=-no-color",
		"TF_VAR_pm_api_url="+l.endpoint+"/api2/json", "TF_VAR_pm_password="+password, "TF_VAR_target_node=pve1")
	w.run("get")
	return w
}

// change replaces texts in all files; each has to be there.
func (w *workspace) change(texts []string) {
	w.t.Helper()
	for i := 0; i < len(texts); i += 2 {
		found := false
		files, _ := filepath.Glob(filepath.Join(w.dir, "*"))
		inside, _ := filepath.Glob(filepath.Join(w.dir, "butane.d", "*"))
		for _, name := range append(files, inside...) {
			text, err := os.ReadFile(name)
			if err != nil || !strings.Contains(string(text), texts[i]) {
				continue // a folder
			}
			found = true
			w.write(name, strings.ReplaceAll(string(text), texts[i], texts[i+1]))
		}
		if !found {
			w.t.Fatalf("the example has no %q", texts[i])
		}
	}
}

// run runs OpenTofu, which must succeed.
func (w *workspace) run(args ...string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2**patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.tofu, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("tofu %s: %v\n%s", strings.Join(args, " "), err, strings.ReplaceAll(string(out), password, "…"))
	}
	return string(out)
}

// make applies the example, whose second plan is empty.
func (w *workspace) make() {
	w.t.Helper()
	w.run("apply", "-auto-approve")
	w.run("plan", "-detailed-exitcode")
}

// withoutTofu skips a test that needs it.
func withoutTofu(t *testing.T) {
	t.Helper()
	if !*withTofu {
		t.Skip("makes guests with OpenTofu: make test-guest")
	}
}
