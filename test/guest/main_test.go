package guest

import (
	"context"
	"os"
	"os/signal"
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
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		code := cli.Main(ctx, args, os.Stdin, os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}
	os.Exit(m.Run())
}
