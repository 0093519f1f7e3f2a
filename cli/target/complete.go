package target

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/status"
)

// names lists what a word can name.
type names func(ctx context.Context, c *Site, have *model.Observed) []string

// Complete offers names, as Proxmox tells them, but those that are written already.
func (t *Target) Complete(u *ui.UI, before string, list names) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		c, err := t.Site(u)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		have, err := c.Look(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var offered []string
		for _, name := range list(cmd.Context(), c, have) {
			if !slices.Contains(args, before+name) {
				offered = append(offered, before+name)
			}
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteVMs completes names of machines.
func (t *Target) CompleteVMs(u *ui.UI) cobra.CompletionFunc { return t.Complete(u, "", vmNames) }

// CompleteFirst completes the name of a machine that something new is said of.
func (t *Target) CompleteFirst(u *ui.UI) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return t.CompleteVMs(u)(cmd, args, toComplete)
	}
}

// CompleteSnapshots completes a machine and then its snapshots, so many of them; 0: any.
func (t *Target) CompleteSnapshots(u *ui.UI, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 || most > 0 && len(args) > most {
			return t.CompleteFirst(u)(cmd, args, toComplete)
		}
		return t.Complete(u, "", snapshotsOf(args[0]))(cmd, args[1:], toComplete)
	}
}

// CompleteKinds completes "KIND/NAME", of one kind at once.
func (t *Target) CompleteKinds(u *ui.UI, kinds ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		kind, name, ok := strings.Cut(toComplete, "/")
		vm, _, taken := strings.Cut(name, "/")
		switch {
		case len(kinds) == 1:
			return t.Complete(u, kinds[0]+"/", NamesIn(kinds[0]))(cmd, args, toComplete)
		case !ok:
			return followedBySlash(kinds), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		case Kind(kind) == "snapshot" && taken:
			return t.Complete(u, kind+"/"+vm+"/", snapshotsOf(vm))(cmd, args, toComplete)
		case Kind(kind) == "snapshot":
			machines, directive := t.Complete(u, kind+"/", vmNames)(cmd, nil, toComplete)
			return followedBySlash(machines), directive | cobra.ShellCompDirectiveNoSpace
		}
		return t.Complete(u, kind+"/", NamesIn(kind))(cmd, args, toComplete)
	}
}

func followedBySlash(words []string) (out []string) {
	for _, w := range words {
		out = append(out, w+"/")
	}
	return out
}

// NamesIn returns the names that things of a kind go by; most are named by their machine.
func NamesIn(kind string) names {
	switch {
	case Kind(kind) == "image":
		return func(_ context.Context, _ *Site, have *model.Observed) []string {
			return guestNames(have, func(g *model.Guest) bool { return g.Template && !g.Container })
		}
	case Kind(kind) == "node":
		return func(_ context.Context, _ *Site, have *model.Observed) []string {
			return inOrder(maps.Keys(have.Nodes))
		}
	case kind == "storages":
		return func(_ context.Context, _ *Site, have *model.Observed) []string {
			return inOrder(maps.Keys(have.Storages))
		}
	}
	return vmNames
}

func inOrder(keys iter.Seq[string]) []string {
	list := slices.Collect(keys)
	model.SortNames(list)
	return list
}

func vmNames(_ context.Context, _ *Site, have *model.Observed) []string {
	return guestNames(have, func(g *model.Guest) bool { return !g.Template && !g.Container })
}

func guestNames(have *model.Observed, keep func(*model.Guest) bool) (list []string) {
	for _, g := range Sorted(have, keep) {
		list = append(list, g.Name)
	}
	return list
}

// snapshotsOf returns the snapshots of a machine; none if the machine isn't known.
func snapshotsOf(vm string) names {
	return func(ctx context.Context, c *Site, have *model.Observed) (list []string) {
		g, err := FindGuest(have, vm)
		if err != nil || c.Observer.Snapshots(ctx, g.VMID) != nil {
			return nil
		}
		for _, s := range status.Snapshots(c.Observer.Snapshot().Guests[g.VMID]) {
			list = append(list, s.Name)
		}
		return list
	}
}
