package cli

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

func newDemo() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "See proxplane at work on a simulated Proxmox",
		Long: `Start a simulated Proxmox VE cluster in this process, make a machine from its
template with the same client that real clusters get, change it, take a snapshot
and remove it again.`,
		Example: `  proxplane demo`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd.Context(), cmd.OutOrStdout())
		},
	}
}

func runDemo(ctx context.Context, out io.Writer) error {
	sim, err := pvesim.New(nil)
	if err != nil {
		return err
	}
	defer sim.Close()
	transport, stop := sim.Transport()
	defer stop()
	client, err := pve.New(pve.Config{
		Endpoints:    []string{"https://pve1:8006"},
		Credentials:  pve.Password("root@pam", "proxplane"),
		RoundTripper: transport,
	})
	if err != nil {
		return err
	}
	d := &demo{client: client, out: out, start: time.Now()}
	if err := d.run(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "\ndone in %.1f s with %d requests; nothing was left behind\n", time.Since(d.start).Seconds(), sim.RequestCount())
	return nil
}

// demo tells what it does, line by line.
type demo struct {
	client *pve.Client
	out    io.Writer
	start  time.Time
}

func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.out, "%5.1fs  %s\n", time.Since(d.start).Seconds(), fmt.Sprintf(format, args...))
}

// task waits for the end of what was started and tells of it.
func (d *demo) task(ctx context.Context, what string) func(pve.UPID, error) error {
	return func(upid pve.UPID, err error) error {
		if err == nil {
			_, err = d.client.Task(upid).Wait(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		d.say("✓ %s", what)
		return nil
	}
}

func (d *demo) run(ctx context.Context) error {
	version, err := d.client.Version(ctx)
	if err != nil {
		return err
	}
	nodes, err := d.client.Nodes(ctx)
	if err != nil {
		return err
	}
	d.say("Proxmox VE %s with %d nodes", version.Version, len(nodes))
	const template, id = 9000, 101
	if err := d.task(ctx, "clone ubuntu-22-template to web-1")(d.client.VM("pve1", template).Clone(ctx, pve.CloneOptions{NewID: id, Name: "web-1"})); err != nil {
		return err
	}
	vm := d.client.VM("pve1", id)
	change := pve.ConfigChange{Set: pve.Settings{"cores": "4", "memory": "4096", "tags": "demo", "ipconfig0": "ip=dhcp"}}
	if err := vm.SetConfig(ctx, change); err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	d.say("✓ 4 cores, 4 GiB of memory")
	if err := d.task(ctx, "grow its disk to 20 GiB")(vm.Resize(ctx, pve.ResizeOptions{Disk: "scsi0", Size: "20G"})); err != nil {
		return err
	}
	if err := d.task(ctx, "start it")(vm.Start(ctx, pve.StartOptions{})); err != nil {
		return err
	}
	addr, err := d.address(ctx, vm)
	if err != nil {
		return err
	}
	d.say("✓ its guest agent answers: %s", addr)
	if err := d.task(ctx, "snapshot with memory")(vm.Snapshot(ctx, pve.SnapshotOptions{Name: "before-upgrade", VMState: true})); err != nil {
		return err
	}
	if err := d.task(ctx, "roll back to it")(vm.Rollback(ctx, "before-upgrade", false)); err != nil {
		return err
	}
	if err := d.task(ctx, "stop it")(vm.Stop(ctx, pve.StopOptions{})); err != nil {
		return err
	}
	return d.task(ctx, "destroy it")(vm.Destroy(ctx, pve.DestroyOptions{Purge: true}))
}

// address waits until the guest agent tells one.
func (d *demo) address(ctx context.Context, vm pve.VM) (netip.Addr, error) {
	for {
		nics, err := vm.Agent().Interfaces(ctx)
		for _, nic := range nics {
			for _, a := range nic.Addresses {
				addr, err := netip.ParseAddr(a.Address)
				if err == nil && !addr.IsLoopback() && !addr.IsLinkLocalUnicast() {
					return addr, nil
				}
			}
		}
		select {
		case <-ctx.Done():
			return netip.Addr{}, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
		_ = err // the agent isn't up yet
	}
}
