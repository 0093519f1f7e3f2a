package guest

import (
	"context"
	"os"
	"testing"

	"github.com/proxplane/proxplane/cli"
	"github.com/proxplane/proxplane/hook"
)

// asCommand is set where this program is to be proxplane.
const asCommand = "PROXPLANE_GUEST_TESTS_COMMAND"

// TestMain lets this program be the hook on simulated nodes, as proxplane is
// one on real ones, and proxplane itself in terminals.
func TestMain(m *testing.M) {
	args := os.Args[1:]
	switch {
	case hook.Called(args):
		os.Exit(hook.Main(context.Background(), args, os.Stdout, os.Stderr))
	case os.Getenv(asCommand) != "":
		os.Exit(cli.Main(context.Background(), args, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
