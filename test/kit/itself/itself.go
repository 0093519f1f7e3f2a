// Package itself has the binary of a suite be proxplane, too: stories that run it as a process need not build it first.
package itself

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/proxplane/proxplane/cli"
)

// As is what has the binary be proxplane, in the environment: for programs that start it by another name.
const As = "PROXPLANE_TEST_IS_PROXPLANE=1"

// Run is the first thing that a suite's TestMain calls. It doesn't return where the binary is to be proxplane.
func Run() {
	if os.Getenv("PROXPLANE_TEST_IS_PROXPLANE") == "" {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// Command is proxplane with arguments.
func Command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), As)
	return cmd, nil
}
