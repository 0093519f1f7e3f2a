// Package hand has the commands that act on machines by hand: power, snapshot, console and ssh.
package hand

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/change"
	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/progress"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/status"
)

// powerAction is one of the things that a power button does.
type powerAction struct {
	name, short, long, doing, done string
	alsoCalled                     []string
	from                           model.Status // nothing is to be done if the machine is already so
	do                             func(at model.Target, p *powering) model.Action
}

var powerOn = powerAction{
	name: "on", alsoCalled: []string{"start", "resume"}, short: "Start machines", long: "Start machines. Those that run already stay as they are, and those that are paused or\nsuspended to disk are resumed.", doing: "start", done: "running", from: model.StatusRunning,
	do: func(at model.Target, _ *powering) model.Action { return model.Start{Target: at} },
}

// resume is what starts a machine that is paused.
func resume(at model.Target, _ *powering) model.Action { return model.Resume{Target: at} }

var powerActions = []powerAction{
	powerOn,
	{
		name: "off", alsoCalled: []string{"stop", "kill"}, short: "Stop machines at once", long: "Stop machines by force, at once. The guests aren't asked: data that they haven't\nwritten yet is lost. Prefer shutdown.",
		doing: "stop", done: "stopped", from: model.StatusStopped,
		do: func(at model.Target, _ *powering) model.Action { return model.Stop{Target: at} },
	},
	{
		name: "shutdown", short: "Ask machines to shut down", long: "Ask the guests to shut down, and wait until they have. With --force, stop\nthose by force that don't.",
		doing: "shut down", done: "stopped", from: model.StatusStopped,
		do: func(at model.Target, p *powering) model.Action {
			return model.Shutdown{Target: at, Timeout: p.timeout, Force: p.force}
		},
	},
	{
		name: "reboot", alsoCalled: []string{"restart", "reset", "cycle"}, short: "Restart machines", long: "Shut machines down and start them again, with the changes that were pending.", doing: "restart", done: "running again",
		do: func(at model.Target, p *powering) model.Action { return model.Reboot{Target: at, Timeout: p.timeout} },
	},
}

// powering is one call of power.
type powering struct {
	target.Target
	target.Selection
	timeout time.Duration
	force   bool
}

// NewPower returns the command `proxplane power`.
func NewPower(u *ui.UI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "power on|off|shutdown|reboot VM…|-l LABELS",
		Short: "Start, stop and restart machines",
		Long: `Start, stop and restart machines by hand. The next apply returns machines that a
manifest names to the powerState in it.`,
		Example: `  proxplane power on web-1 web-2
  proxplane power shutdown web-1 --timeout 2m --force
  proxplane power off -f machines.yaml -l app=web
  proxplane power reboot 104711`,
	}
	command.NeedsSubcommand(cmd)
	for _, a := range powerActions {
		one := newPowerAction(u, a)
		one.SuggestFor = a.alsoCalled
		cmd.AddCommand(one)
	}
	return cmd
}

func newPowerAction(u *ui.UI, a powerAction) *cobra.Command {
	p := &powering{}
	cmd := &cobra.Command{
		Use:   a.name + " VM…|-l LABELS",
		Short: a.short,
		Long:  a.long,
		Example: fmt.Sprintf(`  proxplane power %[1]s web-1
  proxplane power %[1]s web-1 web-2 104711`, a.name),
		Args:              p.TakesNames,
		ValidArgsFunction: p.CompleteVMs(u),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.Site(u, args...)
			if err != nil {
				return err
			}
			names, err := p.Chosen(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			return p.run(cmd.Context(), u, c, a, names)
		},
	}
	p.Flags(cmd, false)
	p.SelectorFlag(cmd, target.SelectedUsage)
	if a.name == "shutdown" || a.name == "reboot" {
		cmd.Flags().DurationVar(&p.timeout, "timeout", 0, "how long the guest may take; a `TIME` such as 2m (default: as Proxmox is set up)")
	}
	if a.name == "shutdown" {
		cmd.Flags().BoolVar(&p.force, "force", false, "stop the guest by force if it doesn't shut down in time")
	}
	return cmd
}

func (p *powering) run(ctx context.Context, u *ui.UI, c *target.Site, a powerAction, names []string) error {
	guests, err := c.Guests(ctx, names...)
	if err != nil {
		return err
	}
	var jobs []progress.Job
	hand := c.Site.ByHand(ctx)
	for _, g := range guests {
		if g.Template {
			return fmt.Errorf("VM %d is a template: templates can't be started or stopped", g.VMID)
		}
		now, err := statusNow(ctx, c, g)
		switch {
		case err != nil:
			return err
		case a.from != "" && now == a.from:
			u.Say("vm/%s (%d) is %s already.", g.Name, g.VMID, now)
			continue
		}
		a, doing := a, a.doing
		switch {
		case a.name == powerOn.name && now == model.StatusPaused:
			a.do, doing = resume, "resume"
		case a.name == powerOn.name && g.Hibernated():
			doing = "resume"
		}
		jobs = append(jobs, progress.Job{
			Name: g.Name, What: fmt.Sprintf("%s VM %d", doing, g.VMID), Done: a.done,
			Do: func(ctx context.Context) error { return c.Fail(p.press(ctx, c, hand, a, g)) },
		})
	}
	if err := progress.Work(ctx, u, jobs...); err != nil {
		return err
	}
	p.remind(u, a, guests)
	return nil
}

// lookAgain is the pause between two looks whether a machine has changed its power state.
const lookAgain = 250 * time.Millisecond

// statusNow asks a guest's node whether it runs: lists are some seconds late about that.
func statusNow(ctx context.Context, c *target.Site, g *model.Guest) (model.Status, error) {
	if err := c.Observer.Status(ctx, g.VMID); err != nil {
		return "", c.Fail(err)
	}
	now := c.Observer.Snapshot().Guests[g.VMID]
	if now == nil {
		return "", fmt.Errorf("VM %d isn't there any more", g.VMID)
	}
	return now.Status, nil
}

// press does it.
func (p *powering) press(ctx context.Context, c *target.Site, hand *engine.Hand, a powerAction, g *model.Guest) error {
	err := hand.Do(ctx, g, a.do(target.At(g), p))
	if err == nil && a.name == "reboot" {
		return awaitRunning(ctx, c, g)
	}
	if !errors.Is(err, pve.ErrIgnored) {
		return err
	}
	switch a.name {
	case "shutdown":
		return ui.Instead(err, "The guest didn't shut down in time. Ask again with a longer --timeout, or stop it with --force.")
	case "reboot":
		return ui.Instead(err, fmt.Sprintf("The guest didn't shut down in time. Ask again with a longer --timeout, or stop it and start it: proxplane power off %d, then proxplane power on %[1]d.", g.VMID))
	}
	return err
}

// startsAgain is how long Proxmox may take to start a guest that it reboots, after that has
// shut down.
const startsAgain = 2 * time.Minute

// awaitRunning waits until a guest that was rebooted runs: the task ends when the guest is
// off, and Proxmox starts it in a task of its own.
func awaitRunning(ctx context.Context, c *target.Site, g *model.Guest) error {
	until := time.After(startsAgain)
	for {
		now, err := statusNow(ctx, c, g)
		if err != nil || now == model.StatusRunning {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-until:
			return ui.Advise(fmt.Errorf("the guest has shut down, and Proxmox hasn't started it again within %s", startsAgain),
				fmt.Sprintf("Look at its tasks: proxplane logs %d. Start it: proxplane power on %[1]d.", g.VMID))
		case <-time.After(lookAgain):
		}
	}
}

// remind says that a manifest may want it otherwise.
func (p *powering) remind(u *ui.UI, a powerAction, guests []*model.Guest) {
	if a.name == "reboot" {
		return
	}
	n := 0
	for _, g := range guests {
		if status.VMOf(g).Ours && !change.CopiedByHand(g) { // copies have no manifest
			n++
		}
	}
	if n > 0 {
		u.Note("%s a manifest: the next apply sets the power state that it says", status.Count(n, "machine has", "of these machines have"))
	}
}
