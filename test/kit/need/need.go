// Package need is for tests that need more than Go: a program, root's rights, a
// machine that runs guests. They are skipped where that is missing, and fail
// instead where all tests must run (CI=true).
package need

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

// None of it is missing, or the test ends here.
func None(t testing.TB, missing error) {
	t.Helper()
	switch {
	case missing == nil:
	case os.Getenv("CI") == "true":
		t.Fatal(missing)
	default:
		t.Skip(missing)
	}
}

// Program finds a program.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	None(t, err)
	return path
}

// Root needs the rights of root.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		None(t, errors.New("needs root"))
	}
}
