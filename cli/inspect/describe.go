package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/status"
)

// NewDescribe returns the command `proxplane describe`.
func NewDescribe(u *ui.UI) *cobra.Command {
	t := &target.Target{}
	cmd := &cobra.Command{
		Use:   "describe vm/NAME|image/NAME|snapshot/VM/NAME|node/NAME",
		Short: "Show the details of one object",
		Long: `Show the details of one object: its settings, its addresses, what it is waiting for,
and its last tasks. With the manifests (-f), also whether it is up to date and what
is missing. Machines and images can also be named by their VMID.`,
		Example: `  proxplane describe vm/web-1
  proxplane describe vm/web-1 -f machines.yaml
  proxplane describe image/ubuntu-22-template
  proxplane describe snapshot/web-1/before-upgrade
  proxplane describe node/pve1`,
		Args:              command.Takes(1, 1),
		ValidArgsFunction: t.CompleteKinds(u, "vm", "image", "snapshot", "node"),
		RunE:              func(cmd *cobra.Command, args []string) error { return Describe(cmd.Context(), t, u, args[0]) },
	}
	t.Flags(cmd, false)
	return cmd
}

// Describe prints the details of one object.
func Describe(ctx context.Context, t *target.Target, u *ui.UI, what string) error {
	kind, name, ok := strings.Cut(what, "/")
	if !ok || name == "" {
		return ui.Advise(fmt.Errorf("%q isn't KIND/NAME", what), "Write vm/NAME, image/NAME, snapshot/VM/NAME or node/NAME.")
	}
	c, err := t.Site(u, name)
	if err != nil {
		return err
	}
	inKubernetes := t.Objects != nil
	var text string
	switch target.Kind(kind) {
	case "vm":
		text, err = describeVM(ctx, c, u, name, len(c.Desired.VMs) > 0 || inKubernetes)
	case "image":
		text, err = describeImage(ctx, c, u, name, len(c.Desired.Images) > 0 || inKubernetes)
	case "snapshot":
		if inKubernetes {
			if name, err = c.SnapshotOf(ctx, name); err != nil {
				return err
			}
		}
		text, err = describeSnapshot(ctx, c, name)
	case "node":
		text, err = describeNode(ctx, c, u, name)
	default:
		err = fmt.Errorf("%q can't be described; there are vm, image, snapshot and node", kind)
	}
	if err == nil {
		_, err = io.WriteString(u.Out, text)
	}
	return err
}

// describeVM prints the details of a machine; with the manifests, of one of theirs.
func describeVM(ctx context.Context, c *target.Site, u *ui.UI, name string, wanted bool) (string, error) {
	about := status.About{}
	var vmid int
	if wanted {
		o, err := c.ObjectOf(ctx, name, target.IsVM)
		if err != nil {
			return "", err
		}
		about.Want, vmid = &o, o.VMID
	} else {
		g, err := c.Guest(ctx, name)
		if err != nil {
			return "", err
		}
		vmid = g.VMID
	}
	return DescribeGuest(ctx, c, u, about, vmid)
}

// DescribeGuest reads all about a guest.
func DescribeGuest(ctx context.Context, c *target.Site, u *ui.UI, about status.About, vmid int) (string, error) {
	g := c.Observer.Snapshot().Guests[vmid]
	if g == nil {
		about.Now = c.Client.Now()
		return u.Page(u.Out).Describe(about), nil
	}
	// The config is read here, so that the plan is as of the lists alone.
	if err := errors.Join(c.Observer.Config(ctx, vmid), c.Observer.Status(ctx, vmid), c.Observer.Snapshots(ctx, vmid)); err != nil {
		return "", c.Fail(err)
	}
	if g = c.Observer.Snapshot().Guests[vmid]; g == nil {
		return u.Page(u.Out).Describe(about), nil
	}
	c.AskAddresses(ctx, []*model.Guest{g})
	about.Guest = c.Observer.Snapshot().Guests[vmid]
	const last = 5
	tasks, _, err := c.Client.Node(g.Node).Tasks(ctx, pve.TaskFilter{VMID: vmid, Source: "all", Limit: last})
	if err != nil {
		return "", c.Fail(fmt.Errorf("list the tasks of VM %d: %w", vmid, err))
	}
	about.Now = c.Client.Now()
	about.Tasks = taskViews(tasks, func(pve.TaskInfo) bool { return true })
	return u.Page(u.Out).Describe(about), nil
}

func describeImage(ctx context.Context, c *target.Site, u *ui.UI, name string, wanted bool) (string, error) {
	if wanted {
		o, err := c.ObjectOf(ctx, name, func(kind string) bool { return kind == "VMImage" })
		if err != nil {
			return "", err
		}
		image, _, _ := o.Owner.CopyOf()
		templates, _, err := wantedImages(ctx, c, []string{image.Name})
		if err != nil {
			return "", err
		}
		return DescribeGuest(ctx, c, u, status.About{Want: &o, Templates: templates}, o.VMID)
	}
	have, err := c.Look(ctx)
	if err != nil {
		return "", err
	}
	if len(templatesNamed(have, []string{name})) > 1 {
		if have, err = readUsers(ctx, c); err != nil {
			return "", err
		}
		about := status.About{Templates: templatesNamed(have, []string{name}), Now: c.Client.Now()}
		return u.Page(u.Out).Describe(about), nil
	}
	g, err := target.FindGuest(have, name)
	if errors.Is(err, target.ErrNoGuest) {
		return "", ui.Advise(fmt.Errorf("no template is named %q", name), target.NearNames(have, name), "proxplane get images lists them. For an image of manifests add -f.")
	}
	if err != nil {
		return "", err
	}
	if !g.Template {
		return "", ui.Advise(fmt.Errorf("%s (%d) isn't a template", g.Name, g.VMID), fmt.Sprintf("proxplane describe vm/%d shows it.", g.VMID))
	}
	return DescribeGuest(ctx, c, u, status.About{}, g.VMID)
}

// describeSnapshot prints the details of a snapshot, VM/NAME.
func describeSnapshot(ctx context.Context, c *target.Site, name string) (string, error) {
	vm, name, ok := strings.Cut(name, "/")
	if !ok {
		return "", errors.New("snapshots are named snapshot/VM/NAME")
	}
	g, s, err := c.Snapshot(ctx, vm, name)
	if err != nil {
		return "", err
	}
	children := []string{}
	for _, other := range status.Snapshots(g) {
		if other.Parent == s.Name {
			children = append(children, other.Name)
		}
	}
	var b strings.Builder
	line := func(label, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-13s%s\n", label+":", value)
		}
	}
	line("Name", s.Name)
	line("VM", fmt.Sprintf("%s (%d on %s)", g.Name, g.VMID, g.Node))
	line("Taken", s.Created.Local().Format(time.DateTime))
	line("Memory", map[bool]string{true: "with the memory", false: "without the memory"}[s.Memory])
	line("Parent", s.Parent)
	line("Children", strings.Join(children, ", "))
	line("Description", s.Description)
	line("Owner", map[bool]string{true: "proxplane", false: "not proxplane's"}[s.Ours])
	return b.String(), nil
}

func describeNode(ctx context.Context, c *target.Site, u *ui.UI, name string) (string, error) {
	have, err := c.Look(ctx)
	if err != nil {
		return "", err
	}
	n := have.Nodes[name]
	if n == nil {
		return "", fmt.Errorf("there is no node %q; there are %s", name, strings.Join(model.NamesOf(have.Nodes), ", "))
	}
	var b strings.Builder
	layout := u.Layout(false)
	b.WriteString(status.NodeTable([]status.Node{status.NodeOf(n, have)}).Text(layout))
	if n.Online {
		nodeDetails(ctx, c, &b, name)
	}
	var storages []status.Storage
	for _, s := range model.NamesOf(have.Storages) {
		for _, v := range status.StoragesOf(have.Storages[s]) {
			if slices.Contains(v.Nodes, name) {
				storages = append(storages, v)
			}
		}
	}
	b.WriteString("\nStorages\n" + status.StorageTable(storages).Text(layout))
	var vms []status.VM
	for _, g := range target.Sorted(have, func(g *model.Guest) bool { return g.Node == name && !g.Container }) {
		vms = append(vms, status.VMOf(g))
	}
	if len(vms) > 0 {
		b.WriteString("\nMachines and templates\n" + status.VMTable(vms).Text(layout))
	}
	return b.String(), nil
}

// nodeDetails adds what only some may read: who may not sees less.
func nodeDetails(ctx context.Context, c *target.Site, b *strings.Builder, name string) {
	if s, err := c.Client.Node(name).Status(ctx); err == nil {
		fmt.Fprintf(b, "\nversion %s, kernel %s, up %s\n", s.Version, s.Kernel.Release, status.Duration(time.Duration(s.Uptime)*time.Second))
	}
	if list, err := c.Client.Node(name).Network(ctx, "any_bridge"); err == nil {
		var bridges []string
		for _, i := range list {
			bridges = append(bridges, i.Name)
		}
		model.SortNames(bridges)
		fmt.Fprintf(b, "bridges %s\n", strings.Join(bridges, ", "))
	}
}
