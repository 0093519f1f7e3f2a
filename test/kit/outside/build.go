package outside

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// built are the programs that Main has built, by name.
var built = map[string]string{}

// Main builds programs of this module, runs the tests and removes the programs. It
// is what TestMain calls:
//
//	func TestMain(m *testing.M) { outside.Main(m, "./cmd/proxplane") }
//
// Packages are named as seen from the top of the module.
func Main(m *testing.M, packages ...string) {
	os.Exit(run(m, packages))
}

func run(m *testing.M, packages []string) int {
	dir, err := os.MkdirTemp("", "proxplane-outside-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = build(dir, packages)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func build(dir string, packages []string) error {
	top, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	for _, pkg := range packages {
		program, err := Build(context.Background(), string(top[:len(top)-1]), pkg, dir)
		if err != nil {
			return err
		}
		built[filepath.Base(pkg)] = program
	}
	return nil
}

// Build builds a program of the module whose top is given, into a directory.
func Build(ctx context.Context, top, pkg, into string) (program string, err error) {
	program = filepath.Join(into, filepath.Base(pkg))
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, pkg)
	cmd.Dir = top
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return program, nil
}

// Program is the path of a program that Main has built.
func Program(name string) string {
	if built[name] == "" {
		panic("Main hasn't built " + name)
	}
	return built[name]
}
