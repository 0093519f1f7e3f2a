package hook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/host/hook"
	"github.com/proxplane/proxplane/host/ssh"
)

func newHookUninstall(u *ui.UI) *cobra.Command {
	h := &hookHosts{}
	cmd := &cobra.Command{
		Use:   "uninstall [--node NAME…]",
		Short: "Remove the hook from Proxmox hosts",
		Long: `Remove what hook install has put on Proxmox hosts, over SSH. It is refused while a
machine has the hook: it couldn't be started any more.

A ` + hook.PolicyFile + ` that somebody has written rules into stays.

With --print, the commands that do the same by hand are printed.`,
		Example: `  proxplane hook uninstall --node pve1 --node pve2 -i ~/.ssh/id_ed25519
  proxplane hook uninstall --storage nfs
  proxplane hook uninstall --node pve1 --print`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return h.uninstall(cmd.Context(), u) },
	}
	h.flags(cmd)
	return cmd
}

func (h *hookHosts) uninstall(ctx context.Context, u *ui.UI) error {
	c, err := h.Site(u)
	if err != nil {
		return err
	}
	places, err := h.places(ctx, c)
	if err != nil {
		return err
	}
	if err := h.unused(ctx, c, places); err != nil {
		return err
	}
	if h.print {
		for _, p := range places {
			u.Say("%s", h.sshLine(p, "rm -f "+ui.Quoted(p.file)))
		}
		return nil
	}
	config, err := h.way(ctx, u, c)
	if err != nil {
		return ui.Advise(err, "Or print the commands to run by hand: --print.")
	}
	for _, p := range places {
		done, err := uninstall(ctx, p, config)
		if err != nil {
			return h.Explain(u, fmt.Errorf("node %s: %w", p.node, err), p.address)
		}
		for _, line := range done {
			u.Say("✓ %s  %s", p.node, line)
		}
	}
	return nil
}

// unused makes sure that no machine needs the hook where it is to go.
func (h *hookHosts) unused(ctx context.Context, c *target.Site, places []place) error {
	const all = "/vms"
	rights, err := c.Client.Access().Permissions(ctx, "", all)
	if err != nil {
		return c.Fail(err)
	}
	if !rights[all]["VM.Audit"] { // and below
		return ui.Advise(errors.New("these credentials can't see all machines, so it isn't known whether one has the hook"), "They need VM.Audit on "+all+"; root@pam has it.")
	}
	have, err := c.Observer.Look(ctx)
	if err != nil {
		return c.Fail(err)
	}
	shared := have.Storages[h.storage] != nil && have.Storages[h.storage].Shared
	var with []string
	for _, id := range slices.Sorted(maps.Keys(have.Guests)) {
		g := have.Guests[id]
		here := slices.ContainsFunc(places, func(p place) bool { return p.node == g.Node })
		if g.Container || !here && !shared { // the hook is for VMs
			continue
		}
		if err := c.Observer.Config(ctx, id); err != nil {
			return c.Fail(err)
		}
		if g = c.Observer.Snapshot().Guests[id]; g != nil && g.Config != nil && g.Config.Options["hookscript"] == h.volume() {
			with = append(with, fmt.Sprintf("%s (%d) on %s", g.Name, id, g.Node))
		}
	}
	if len(with) == 0 {
		return nil
	}
	return ui.Advise(fmt.Errorf("%s is in use, and machines that have it can't start without it: %s", h.volume(), ui.AndList(with)),
		"Take out of their manifests what needs it and apply them, or on a node: qm set VMID --delete hookscript")
}

// uninstall removes the hook from one node, and returns what was done.
func uninstall(ctx context.Context, p place, config ssh.Config) ([]string, error) {
	conn, err := ssh.Dial(ctx, p.address, config)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := conn.Stat(ctx, p.file); errors.Is(err, fs.ErrNotExist) {
		return []string{p.file + " isn't there"}, nil
	}
	if err := conn.Remove(ctx, p.file); err != nil {
		return nil, err
	}
	done := []string{p.file + " is removed"}
	switch policy, err := conn.ReadFile(ctx, hook.PolicyFile); {
	case errors.Is(err, fs.ErrNotExist):
		return done, nil
	case err != nil:
		return done, err
	case strings.TrimSpace(string(policy)) != strings.TrimSpace(hook.StartingPolicy):
		return append(done, hook.PolicyFile+" is kept: it has rules that somebody wrote"), nil
	}
	if err := conn.Remove(ctx, hook.PolicyFile); err != nil {
		return done, err
	}
	_ = conn.Remove(ctx, path.Dir(hook.PolicyFile)) // there may be more in it
	return append(done, hook.PolicyFile+" is removed"), nil
}
