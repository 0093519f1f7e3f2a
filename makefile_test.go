package proxplane_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// On an empty machine, "make test" runs what needs no Kubernetes before it builds one: a test that needs it fails there if it isn't among
// those that come afterwards.
func TestWhatNeedsAKubernetesIsTestedAfterItIsBuilt(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var later []string
	for _, name := range []string{"WITH_KUBERNETES", "SLOW"} {
		m := regexp.MustCompile(`(?m)^` + name + ` = (.*)$`).FindSubmatch(makefile)
		if m == nil {
			t.Fatalf("Makefile has no %s", name)
		}
		later = append(later, strings.Fields(string(m[1]))...)
	}
	needs := map[string]bool{}
	for _, f := range sources(t) {
		for _, i := range f.tree.Imports {
			switch strings.Trim(i.Path.Value, `"`) {
			case module + "test/kit/controlplane", module + "test/kit/installed":
				needs["./"+f.pkg] = needs["./"+f.pkg] || f.test
			}
		}
	}
	if !needs["./test/operator"] {
		t.Fatalf("only these were found: %v", needs)
	}
	for pkg, tested := range needs {
		if tested && !slices.Contains(later, pkg) {
			t.Errorf("tests of %s need a Kubernetes, and the Makefile runs them before it is built: add it to WITH_KUBERNETES", pkg)
		}
	}
}

// Most of what a Kubernetes takes to build is compiled for proxplane as well: it is compiled once as long as both want the same versions.
func TestAKubernetesIsBuiltOfTheModulesThatProxplaneHas(t *testing.T) {
	ours := modulesOf(t, ".", "./...")
	if ours["k8s.io/apimachinery"] == "" {
		t.Fatalf("only these modules were found: %v", ours)
	}
	for _, dir := range []string{"test/kit/controlplane/kubernetes", "test/guest/kubernetes"} {
		for path, version := range modulesOf(t, dir, "tool") {
			if has := ours[path]; has != "" && has != version {
				t.Errorf("%s is %s in go.mod and %s in %s/go.mod: all that imports it is compiled twice", path, has, version, dir)
			}
		}
	}
}

// modulesOf are the versions of the modules that packages of a folder are compiled from.
func modulesOf(t *testing.T, dir, packages string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{or (and .Replace .Replace.Version) .Version}}{{end}}", packages)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list the modules of %s: %v", dir, err)
	}
	versions := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			versions[path] = version
		}
	}
	return versions
}

// `go tool` exits with 0 when the tool was killed, for want of memory, say: a linter that found
// nothing since it was killed isn't a clean run.
func TestAToolThatIsKilledFailsMake(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"TOOL", "RELEASE"} {
		line := regexp.MustCompile(`(?m)^` + name + ` = .*$`).FindString(string(text))
		line = regexp.MustCompile(` -modfile=\S+`).ReplaceAllString(line, "")
		dir := t.TempDir()
		for file, text := range map[string]string{
			"go.mod":       "module killed\n\ngo 1.24\n\ntool killed/tool\n",
			"tool/main.go": "package main\n\nimport (\n\t\"os\"\n\t\"syscall\"\n)\n\nfunc main() {\n\tif len(os.Args) == 1 {\n\t\t_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)\n\t}\n}\n",
			"Makefile":     "GO = go\n" + line + "\nwell:\n\t$(" + name + ") tool and good\nkilled:\n\t$(" + name + ") tool\n",
		} {
			path := filepath.Join(dir, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		for target, works := range map[string]bool{"well": true, "killed": false} {
			cmd := exec.Command("make", "-C", dir, target)
			cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); (err == nil) != works {
				t.Errorf("%s, %s: %v\n%s", name, target, err, out)
			}
		}
	}
}
