package clients

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// build gives the path and the version of the program that a folder here says how
// to build, from the cache when it is there. What builds it is in the main module,
// which this one doesn't depend on.
func build(t *testing.T, dir, program string) (path, version string) {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "./test/kit/tool/build", filepath.Join(here, dir))
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("build %s: %v", dir, err)
	}
	version, folder, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return filepath.Join(folder, program), version
}

// moduleVersion reads which version of a module the go.mod here asks for.
func moduleVersion(t *testing.T, module string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", module)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("find the version of %s: %v", module, err)
	}
	return string(bytes.TrimSpace(out))
}
