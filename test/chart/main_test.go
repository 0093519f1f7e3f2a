package chart

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"testing"

	"github.com/proxplane/proxplane/cli"
)

// asProxplane has the test's own binary be proxplane.
const asProxplane = "PROXPLANE_TEST_IS_PROXPLANE"

func TestMain(m *testing.M) {
	if os.Getenv(asProxplane) == "" {
		flag.Parse()
		// They wait more than they work.
		if err := flag.Set("test.parallel", "16"); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
}
