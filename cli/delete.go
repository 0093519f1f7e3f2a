package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/model"
)

func newDelete(u *ui) *cobra.Command {
	a := &applying{change: change{deleted: true}}
	cmd := &cobra.Command{
		Use:   "delete -f FILE|DIR|- | vm/NAME…",
		Short: "Remove what the manifests name",
		Long: `Remove all that the manifests name and proxplane made for them: machines with
their disks, templates of images, snapshots. Machines whose deletionPolicy is
Retain stay in Proxmox and are let go.

Without manifests, machines can be named that proxplane made or adopted. What
isn't proxplane's is never touched.`,
		Example: `  proxplane delete -f machines.yaml
  proxplane delete -f machines.yaml --yes
  proxplane delete vm/web-3
  proxplane plan -f machines.yaml --delete`,
		ValidArgsFunction: a.completeKinds(u, "vm"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return a.run(cmd, u)
			case len(a.files) > 0:
				return errors.New("either manifests or names: not both")
			}
			return a.deleteNamed(cmd.Context(), u, args)
		},
	}
	a.flags(cmd)
	return cmd
}

// deleteNamed removes machines by name, if they are ours.
func (a *applying) deleteNamed(ctx context.Context, u *ui, names []string) error {
	if err := a.check(); err != nil {
		return err
	}
	c, err := a.cluster(u)
	if err != nil {
		return err
	}
	have, err := c.look(ctx)
	if err != nil {
		return err
	}
	guests, err := findGuests(have, names)
	if err != nil {
		return err
	}
	for _, g := range guests {
		if err := c.observer.Config(ctx, g.VMID); err != nil {
			return c.fail(err)
		}
		now := c.observer.Snapshot().Guests[g.VMID]
		if now == nil || now.Config == nil || now.Config.Marker == nil {
			return advise(fmt.Errorf("VM %d (%s) on %s isn't proxplane's, so it isn't removed", g.VMID, g.Name, g.Node),
				fmt.Sprintf("Remove it in Proxmox, or adopt it first: proxplane import %d --adopt", g.VMID))
		}
		c.Desired.VMs = append(c.Desired.VMs, model.VM{Owner: now.Config.Marker.Owner, VMID: g.VMID, Deleted: true})
	}
	return a.carryOut(ctx, u, []*cluster{c})
}
