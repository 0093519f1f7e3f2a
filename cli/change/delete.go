package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
)

// NewDelete returns the command `proxplane delete`.
func NewDelete(u *ui.UI) *cobra.Command {
	a := &applying{change: change{deleted: true}}
	cmd := &cobra.Command{
		Use:   "delete -f FILE|DIR|- | vm/NAME…",
		Short: "Delete what the manifests name",
		Long: `Delete everything that the manifests name and proxplane made for them: machines with
their disks, templates of images, snapshots. Machines whose deletionPolicy is
Retain, and adopted ones without deletionPolicy: Delete, stay in Proxmox and are
released.

Without manifests, name machines that proxplane made or adopted. What isn't
proxplane's is never touched.`,
		Example: `  proxplane delete -f machines.yaml
  proxplane delete -f machines.yaml --yes
  proxplane delete -f machines.yaml -l app=web
  proxplane delete vm/web-3
  proxplane plan -f machines.yaml --delete`,
		ValidArgsFunction: a.CompleteKinds(u, "vm"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return a.named(func() error { return a.deleteNamed(cmd.Context(), u, args) })
			}
			return a.given(func() error { return a.run(cmd, u) })
		},
	}
	a.flags(cmd)
	return cmd
}

// given does something about all that the manifests name, if there are any.
func (a *applying) given(do func() error) error {
	if !a.Given() {
		return target.ErrNothingNamed
	}
	return do()
}

// named does something about machines that are given by name, and so not by manifests.
func (a *applying) named(do func() error) error {
	if len(a.Files) > 0 || a.Selector != "" {
		return errors.New("either manifests or names: not both")
	}
	return do()
}

// deleteNamed removes machines by name, if they are ours. What was adopted, or has a
// manifest that says so, is only released.
func (a *applying) deleteNamed(ctx context.Context, u *ui.UI, names []string) error {
	return a.endNamed(ctx, u, names, func(g *model.Guest) (model.VM, error) {
		m := g.Config.Marker
		if m == nil {
			return model.VM{}, ui.Advise(fmt.Errorf("VM %d (%s) on %s isn't proxplane's, so it isn't removed", g.VMID, g.Name, g.Node), "Remove it in Proxmox.")
		}
		return model.VM{Retain: m.Retain && !m.Adopted, Destroy: !m.Retain}, nil
	})
}

// endNamed ends that machines are ours: how, end says of each.
func (a *applying) endNamed(ctx context.Context, u *ui.UI, names []string, end func(*model.Guest) (model.VM, error)) error {
	if err := a.check(); err != nil {
		return err
	}
	c, err := a.Site(u, names...)
	if err != nil {
		return err
	}
	all := parts{c}
	working, done := a.work(ctx)
	if err := done(all.ending(working, names, end)); err != nil {
		return err
	}
	return a.carryOut(ctx, u, all)
}

// ending adds the machines of some names, as those that end.
func (p *parts) ending(ctx context.Context, names []string, end func(*model.Guest) (model.VM, error)) error {
	c := (*p)[0]
	guests, err := c.Guests(ctx, names...)
	if err != nil {
		return err
	}
	for _, g := range guests {
		if err := c.Observer.Config(ctx, g.VMID); err != nil {
			return c.Fail(err)
		}
		now, err := c.Observer.Known(ctx, g.VMID)
		if err != nil {
			return c.Fail(err)
		}
		if now == nil {
			return fmt.Errorf("VM %d is gone", g.VMID)
		}
		v, err := end(now)
		if err != nil {
			return err
		}
		v.Owner, v.VMID, v.Deleted = now.Config.Marker.Owner, g.VMID, true
		p.with(v)
	}
	return nil
}
