package proxplane_test

import (
	"os"
	"os/exec"
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
