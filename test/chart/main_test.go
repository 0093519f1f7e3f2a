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
		os.Exit(runAll(m))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// sharedDir is for what all tests use; it is gone when they are done.
var sharedDir string

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "proxplane-chart-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		panic(err)
	}
	sharedDir = dir
	return m.Run()
}
