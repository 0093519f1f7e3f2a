package proxplane_test

import (
	"os"
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
