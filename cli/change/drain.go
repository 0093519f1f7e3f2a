package change

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
)

// NewDrain returns the command `proxplane drain`.
func NewDrain(u *ui.UI) *cobra.Command {
	m := &moving{}
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Migrate all machines of proxplane's away from a node",
		Long: `Migrate all machines that proxplane made or adopted away from a node, before it is
updated or switched off: those that run while they run, with their local disks.
"proxplane undrain" brings them back. Other VMs and containers stay, and are named.

With -f, the placement policies of the manifests hold for the machines that they
name; for others, only what Proxmox knows: room, storages, devices, HA.

To keep new machines away from the node meanwhile, put it into maintenance: in the
Provider, with spec.nodes.NODE.maintenance, or in Proxmox, with
"ha-manager crm-command node-maintenance enable NODE".`,
		Example: `  proxplane drain pve1
  proxplane drain pve1 -f machines/
  proxplane undrain pve1`,
		Args: command.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.run(cmd.Context(), u, func(ctx context.Context, c *target.Site, have *model.Observed) error {
				return m.drain(ctx, u, c, have, args[0])
			})
		},
	}
	m.flags(cmd)
	return cmd
}

// NewUndrain returns the command `proxplane undrain`.
func NewUndrain(u *ui.UI) *cobra.Command {
	m := &moving{}
	cmd := &cobra.Command{
		Use:   "undrain NODE",
		Short: "Bring machines back to a node that was drained",
		Long: `Migrate the machines back to a node that "proxplane drain" has taken away from there.
A machine that was moved since, by "proxplane move" or in Proxmox, stays where it is.`,
		Example: `  proxplane undrain pve1
  proxplane undrain pve1 -f machines/`,
		Args: command.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.run(cmd.Context(), u, func(ctx context.Context, c *target.Site, have *model.Observed) error {
				return m.undrain(ctx, u, c, have, args[0])
			})
		},
	}
	m.flags(cmd)
	return cmd
}

// drain moves the machines of a node that are proxplane's, and names the others.
func (m *moving) drain(ctx context.Context, u *ui.UI, c *target.Site, have *model.Observed, node string) error {
	n := have.Nodes[node]
	switch {
	case n == nil:
		return noNode(have, node)
	case !n.Online:
		return fmt.Errorf("node %s is offline: nothing can be migrated away from it", node)
	}
	var others, templates, managed, unproven []string
	for _, g := range guestsOn(have, func(g *model.Guest) bool { return g.Node == node }) {
		name := fmt.Sprintf("%s (%d)", g.Name, g.VMID)
		if g.Template {
			templates = append(templates, name)
			continue
		}
		config, err := ours(ctx, c, g)
		switch {
		case err != nil:
			return err
		case config == nil:
			others = append(others, name)
		case !m.proved(c, have, g, config):
			unproven = append(unproven, name)
		case n.Maintenance && g.HAState != "":
			managed = append(managed, name)
		default:
			m.add(g, config.Marker, model.Move{From: node, Why: node + " is drained", Home: node})
		}
	}
	leave := func(names []string, format string) {
		if len(names) > 0 {
			u.Note(format, few(names))
		}
	}
	leave(others, "not proxplane's, so they stay on "+node+": %s")
	leave(unproven, "their notes say that they are proxplane's, but aren't signed with your marker key, so they stay on "+node+": %s; to move them, name their manifests with -f")
	leave(templates, "templates stay on "+node+": %s")
	leave(managed, "under HA, so that Proxmox moves them itself: %s")
	if !n.Maintenance && !closed(c, node) {
		u.Note("%s isn't in maintenance, so new machines may still go there", node)
	}
	return nil
}

// undrain moves the machines back that were taken away from a node.
func (m *moving) undrain(ctx context.Context, u *ui.UI, c *target.Site, have *model.Observed, node string) error {
	switch n := have.Nodes[node]; {
	case n == nil:
		return noNode(have, node)
	case n.Maintenance:
		return ui.Advise(fmt.Errorf("node %s is in maintenance", node), fmt.Sprintf("End it first, on any node: ha-manager crm-command node-maintenance disable %s", node))
	case closed(c, node):
		return ui.Advise(fmt.Errorf("node %s is in maintenance, as the Provider says", node), fmt.Sprintf("End it first: take spec.nodes.%s.maintenance out of the Provider.", node))
	}
	away := false
	var moved []string
	for _, g := range guestsOn(have, func(g *model.Guest) bool { return !g.Template }) {
		config, err := ours(ctx, c, g)
		if err != nil {
			return err
		}
		if config == nil || config.Marker.Home != node || !m.proved(c, have, g, config) {
			continue
		}
		mark := config.Marker
		away = true
		if mark.MovedSince(g.Node) {
			moved = append(moved, fmt.Sprintf("%s (%d) on %s", g.Name, g.VMID, g.Node))
			m.add(g, mark, model.Move{From: g.Node, To: g.Node})
			continue
		}
		m.add(g, mark, model.Move{From: g.Node, To: node, Why: node + " takes machines again"})
	}
	if len(moved) > 0 {
		u.Note("moved in Proxmox since %s was drained, so they stay: %s; to bring one back: proxplane move vm/NAME --to %s", node, few(moved), node)
	}
	if !away {
		u.Note("no machine is away from %s because it was drained", node)
	}
	return nil
}

// closed reports whether the Provider has a node in maintenance.
func closed(c *target.Site, node string) bool {
	return model.Place{Facts: c.Nodes}.FactsOf(node).Maintenance
}

// guestsOn are some of the guests, in the order of their VMIDs.
func guestsOn(have *model.Observed, which func(*model.Guest) bool) (list []*model.Guest) {
	for _, g := range have.Guests {
		if which(g) {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b *model.Guest) int { return a.VMID - b.VMID })
	return list
}

// ours reads the config of a guest whose tag and marker say that it is proxplane's; nil: it isn't.
func ours(ctx context.Context, c *target.Site, g *model.Guest) (*model.Config, error) {
	if !slices.Contains(g.Tags, model.Tag) {
		return nil, nil
	}
	return marked(ctx, c, g)
}

// proved reports whether a guest is the one that its marker names. Whoever may edit a VM's notes can write a
// marker there; with a key, one that isn't signed counts only at a VMID of the machine's own. Without a key nothing tells
// such a guest from a machine whose manifest gives its VMID, and the plan shows what is moved.
func (m *moving) proved(c *target.Site, have *model.Observed, g *model.Guest, config *model.Config) bool {
	owner := config.Marker.Owner
	return !have.Keyed || config.Signed.Proves() || owner.Derives(g.VMID, c.Desired.Range) ||
		slices.ContainsFunc(c.Desired.VMs, func(v model.VM) bool { return v.Owner == owner && v.VMID == g.VMID })
}
