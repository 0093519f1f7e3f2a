package guest

import (
	"context"
	"os"
	"testing"

	"github.com/proxplane/proxplane/hook"
)

// TestMain lets this program be the hook on simulated nodes, as proxplane is
// one on real ones.
func TestMain(m *testing.M) {
	if args := os.Args[1:]; hook.Called(args) {
		os.Exit(hook.Main(context.Background(), args, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
