package cluster

import (
	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/doctor"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/cluster"
)

// NewDoctor returns the command `proxplane doctor cluster`.
func NewDoctor(u *ui.UI) *cobra.Command {
	f, name := &doctor.Flags{}, ""
	cmd := &cobra.Command{
		Use:   "cluster FILE",
		Short: "Check whether Proxmox has what a Kubernetes cluster needs",
		Long: `Check whether Proxmox has what the file of a Kubernetes cluster names, and whether the
credentials have the privileges that all commands of "proxplane cluster" need for it:
to make and destroy machines, and to run programs and read files in them. If some are
missing, the pveum commands that grant exactly what is needed are printed. Nothing is
changed.`,
		Example: `  proxplane doctor cluster cluster.yaml
  proxplane doctor cluster cluster.yaml --print-commands --user k8s@pve --token proxplane`,
		Args: command.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := readOne(u, args[0], name)
			if err != nil {
				return err
			}
			want, err := cluster.Wanted(file)
			if err != nil {
				return err
			}
			f.About(want, "exec", "read-file")
			return f.Run(cmd.Context(), u)
		},
	}
	cmd.Flags().StringVarP(&name, "cluster", "c", "", "`NAME` of the cluster, of several in the file")
	f.LoginFlags(cmd)
	f.PrintFlags(cmd, "user", "token")
	return cmd
}
