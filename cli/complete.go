package cli

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/status"
)

// names lists what a word can name.
type names func(ctx context.Context, c *cluster, have *model.Observed) []string

// complete offers names, as Proxmox tells them, but those that are written already.
func (t *target) complete(u *ui, before string, list names) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		c, err := t.cluster(u)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		have, err := c.look(cmd.Context())
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

// completeVMs completes names of machines.
func (t *target) completeVMs(u *ui) cobra.CompletionFunc { return t.complete(u, "", vmNames) }

// completeFirst completes the name of a machine that something new is said of.
func (t *target) completeFirst(u *ui) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return t.completeVMs(u)(cmd, args, toComplete)
	}
}

// completeSnapshots completes a machine and then its snapshots, so many of them; 0: any.
func (t *target) completeSnapshots(u *ui, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 || most > 0 && len(args) > most {
			return t.completeFirst(u)(cmd, args, toComplete)
		}
		return t.complete(u, "", snapshotsOf(args[0]))(cmd, args[1:], toComplete)
	}
}

// completeKinds completes "KIND/NAME", of one kind at once.
func (t *target) completeKinds(u *ui, kinds ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		kind, name, ok := strings.Cut(toComplete, "/")
		vm, _, taken := strings.Cut(name, "/")
		switch {
		case len(kinds) == 1:
			return t.complete(u, kinds[0]+"/", namesIn(kinds[0]))(cmd, args, toComplete)
		case !ok:
			return followedBySlash(kinds), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		case meant(kind) == "snapshot" && taken:
			return t.complete(u, kind+"/"+vm+"/", snapshotsOf(vm))(cmd, args, toComplete)
		case meant(kind) == "snapshot":
			machines, directive := t.complete(u, kind+"/", vmNames)(cmd, nil, toComplete)
			return followedBySlash(machines), directive | cobra.ShellCompDirectiveNoSpace
		}
		return t.complete(u, kind+"/", namesIn(kind))(cmd, args, toComplete)
	}
}

func followedBySlash(words []string) (out []string) {
	for _, w := range words {
		out = append(out, w+"/")
	}
	return out
}

// namesOf are the names that things of a kind go by; most are named by their machine.
func namesIn(kind string) names {
	switch {
	case meant(kind) == "image":
		return func(_ context.Context, _ *cluster, have *model.Observed) []string {
			return guestNames(have, func(g *model.Guest) bool { return g.Template && !g.Container })
		}
	case meant(kind) == "node":
		return func(_ context.Context, _ *cluster, have *model.Observed) []string {
			return inOrder(maps.Keys(have.Nodes))
		}
	case kind == "storages":
		return func(_ context.Context, _ *cluster, have *model.Observed) []string {
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

func vmNames(_ context.Context, _ *cluster, have *model.Observed) []string {
	return guestNames(have, func(g *model.Guest) bool { return !g.Template && !g.Container })
}

func guestNames(have *model.Observed, keep func(*model.Guest) bool) (list []string) {
	for _, g := range sorted(have, keep) {
		list = append(list, g.Name)
	}
	return list
}

// snapshotsOf are the snapshots of a machine; none, if nobody knows it.
func snapshotsOf(vm string) names {
	return func(ctx context.Context, c *cluster, have *model.Observed) (list []string) {
		g, err := findGuest(have, vm)
		if err != nil || c.observer.Snapshots(ctx, g.VMID) != nil {
			return nil
		}
		for _, s := range status.Snapshots(c.observer.Snapshot().Guests[g.VMID]) {
			list = append(list, s.Name)
		}
		return list
	}
}
