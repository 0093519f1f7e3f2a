package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
)

// moving is what move, drain and undrain have in common: machines of proxplane's that go to other
// nodes, and nothing else is done to them.
type moving struct {
	applying
	to string
}

// NewMove is `proxplane move`.
func NewMove(u *ui.UI) *cobra.Command {
	m := &moving{applying: applying{change: change{deleted: true}}}
	cmd := &cobra.Command{
		Use:   "move vm/NAME… [--to NODE]",
		Short: "Migrate machines to another node",
		Long: `Migrate machines to another node: those that run while they run, with their local
disks if they have some. Nothing else about them changes.

Without --to, the node is chosen as for a new machine. With -f, the placement
policies of the manifests hold. Only machines that proxplane made or adopted are
moved.`,
		Example: `  proxplane move vm/web-1 --to pve2
  proxplane move vm/web-1 vm/web-2 -f machines.yaml`,
		Args:              command.Takes(1, -1),
		ValidArgsFunction: m.CompleteKinds(u, "vm"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.run(cmd.Context(), u, func(c *target.Site, have *model.Observed) error {
				return m.named(cmd.Context(), c, have, args)
			}, args...)
		},
	}
	m.flags(cmd)
	cmd.Flags().StringVar(&m.to, "to", "", "the `NODE` that they go to (default: one that can take them)")
	return cmd
}

// run moves the machines that choose puts into what is wanted.
func (m *moving) run(ctx context.Context, u *ui.UI, choose func(*target.Site, *model.Observed) error, names ...string) error {
	if err := errors.Join(m.check(), command.CheckOutput(m.output, "json")); err != nil {
		return err
	}
	c, err := m.Site(u, names...)
	if err != nil {
		return err
	}
	have, err := c.LookNow(ctx)
	if err != nil {
		return err
	}
	known := c.Desired.VMs
	c.Desired = model.Desired{Set: c.Desired.Set, Door: c.Desired.Door, Range: c.Desired.Range, VMs: known, Moves: map[model.Key]model.Move{}}
	if err := choose(c, have); err != nil {
		return err
	}
	return m.carryOut(ctx, u, []*target.Site{c})
}

// named moves machines by name.
func (m *moving) named(ctx context.Context, c *target.Site, have *model.Observed, names []string) error {
	if m.to != "" && have.Nodes[m.to] == nil {
		return noNode(have, m.to)
	}
	guests, err := target.FindGuests(have, names)
	if err != nil {
		return err
	}
	for _, g := range guests {
		mark, err := markerOf(ctx, c, g)
		switch {
		case err != nil:
			return err
		case mark == nil:
			return ui.Advise(fmt.Errorf("VM %d (%s) on %s isn't proxplane's, so it isn't moved", g.VMID, g.Name, g.Node), "Migrate it in Proxmox, or adopt it first: proxplane import --adopt.")
		}
		m.add(c, g, mark, model.Move{From: g.Node, To: m.to, Why: "somebody has asked for it"})
	}
	return nil
}

// noNode says that there is no such node.
func noNode(have *model.Observed, name string) error {
	return ui.Advise(fmt.Errorf("there is no node %s", name), "Nodes are "+few(model.NamesOf(have.Nodes))+".")
}

// markerOf reads the marker of a guest; nil: it isn't proxplane's.
func markerOf(ctx context.Context, c *target.Site, g *model.Guest) (*model.Marker, error) {
	if g.Template || g.Container {
		return nil, nil
	}
	if err := c.Observer.Config(ctx, g.VMID); err != nil {
		return nil, c.Fail(err)
	}
	now := c.Observer.Snapshot().Guests[g.VMID]
	if now == nil || now.Config == nil {
		return nil, fmt.Errorf("VM %d changed while it was read", g.VMID)
	}
	if mark := now.Config.Marker; mark != nil && mark.Of(g.VMID) {
		return mark, nil
	}
	return nil, nil
}

// add has a machine moved. What no manifest describes is known by its marker.
func (m *moving) add(c *target.Site, g *model.Guest, mark *model.Marker, move model.Move) {
	key := mark.Owner.Key
	c.Desired.Moves[key] = move
	for _, v := range c.Desired.VMs {
		if v.Owner == mark.Owner {
			return
		}
	}
	c.Desired.VMs = append(c.Desired.VMs, model.VM{Owner: mark.Owner, Name: g.Name, VMID: g.VMID})
}
