package guest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/proxplane/proxplane/cli"
	"github.com/proxplane/proxplane/host/hook"
)

// asCommand is set where this program is to be proxplane.
const asCommand = "PROXPLANE_GUEST_TESTS_COMMAND"

// TestMain lets this program be the hook on simulated nodes, as proxplane is
// one on real ones, and proxplane itself in terminals.
func TestMain(m *testing.M) {
	args := os.Args[1:]
	switch {
	case len(args) == 2 && args[0] == relayCommand:
		if relay(args[1]) != nil { // who is told would be the guest
			os.Exit(1)
		}
		return
	case hook.Called(args):
		os.Exit(hook.Main(context.Background(), args, os.Stdout, os.Stderr))
	case os.Getenv(asCommand) != "":
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		code := cli.Main(ctx, args, os.Stdin, os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}
	os.Exit(runTests(m))
}

// labs is the folder that has those of all labs, and all else that is temporary.
var labs string

// runTests leaves no files behind when somebody interrupts it, either. What runs
// ends with this process however that ends.
func runTests(m *testing.M) int {
	var err error
	// Sockets are in there, whose names can't be long.
	if labs, err = os.MkdirTemp("", "labs"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Setenv("TMPDIR", labs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		// Whoever still works here may make a file meanwhile.
		for range 100 {
			if os.RemoveAll(labs) == nil {
				break
			}
		}
		os.Exit(1)
	}()
	defer os.RemoveAll(labs)
	return m.Run()
}
