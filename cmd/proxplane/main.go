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
	code := cli.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
