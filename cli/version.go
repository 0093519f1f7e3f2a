package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/pve/schema"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of proxplane",
		Long:    "Print the version of proxplane, and which releases of Proxmox VE it knows.",
		Example: `  proxplane version`,
		Args:    takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "proxplane %s (%s, %s/%s), knows Proxmox VE %s\n",
				buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(schema.Releases(), ", "))
			return err
		},
	}
}

// buildVersion is the version that the Go tool stamped into the binary.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "development build"
	}
	return info.Main.Version
}
