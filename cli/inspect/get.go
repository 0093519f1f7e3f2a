// Package inspect has the commands that show the state: get, describe, top, events, logs and wait.
package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/status"
)

// listing is what get shows: a table for people, values for machines, and what
// each row is known by.
type listing struct {
	kind   string // of all of them
	table  status.Table
	values []any
	keys   []string
	names  []string // as people say them
	notes  []string // what can't be listed, and why
}

func (l *listing) add(key string, value any) { l.addNamed(key, key, value) }

// tell says what can't be listed.
func (l *listing) tell(u *ui.UI) {
	for _, text := range l.notes {
		u.Note("%s", text)
	}
}

func (l *listing) addNamed(key, name string, value any) {
	l.keys, l.names = append(l.keys, key), append(l.names, name)
	l.values = append(l.values, value)
}

// lister reads what there is of a kind; names narrow it down.
type lister func(ctx context.Context, g *Get, names []string) (listing, error)

// kinds are what get can list, with their other names.
var kinds = []struct {
	name  string
	other []string
	list  lister
}{
	{"vms", []string{"vm", "virtualmachine", "virtualmachines", "clone", "clones"}, listVMs},
	{"images", []string{"image", "vmimage", "vmimages", "template", "templates"}, listImages},
	{"snapshots", []string{"snapshot", "vmsnapshot", "vmsnapshots"}, listSnapshots},
	{"nodes", []string{"node"}, listNodes},
	{"storages", []string{"storage"}, listStorages},
	{"tasks", []string{"task"}, listTasks},
	{"addresses", []string{"address", "ip", "ips"}, listAddresses},
}

func kindNames() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

func findKind(name string) (lister, error) {
	for _, k := range kinds {
		if k.name == strings.ToLower(name) || slices.Contains(k.other, strings.ToLower(name)) {
			return func(ctx context.Context, g *Get, names []string) (listing, error) {
				l, err := k.list(ctx, g, names)
				l.kind = k.name
				if err != nil {
					return l, err
				}
				return g.selected(l)
			}, nil
		}
	}
	return nil, fmt.Errorf("%q can't be listed; there are %s", name, strings.Join(kindNames(), ", "))
}

// Get is one call of get.
type Get struct {
	target.Target
	target.Selection
	c      *target.Site
	output string
	watch  bool
	every  time.Duration
}

// NewGet returns the command `proxplane get`.
func NewGet(u *ui.UI) *cobra.Command {
	g := &Get{}
	cmd := &cobra.Command{
		Use:   "get vms|images|snapshots|nodes|storages|tasks|addresses [NAME…]",
		Short: "List machines, images, nodes, storages, tasks and addresses",
		Long: `List what the cluster has. With manifests (-f) that declare machines or images, list
only these, and whether they are up to date.

Name machines by their name or VMID, also in "get snapshots" and "get tasks".

"get addresses" shows which VM has which address: by its config, by its claim to one of a
pool, or as its guest agent reports. With a Provider that has pools, it shows theirs.`,
		Example: `  proxplane get vms
  proxplane get vms web-1 web-2 -o wide
  proxplane get vms -f machines.yaml
  proxplane get vms -o json | jq -r '.[] | select(.state == "running") | .name'
  proxplane get vms -l web -o name
  proxplane get snapshots web-1
  proxplane get storages
  proxplane get addresses -f provider.yaml
  proxplane get tasks --watch`,
		Args: command.Takes(1, 0),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return kindNames(), cobra.ShellCompDirectiveNoFileComp
			}
			return g.Complete(u, "", target.NamesIn(args[0]))(cmd, args[1:], toComplete)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.Run(cmd.Context(), u, args[0], args[1:])
		},
	}
	g.Flags(cmd, false)
	g.OutputFlag(cmd)
	g.SelectorFlag(cmd, "only machines with these `LABELS` of their manifests, such as app=web; without manifests, with these tags, such as web or '!web'")
	cmd.Flags().BoolVarP(&g.watch, "watch", "w", false, "keep running, and show changes")
	cmd.Flags().DurationVar(&g.every, "interval", 2*time.Second, "how often --watch looks; a `TIME`")
	return cmd
}

// formats are what get can write, beside its table.
var formats = []string{"wide", "json", "yaml", "name"}

func (g *Get) OutputFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&g.output, "output", "o", "", "`FORMAT`: wide, json, yaml or name")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// Run lists what there is of a kind, once or as it changes.
func (g *Get) Run(ctx context.Context, u *ui.UI, kind string, names []string) error {
	list, err := findKind(kind)
	if err != nil {
		return err
	}
	if err := command.CheckOutput(g.output, formats...); err != nil {
		return err
	}
	if g.c, err = g.Site(u); err != nil {
		return err
	}
	if g.watch {
		return g.follow(ctx, u, list, names)
	}
	l, err := list(ctx, g, names)
	if err != nil {
		return err
	}
	return g.show(u, l, names)
}

// show writes a listing in the format that was asked for.
func (g *Get) show(u *ui.UI, l listing, names []string) error {
	if l.values == nil {
		l.values = []any{}
	}
	l.tell(u)
	switch g.output {
	case "json":
		return ui.WriteJSON(u.Out, l.values)
	case "yaml":
		b, err := yaml.Marshal(l.values)
		if err == nil {
			_, err = u.Out.Write(b)
		}
		return err
	case "name":
		for _, ref := range l.references() {
			u.Say("%s", ref)
		}
		return nil
	}
	if len(l.values) == 0 {
		seen := ""
		if creds := g.c.Connection.Credentials; creds.User() != "root@pam" || creds.IsToken() {
			seen = " that " + ui.Who(creds) + " may see"
		}
		fmt.Fprintf(u.Err, "There are no %s%s%s.\n", l.kind, g.scope(names), seen)
		return nil
	}
	_, err := io.WriteString(u.Out, l.table.Text(u.Layout(g.output == "wide")))
	return err
}

// scope says which of a kind were asked for, if not all.
func (g *Get) scope(names []string) string {
	switch {
	case g.Selector != "":
		return " for -l " + g.Selector
	case len(names) > 0:
		return " of " + strings.Join(names, ", ")
	}
	return ""
}

// follow shows the listing and then each row that changes.
func (g *Get) follow(ctx context.Context, u *ui.UI, list lister, names []string) error {
	if g.every <= 0 {
		return errors.New("--interval must be more than 0")
	}
	seen := map[string]sighting{}
	away := outage{u: u}
	for first := true; ; {
		l, err := list(ctx, g, names)
		switch {
		case err == nil:
			away.over()
			if first {
				l.tell(u)
			}
			if err := g.changes(u, l, seen, first); err != nil {
				return err
			}
			first = false
		case first || ctx.Err() != nil || !away.bears(err):
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(g.every):
		}
	}
}

// sighting is how a row was the last time.
type sighting struct{ name, value string }

// changes writes the rows that weren't so the last time.
func (g *Get) changes(u *ui.UI, l listing, seen map[string]sighting, first bool) error {
	lines := strings.SplitAfter(l.table.Text(u.Layout(g.output == "wide")), "\n")
	if first && (g.output == "" || g.output == "wide") {
		if _, err := io.WriteString(u.Out, lines[0]); err != nil {
			return err
		}
	}
	here, refs := map[string]bool{}, l.references()
	for i, value := range l.values {
		b, err := json.Marshal(value)
		if err != nil {
			return err
		}
		here[l.keys[i]] = true
		if seen[l.keys[i]].value == string(b) {
			continue
		}
		seen[l.keys[i]] = sighting{l.names[i], string(b)}
		if g.output == "name" {
			lines[i+1] = refs[i] + "\n"
		}
		if err := g.changed(u, lines[i+1], value, b); err != nil {
			return err
		}
	}
	for key, last := range seen {
		if !here[key] {
			delete(seen, key)
			if err := g.vanished(u, last.name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *Get) changed(u *ui.UI, line string, value any, b []byte) error {
	var err error
	switch g.output {
	case "json":
		_, err = fmt.Fprintf(u.Out, "%s\n", b)
	case "yaml":
		if b, err = yaml.Marshal(value); err == nil {
			_, err = fmt.Fprintf(u.Out, "---\n%s", b)
		}
	default:
		_, err = io.WriteString(u.Out, line)
	}
	return err
}

func (g *Get) vanished(u *ui.UI, name string) error {
	switch g.output {
	case "json":
		return ui.WriteLine(u.Out, map[string]string{"gone": name})
	case "yaml":
		_, err := fmt.Fprintf(u.Out, "---\ngone: %q\n", name)
		return err
	}
	_, err := fmt.Fprintf(u.Out, "%s  gone\n", name)
	return err
}
