package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/status"
)

// powerAction is one of the things that a power button does.
type powerAction struct {
	name, short, long, doing, done string
	from                           model.Status // nothing is to be done if the machine is already so
	do                             func(ctx context.Context, vm pve.VM, p *powering) (pve.UPID, error)
}

var powerOn = powerAction{
	name: "on", short: "Start machines", long: "Start machines. Those that run already stay as they are.", doing: "start", done: "running", from: model.StatusRunning,
	do: func(ctx context.Context, vm pve.VM, _ *powering) (pve.UPID, error) {
		return vm.Start(ctx, pve.StartOptions{})
	},
}

var powerActions = []powerAction{
	powerOn,
	{
		name: "off", short: "Stop machines at once", long: "Stop machines at once, as if their plug was pulled. The guests aren't asked: what they\nhaven't written yet is lost. shutdown is gentler.",
		doing: "stop", done: "stopped", from: model.StatusStopped,
		do: func(ctx context.Context, vm pve.VM, _ *powering) (pve.UPID, error) {
			return vm.Stop(ctx, pve.StopOptions{})
		},
	},
	{
		name: "shutdown", short: "Ask machines to shut down", long: "Ask the guests to shut down, and wait until they have. With --force the plug is pulled\nwhen they don't.",
		doing: "shut down", done: "stopped", from: model.StatusStopped,
		do: func(ctx context.Context, vm pve.VM, p *powering) (pve.UPID, error) {
			return vm.Shutdown(ctx, pve.ShutdownOptions{Timeout: p.timeout, ForceStop: p.force})
		},
	},
	{
		name: "reboot", short: "Restart machines", long: "Shut machines down and start them again, with the changes that were pending.", doing: "restart", done: "running again",
		do: func(ctx context.Context, vm pve.VM, p *powering) (pve.UPID, error) {
			return vm.Reboot(ctx, pve.RebootOptions{Timeout: p.timeout})
		},
	},
}

// powering is one call of power.
type powering struct {
	target
	timeout time.Duration
	force   bool
}

func newPower(u *ui) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "power on|off|shutdown|reboot VM…",
		Short: "Start, stop and restart machines",
		Long: `Start, stop and restart machines by hand. The next apply returns machines that a
manifest names to the powerState in it.`,
		Example: `  proxplane power on web-1 web-2
  proxplane power shutdown web-1 --timeout 2m --force
  proxplane power reboot 104711`,
	}
	needsCommand(cmd)
	for _, a := range powerActions {
		cmd.AddCommand(newPowerAction(u, a))
	}
	return cmd
}

func newPowerAction(u *ui, a powerAction) *cobra.Command {
	p := &powering{}
	cmd := &cobra.Command{
		Use:   a.name + " VM…",
		Short: a.short,
		Long:  a.long,
		Example: fmt.Sprintf(`  proxplane power %[1]s web-1
  proxplane power %[1]s web-1 web-2 104711`, a.name),
		Args:              takes(1, 0),
		ValidArgsFunction: p.completeVMs(u),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.cluster(u, args...)
			if err != nil {
				return err
			}
			return p.run(cmd.Context(), u, c, a, args)
		},
	}
	p.flags(cmd, false)
	if a.name == "shutdown" || a.name == "reboot" {
		cmd.Flags().DurationVar(&p.timeout, "timeout", 0, "how long the guest may take; a `TIME` such as 2m (default: as Proxmox is set up)")
	}
	if a.name == "shutdown" {
		cmd.Flags().BoolVar(&p.force, "force", false, "pull the plug when the guest doesn't shut down in time")
	}
	return cmd
}

func (p *powering) run(ctx context.Context, u *ui, c *cluster, a powerAction, names []string) error {
	have, err := c.look(ctx)
	if err != nil {
		return err
	}
	guests, err := findGuests(have, names)
	if err != nil {
		return err
	}
	var jobs []job
	for _, g := range guests {
		if g.Template {
			return fmt.Errorf("VM %d is a template: it has no power button", g.VMID)
		}
		jobs = append(jobs, job{
			name: g.Name, what: fmt.Sprintf("%s VM %d", a.doing, g.VMID), done: a.done,
			do: func(ctx context.Context) error { return c.fail(p.press(ctx, c, a, g)) },
		})
	}
	if err := u.work(ctx, jobs...); err != nil {
		return err
	}
	p.remind(u, a, guests)
	return nil
}

// press does it, unless the machine is so already.
func (p *powering) press(ctx context.Context, c *cluster, a powerAction, g *model.Guest) error {
	if a.from != "" {
		if err := c.observer.Status(ctx, g.VMID); err != nil {
			return err
		}
		if now := c.observer.Snapshot().Guests[g.VMID]; now != nil && now.Status == a.from {
			return nil
		}
	}
	upid, err := a.do(ctx, c.vm(g), p)
	err = c.finish(ctx, upid, err)
	if a.name == "shutdown" && errors.Is(err, pve.ErrTimeout) {
		return advise(err, "The guest didn't shut down in time. Ask again with --timeout, or pull the plug with --force.")
	}
	return err
}

// remind says that a manifest may want it otherwise.
func (p *powering) remind(u *ui, a powerAction, guests []*model.Guest) {
	if a.name == "reboot" {
		return
	}
	n := 0
	for _, g := range guests {
		if status.VMOf(g).Ours {
			n++
		}
	}
	if n > 0 {
		u.note("%s proxplane's: the next apply makes the power state what the manifest says", status.Count(n, "machine is", "of these machines are"))
	}
}
