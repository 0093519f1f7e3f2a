package chart

import (
	"flag"
	"os"
	"testing"

	"github.com/proxplane/proxplane/test/kit/itself"
)

func TestMain(m *testing.M) {
	itself.Run()
	flag.Parse()
	// They wait more than they work.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(runAll(m))
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
