package site_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// around makes a package of the code in the page.
const around = `package documented

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/spec"
)

// Example is the code.
func Example(ctx context.Context, secret string) error {
CODE
	_, _, _ = out, machine, drift
	return err
}
`

// The code in docs/library.md is that of package site as it is now.
func TestTheCodeInTheDocumentationCompiles(t *testing.T) {
	page, err := os.ReadFile("../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n```go\n")
	code, _, ends := strings.Cut(rest, "\n```\n")
	if !found || !ends {
		t.Fatal("there is no code in the page")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "code.go")
	if err := os.WriteFile(file, []byte(strings.Replace(around, "CODE", code, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	// The package is as if it were in a folder here, so that it is part of the module.
	here, err := filepath.Abs("documented/code.go")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{here: file}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, "./documented").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
