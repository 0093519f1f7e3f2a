// Command proxplane is the control plane for Proxmox VE.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/proxplane/proxplane/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C ends it at once.
	context.AfterFunc(ctx, stop)
	code := cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
