package hand

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/inspect"
	"github.com/proxplane/proxplane/cli/progress"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/status"
)

// snapshotting is what the snapshot commands share.
type snapshotting struct {
	target.Target
	target.Selection
	yes         bool
	memory      bool
	description string
	start       bool
}

// NewSnapshot returns the command `proxplane snapshot`.
func NewSnapshot(u *ui.UI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "snapshot create|list|revert|delete",
		Short: "Take snapshots of machines, and revert to them",
		Long: `Take, list and delete snapshots of machines by hand, and revert to them.
Snapshots that should be kept as part of what is wanted belong in a manifest,
as VMSnapshot.`,
		Example: `  proxplane snapshot create web-1 before-upgrade --memory
  proxplane snapshot list web-1
  proxplane snapshot revert web-1 before-upgrade
  proxplane snapshot delete web-1 before-upgrade`,
	}
	command.NeedsSubcommand(cmd)
	cmd.AddCommand(newSnapshotCreate(u), newSnapshotList(u), newSnapshotRevert(u), newSnapshotDelete(u))
	return cmd
}

func newSnapshotCreate(u *ui.UI) *cobra.Command {
	s := &snapshotting{}
	cmd := &cobra.Command{
		Use:   "create VM|-l LABELS NAME",
		Short: "Take a snapshot",
		Long:  "Take a snapshot of a machine, or of all that -l selects; with --memory, reverting to it\nresumes the running machine.",
		Example: `  proxplane snapshot create web-1 before-upgrade
  proxplane snapshot create -f machines.yaml -l app=web before-upgrade
  proxplane snapshot create web-1 clean --memory --description "new"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if s.Selector != "" {
				return command.Takes(1, 1)(cmd, args)
			}
			return command.Takes(2, 2)(cmd, args)
		},
		ValidArgsFunction: s.CompleteFirst(u),
		RunE: func(cmd *cobra.Command, args []string) error {
			vms, name := args[:len(args)-1], args[len(args)-1]
			if near := spec.SnapshotName(name); near != name {
				return ui.Advise(fmt.Errorf("%q isn't a name that a snapshot can have: a letter first, then letters, digits, - and _, 2 to 40 in all", name), "Did you mean "+near+"?")
			}
			return s.create(cmd.Context(), u, vms, name)
		},
	}
	s.Flags(cmd, false)
	s.SelectorFlag(cmd, target.SelectedUsage)
	cmd.Flags().BoolVar(&s.memory, "memory", false, "with the memory of the running machine")
	cmd.Flags().StringVar(&s.description, "description", "", "`TEXT` that goes with it")
	return cmd
}

// create takes a snapshot of each machine.
func (s *snapshotting) create(ctx context.Context, u *ui.UI, vms []string, name string) error {
	c, err := s.Site(u, vms...)
	if err != nil {
		return err
	}
	if vms, err = s.Chosen(ctx, c, vms); err != nil {
		return err
	}
	guests, err := c.Guests(ctx, vms...)
	if err != nil {
		return err
	}
	var jobs []progress.Job
	hand := c.Site.ByHand(ctx)
	for _, g := range guests {
		if s.memory {
			if err := needsMemory(ctx, c, g); err != nil {
				return err
			}
		}
		what := "take snapshot " + name
		if len(guests) > 1 {
			what += fmt.Sprintf(" of VM %d", g.VMID)
		}
		jobs = append(jobs, progress.Job{Name: g.Name, What: what, Done: what, Do: func(ctx context.Context) error {
			return c.Fail(hand.Do(ctx, g, model.Snap{Target: target.At(g), Name: name, Description: s.description, Memory: s.memory}))
		}})
	}
	return progress.Work(ctx, u, jobs...)
}

// needsMemory refuses a snapshot with the memory of a machine that has none: Proxmox would take one
// without, and say nothing.
func needsMemory(ctx context.Context, c *target.Site, g *model.Guest) error {
	now, err := statusNow(ctx, c, g)
	if err != nil || now == model.StatusRunning || now == model.StatusPaused {
		return err
	}
	return ui.Advise(fmt.Errorf("%s (%d) is %s, so there is no memory to keep in a snapshot", g.Name, g.VMID, now),
		fmt.Sprintf("Leave --memory out, or start it first: proxplane power on %d", g.VMID))
}

func newSnapshotList(u *ui.UI) *cobra.Command {
	g := &inspect.Get{}
	cmd := &cobra.Command{
		Use:     "list [VM…]",
		Aliases: []string{"ls"},
		Short:   "List snapshots",
		Long:    "List the snapshots of machines, in the order in which they were taken.",
		Example: `  proxplane snapshot list web-1
  proxplane snapshot list -f machines.yaml -l app=web
  proxplane snapshot list -o json`,
		ValidArgsFunction: g.CompleteVMs(u),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.Run(cmd.Context(), u, "snapshots", args)
		},
	}
	g.Flags(cmd, false)
	g.OutputFlag(cmd)
	g.SelectorFlag(cmd, target.SelectedUsage)
	return cmd
}

func newSnapshotRevert(u *ui.UI) *cobra.Command {
	s := &snapshotting{}
	cmd := &cobra.Command{
		Use:     "revert VM NAME",
		Aliases: []string{"rollback"},
		Short:   "Revert a machine to a snapshot",
		Long: `Go back to a snapshot. What the machine's disks hold now is lost. A machine whose
snapshot has no memory is stopped afterwards, unless --start is given.`,
		Example: `  proxplane snapshot revert web-1 before-upgrade
  proxplane snapshot revert web-1 before-upgrade --yes --start`,
		Args:              command.Takes(2, 2),
		ValidArgsFunction: s.CompleteSnapshots(u, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.On(cmd.Context(), u, args[0], func(c *target.Site, g *model.Guest) error {
				if _, _, err := c.Snapshot(cmd.Context(), fmt.Sprint(g.VMID), args[1]); err != nil {
					return err
				}
				question := fmt.Sprintf("%s (%d) goes back to %s and loses what came after it", g.Name, g.VMID, args[1])
				if err := u.Agree(cmd.Context(), s.yes, question); err != nil {
					return err
				}
				what := "roll back to " + args[1]
				if err := progress.Work(cmd.Context(), u, progress.Job{Name: g.Name, What: what, Done: what, Do: func(ctx context.Context) error {
					return c.Fail(s.revert(ctx, c, g, args[1]))
				}}); err != nil {
					return err
				}
				if now, err := statusNow(cmd.Context(), c, g); err == nil && now == model.StatusStopped {
					u.Note("%s is stopped now: the snapshot has no memory. Start it: proxplane power on %d", g.Name, g.VMID)
				}
				return nil
			})
		},
	}
	s.Flags(cmd, false)
	cmd.Flags().BoolVarP(&s.yes, "yes", "y", false, "don't ask")
	cmd.Flags().BoolVar(&s.start, "start", false, "start the machine afterwards")
	return cmd
}

// revert goes back to a snapshot. Proxmox' own way to start the machine then is a task that
// nobody hears of.
func (s *snapshotting) revert(ctx context.Context, c *target.Site, g *model.Guest, name string) error {
	hand := c.Site.ByHand(ctx)
	if err := hand.Do(ctx, g, model.Rollback{Target: target.At(g), Name: name}); err != nil || !s.start {
		return err
	}
	// It has the name and the marker of the snapshot now.
	if _, err := statusNow(ctx, c, g); err != nil {
		return err
	}
	now, err := c.Observer.Known(ctx, g.VMID)
	if err != nil || now == nil {
		return cmp.Or(err, fmt.Errorf("VM %d isn't there any more", g.VMID))
	}
	return (&powering{}).press(ctx, c, hand, powerOn, now)
}

func newSnapshotDelete(u *ui.UI) *cobra.Command {
	s := &snapshotting{}
	cmd := &cobra.Command{
		Use:     "delete VM NAME…",
		Aliases: []string{"rm"},
		Short:   "Delete snapshots",
		Long:    "Delete snapshots of a machine. The machine itself stays as it is.",
		Example: `  proxplane snapshot delete web-1 before-upgrade
  proxplane snapshot delete web-1 monday tuesday --yes`,
		Args:              command.Takes(2, 0),
		ValidArgsFunction: s.CompleteSnapshots(u, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.On(cmd.Context(), u, args[0], func(c *target.Site, g *model.Guest) error {
				for _, name := range args[1:] {
					if _, _, err := c.Snapshot(cmd.Context(), fmt.Sprint(g.VMID), name); err != nil {
						return err
					}
				}
				goes := status.Count(len(args)-1, "snapshot goes", "snapshots go")
				question := fmt.Sprintf("%s from %s (%d): %s", goes, g.Name, g.VMID, strings.Join(args[1:], ", "))
				if err := u.Agree(cmd.Context(), s.yes, question); err != nil {
					return err
				}
				hand := c.Site.ByHand(cmd.Context())
				for _, name := range args[1:] {
					what := "delete snapshot " + name
					if err := progress.Work(cmd.Context(), u, progress.Job{Name: g.Name, What: what, Done: what, Do: func(ctx context.Context) error {
						return c.Fail(hand.Do(ctx, g, model.Unsnap{Target: target.At(g), Name: name}))
					}}); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	s.Flags(cmd, false)
	cmd.Flags().BoolVarP(&s.yes, "yes", "y", false, "don't ask")
	return cmd
}
