package cli

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/cli/ui"
)

func TestEveryProgramHasTheVersionFlag(t *testing.T) {
	code, out, _ := run(t.Context(), "", "--version")
	if code != ui.ExitOK || !strings.HasPrefix(out, "proxplane ") || strings.Count(out, "\n") != 1 {
		t.Errorf("exit %d: %q", code, out)
	}
	for name, program := range programs {
		if program(ui.New(nil, nil, nil)).Flag("version") == nil {
			t.Errorf("%s has no --version", name)
		}
	}
}
