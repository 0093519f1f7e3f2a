// Command proxplane is the control plane for Proxmox VE.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/proxplane/proxplane/cli"
	"github.com/proxplane/proxplane/host/hook"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C ends it at once.
	context.AfterFunc(ctx, stop)
	var code int
	if args := os.Args[1:]; hook.Called(args) {
		code = hook.Main(ctx, args, os.Stdout, os.Stderr)
	} else {
		code = cli.Run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
	}
	stop()
	os.Exit(code)
}
