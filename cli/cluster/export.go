package cluster

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/cluster"
)

// exporting is one call of export.
type exporting struct {
	working
	manifests, tofu bool
}

func newExport(u *ui.UI) *cobra.Command {
	e := &exporting{}
	cmd := &cobra.Command{
		Use:   "export --cluster NAME --manifests|--tofu",
		Short: "Write the machines of a cluster as manifests, or for OpenTofu",
		Long: `Write the machines of a cluster as they are: with --manifests as VirtualMachines for
"proxplane apply", with --tofu for OpenTofu or Terraform with the provider bpg/proxmox
and blocks that import them. Nothing is changed. The first lines of what is written have
the commands that hand the machines over; applied then, it changes nothing.`,
		Example: `  proxplane cluster export --cluster lab --manifests > lab.yaml
  proxplane cluster export --cluster lab --tofu > main.tf`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return e.run(cmd.Context(), u) },
	}
	e.clusterFlag(cmd)
	cmd.Flags().BoolVar(&e.manifests, "manifests", false, "write VirtualMachines")
	cmd.Flags().BoolVar(&e.tofu, "tofu", false, "write resources of the provider bpg/proxmox")
	return cmd
}

func (e *exporting) run(ctx context.Context, u *ui.UI) error {
	if e.manifests == e.tofu {
		return ui.Advise(errors.New("want --manifests or --tofu"), "Add --manifests for VirtualMachines, or --tofu for OpenTofu and Terraform.")
	}
	return e.look(ctx, u, func(c *cluster.Cluster) error {
		export := c.Manifests
		if e.tofu {
			export = c.Tofu
		}
		text, err := export(ctx)
		if err != nil {
			return err
		}
		_, err = io.WriteString(u.Out, text)
		return err
	})
}
