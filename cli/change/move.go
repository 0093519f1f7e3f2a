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
	to    string
	parts parts
	known map[model.Owner]bool // machines that a manifest describes here
	// unknown are those that are moved and that none does.
	unknown []string
}

// NewMove returns the command `proxplane move`.
func NewMove(u *ui.UI) *cobra.Command {
	m := &moving{}
	cmd := &cobra.Command{
		Use:   "move vm/NAME… [--to NODE]",
		Short: "Migrate machines to another node",
		Long: `Migrate machines to another node: those that run while they run, with their local
disks if they have some. Nothing else about them changes.

Without --to, the node is chosen as for a new machine. With -f, the placement
policies of the manifests hold; without, only what Proxmox knows: room, storages,
devices, HA. Only machines that proxplane made or adopted are moved.`,
		Example: `  proxplane move vm/web-1 --to pve2
  proxplane move vm/web-1 vm/web-2 -f machines.yaml`,
		Args:              command.Takes(1, -1),
		ValidArgsFunction: m.CompleteKinds(u, "vm"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.run(cmd.Context(), u, func(ctx context.Context, c *target.Site, have *model.Observed) error {
				return m.byName(ctx, c, have, args)
			}, args...)
		},
	}
	m.flags(cmd)
	cmd.Flags().StringVar(&m.to, "to", "", "the `NODE` that they go to (default: one that can take them)")
	return cmd
}

// flags are those of commands that only migrate: nothing is destroyed or restarted, so that nobody is
// asked, and machines aren't selected by labels, which only manifests have. --yes is there for scripts
// that pass it to all commands.
func (m *moving) flags(cmd *cobra.Command) {
	m.Target.Flags(cmd, true)
	cmd.Flags().BoolVarP(&m.yes, "yes", "y", false, "for scripts: migrations are never asked about")
	m.OutputFlag(cmd)
	m.paceFlags(cmd)
}

// run moves the machines that choose puts into what is wanted.
func (m *moving) run(ctx context.Context, u *ui.UI, choose func(context.Context, *target.Site, *model.Observed) error, names ...string) error {
	if err := errors.Join(m.check(), command.CheckOutput(m.output, "json")); err != nil {
		return err
	}
	c, err := m.Site(u, names...)
	if err != nil {
		return err
	}
	working, done := m.work(ctx)
	if err := done(m.choose(working, c, choose)); err != nil {
		return err
	}
	if len(m.unknown) > 0 {
		u.Note("placement policies and labels of nodes aren't known for %s, only what Proxmox knows: room, storages, devices and HA; name their manifests with -f", few(m.unknown))
	}
	return m.carryOut(ctx, u, m.parts)
}

// choose looks at the cluster, and has the machines moved that are chosen.
func (m *moving) choose(ctx context.Context, c *target.Site, choose func(context.Context, *target.Site, *model.Observed) error) error {
	have, err := c.LookNow(ctx)
	if err != nil {
		return err
	}
	known := c.Desired.VMs
	c.Desired = model.Desired{Set: c.Desired.Set, Door: c.Desired.Door, Range: c.Desired.Range, VMs: known, Moves: map[model.Key]model.Move{}}
	m.parts, m.known = parts{c}, map[model.Owner]bool{}
	for _, v := range known {
		m.known[v.Owner] = true
	}
	if err := choose(ctx, c, have); err != nil {
		return err
	}
	// Other machines of the manifests matter for where these may go. How they are nobody looks at.
	c.Desired.Seen = map[model.Key]bool{}
	for _, v := range known {
		if _, moves := c.Desired.Moves[v.Owner.Key]; !moves {
			c.Desired.Seen[v.Owner.Key] = true
		}
	}
	return nil
}

// byName moves machines by name.
func (m *moving) byName(ctx context.Context, c *target.Site, have *model.Observed, names []string) error {
	if m.to != "" && have.Nodes[m.to] == nil {
		return noNode(have, m.to)
	}
	guests, err := c.Guests(ctx, names...)
	if err != nil {
		return err
	}
	for _, g := range guests {
		config, err := marked(ctx, c, g)
		switch {
		case err != nil:
			return err
		case config == nil:
			return ui.Advise(fmt.Errorf("VM %d (%s) on %s isn't proxplane's, so it isn't moved", g.VMID, g.Name, g.Node), "Migrate it in Proxmox, or adopt it first: proxplane import --adopt.")
		}
		m.add(g, config.Marker, model.Move{From: g.Node, To: m.to, Why: "requested with proxplane move"})
	}
	return nil
}

// noNode says that there is no such node.
func noNode(have *model.Observed, name string) error {
	return ui.Advise(fmt.Errorf("there is no node %s", name), "Nodes are "+few(model.NamesOf(have.Nodes))+".")
}

// marked reads the config of a guest that has proxplane's marker; nil: it has none.
func marked(ctx context.Context, c *target.Site, g *model.Guest) (*model.Config, error) {
	if g.Template || g.Container {
		return nil, nil
	}
	if err := c.Observer.Config(ctx, g.VMID); err != nil {
		return nil, c.Fail(err)
	}
	now, err := c.Observer.Known(ctx, g.VMID)
	if err != nil {
		return nil, c.Fail(err)
	}
	if now == nil {
		return nil, fmt.Errorf("VM %d is gone", g.VMID)
	}
	if mark := now.Config.Marker; mark != nil && mark.Of(g.VMID) {
		return now.Config, nil
	}
	return nil, nil
}

// add has a machine moved. What no manifest describes is known by its marker.
func (m *moving) add(g *model.Guest, mark *model.Marker, move model.Move) {
	part := m.parts.with(model.VM{Owner: mark.Owner, Name: g.Name, VMID: g.VMID, Place: model.Place{Facts: m.parts[0].Nodes}})
	part.Desired.Moves[mark.Owner.Key] = move
	if !m.known[mark.Owner] {
		m.unknown = append(m.unknown, fmt.Sprintf("%s (%d)", g.Name, g.VMID))
	}
}
