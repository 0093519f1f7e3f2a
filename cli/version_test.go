package cli

import (
	"strings"
	"testing"
)

func TestEveryProgramHasTheVersionFlag(t *testing.T) {
	code, out, _ := run(t.Context(), "", "--version")
	if code != exitOK || !strings.HasPrefix(out, "proxplane ") || strings.Count(out, "\n") != 1 {
		t.Errorf("exit %d: %q", code, out)
	}
	for name, program := range programs {
		if program(newUI(nil, nil, nil)).Flag("version") == nil {
			t.Errorf("%s has no --version", name)
		}
	}
}
