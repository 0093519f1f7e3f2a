// Package cli is the command line: it reads flags, calls what does the work
// and tells people what came of it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Main runs the command line and returns the exit status.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		if !errors.Is(err, context.Canceled) {
			fmt.Fprintf(stderr, "Error: %v\n", err)
		}
		return 1
	}
	return 0
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "proxplane",
		Short: "The control plane for Proxmox VE",
		Long: `proxplane is the control plane for Proxmox VE: you say which machines you want,
it makes them so and keeps them so.`,
		Example: `  proxplane demo        see it work, on a Proxmox that is simulated
  proxplane sim         a Proxmox VE that runs anywhere, for clients in any language`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
	}
	root.AddCommand(newSim(), newDemo(), newVersion())
	return root
}
