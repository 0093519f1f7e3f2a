package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/status"
)

// byHand is the set of machines that were made without a manifest. No
// manifest's --prune touches it.
const byHand = "by-hand"

// cloning is one call of clone.
type cloning struct {
	applying
	full, start   bool
	vmid          int
	node, storage string
	snapshot      string
	pool          string
}

// NewClone returns the command `proxplane clone`.
func NewClone(u *ui.UI) *cobra.Command {
	c := &cloning{}
	cmd := &cobra.Command{
		Use:   "clone SOURCE NAME",
		Short: "Copy a machine or a template",
		Long: `Copy a machine or a template by hand. Copies of templates are linked, unless
--full is given; copies of machines are always full. The copy has the settings of
its source.

Running the same command again finds the copy that is there, so nothing is made
twice. Machines that should be kept as part of what is wanted belong in a
manifest, as VirtualMachine or VMClone.`,
		Example: `  proxplane clone ubuntu-22-template web-3 --start
  proxplane clone web-1 web-1-copy --snapshot before-upgrade
  proxplane clone 9000 db-1 --full --storage local-lvm --node pve2`,
		Args: command.Takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), u, args[0], args[1]) },
	}
	c.Target.Flags(cmd, false)
	fs := cmd.Flags()
	fs.BoolVar(&c.full, "full", false, "a full copy, also of a template")
	fs.BoolVar(&c.start, "start", false, "start the copy")
	fs.IntVar(&c.vmid, "vmid", 0, "`VMID` of the copy (default: one that is free)")
	fs.StringVar(&c.node, "node", "", "`NODE` of the copy (default: where there is room)")
	fs.StringVar(&c.storage, "storage", "", "`STORAGE` of a full copy's disks (default: that of the source)")
	fs.StringVar(&c.snapshot, "snapshot", "", "copy the state in the snapshot of this `NAME`")
	fs.StringVar(&c.pool, "pool", "", "`POOL` of the copy")
	fs.DurationVar(&c.timeout, "timeout", 0, "give up after this `TIME`, such as 10m")
	fs.StringVarP(&c.output, "output", "o", "", "`FORMAT`: json, for programs")
	_ = fs.MarkHidden("set")
	return cmd
}

func (c *cloning) run(ctx context.Context, u *ui.UI, source, name string) error {
	if err := errors.Join(c.check(), command.CheckOutput(c.output, "json")); err != nil {
		return err
	}
	if !spec.IsGuestName(name) {
		return fmt.Errorf("%q is no name for a machine: it has letters, digits, hyphens and dots", name)
	}
	one, err := c.Site(u)
	if err != nil {
		return err
	}
	working, done := c.work(ctx)
	plans, err := c.prepare(working, u, one, source, name)
	if err := done(err); err != nil {
		return err
	}
	if made := copyIn(plans); made.Ready() && c.output == "" {
		u.Say("Nothing to do: %s is VM %d on %s already.", status.Name(made.Owner.Key), made.VMID, made.Node)
		return nil
	}
	c.agree(plans)
	list := []*target.Site{one}
	came, err := c.converge(ctx, u, list, plans)
	if err != nil {
		return err
	}
	return c.conclude(u, list, came)
}

// prepare plans the copy.
func (c *cloning) prepare(ctx context.Context, u *ui.UI, one *target.Site, source, name string) ([]plan.Plan, error) {
	have, err := one.LookNow(ctx)
	if err != nil {
		return nil, err
	}
	from, err := one.Find(ctx, have, source)
	if err != nil {
		return nil, err
	}
	if c.snapshot != "" {
		if _, _, err := one.Snapshot(ctx, fmt.Sprint(from.VMID), c.snapshot); err != nil {
			return nil, err
		}
	}
	one.Desired = c.desired(from, name)
	for _, other := range have.Named(name) {
		if !CopiedByHand(other) {
			u.Note("VM %d on %s has the same name", other.VMID, other.Node)
		}
	}
	list := []*target.Site{one}
	plans, err := c.plans(ctx, list)
	if err != nil {
		return nil, err
	}
	if err := c.fits(u, have.Guests[copyIn(plans).VMID]); err != nil {
		return nil, err
	}
	if g := have.Guests[copyIn(plans).VMID]; g != nil && g.Status == model.StatusRunning {
		// It was made before, and is in use: making it again mustn't stop it.
		one.Desired.VMs[0].Power = model.PowerOn
		if plans, err = c.plans(ctx, list); err != nil {
			return nil, err
		}
	}
	if w := copyIn(plans).Wait; w != nil && w.Reason == model.WaitForeign {
		return nil, errors.New(status.CLI.Wait(*w))
	}
	return plans, nil
}

// fits checks that a copy that is there already is as the flags ask for: only new ones are
// made so.
func (c *cloning) fits(u *ui.UI, g *model.Guest) error {
	switch {
	case g == nil:
		return nil
	case c.node != "" && c.node != g.Node:
		return ui.Advise(fmt.Errorf("%s is there already, as VM %d on %s, not on %s", g.Name, g.VMID, g.Node, c.node),
			fmt.Sprintf("Migrate it with proxplane move vm/%d --to %s, or give the copy another name.", g.VMID, c.node))
	case c.full || c.storage != "" || c.snapshot != "":
		u.Note("%s is there already, as VM %d on %s: --full, --storage and --snapshot are for new copies only", g.Name, g.VMID, g.Node)
	}
	return nil
}

// copyIn is the copy in the plan: it comes after what it is made from.
func copyIn(plans []plan.Plan) plan.Object {
	objects := plans[0].Objects
	return objects[len(objects)-1]
}

// ownerByHand is the owner of what clone makes.
func ownerByHand(kind, name string) model.Owner {
	return model.Owner{Door: manifest.Door, Set: byHand, Key: model.Key{Kind: kind, Name: name}}
}

// CopiedByHand reports whether clone made a guest.
func CopiedByHand(g *model.Guest) bool {
	owner, _, ok := model.ParseStateTag(g.Tags)
	return ok && owner == ownerByHand("VirtualMachine", g.Name).ID()
}

// desired is the copy as something that is wanted.
func (c *cloning) desired(from *model.Guest, name string) model.Desired {
	image := model.Image{Owner: ownerByHand("VMImage", fmt.Sprint(from.VMID)), VMID: from.VMID}
	vm := model.VM{
		Owner: ownerByHand("VirtualMachine", name), Name: name, VMID: c.vmid, Range: spec.DefaultRange, Pool: c.pool, Power: model.PowerOff,
		Source: model.Source{Image: image.Owner.Key, Snapshot: c.snapshot, Full: c.full || c.storage != "", Storage: c.storage},
	}
	if c.start {
		vm.Power = model.PowerOn
	}
	if c.node != "" {
		vm.Place.Nodes = []string{c.node}
	}
	return model.Desired{Set: byHand, Images: []model.Image{image}, VMs: []model.VM{vm}}
}
