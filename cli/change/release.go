package change

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
)

// NewRelease returns the command `proxplane release`.
func NewRelease(u *ui.UI) *cobra.Command {
	a := &applying{change: change{deleted: true}}
	cmd := &cobra.Command{
		Use:   "release -f FILE|DIR|- | vm/NAME…",
		Short: "Stop managing machines, and leave them in Proxmox",
		Long: `Stop managing machines: the opposite of import --adopt. proxplane's marker and tags are
removed from each machine, and nothing else changes: it keeps running with its disks and
settings, and proxplane doesn't touch it any more.

Remove its manifest as well: otherwise apply stops at it as long as this machine has its VMID or
its MAC addresses, and creates a new machine for it after that.`,
		Example: `  proxplane release vm/web-3
  proxplane release 104 105
  proxplane release -f machines.yaml`,
		ValidArgsFunction: a.CompleteKinds(u, "vm"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return a.named(func() error { return a.releaseNamed(cmd.Context(), u, args) })
			}
			return a.given(func() error { return a.releaseAll(cmd, u) })
		},
	}
	a.flags(cmd)
	return cmd
}

// releaseAll releases all machines of the manifests.
func (a *applying) releaseAll(cmd *cobra.Command, u *ui.UI) error {
	if err := a.check(); err != nil {
		return err
	}
	list, err := a.open(cmd, u)
	if err != nil {
		return err
	}
	for _, c := range list {
		c.Desired = model.Desired{Set: c.Desired.Set, VMs: c.Desired.VMs, Allow: c.Desired.Allow}
		for i := range c.Desired.VMs {
			c.Desired.VMs[i].Retain, c.Desired.VMs[i].Released = true, true
		}
	}
	return a.carryOut(cmd.Context(), u, list)
}

// releaseNamed releases machines by name.
func (a *applying) releaseNamed(ctx context.Context, u *ui.UI, names []string) error {
	return a.endNamed(ctx, u, names, func(g *model.Guest) (model.VM, error) {
		if g.Config.Marker == nil {
			return model.VM{}, fmt.Errorf("VM %d (%s) on %s isn't proxplane's: there is nothing to release", g.VMID, g.Name, g.Node)
		}
		return model.VM{Retain: true, Released: true}, nil
	})
}
