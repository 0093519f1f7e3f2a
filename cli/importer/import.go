// Package importer has the commands that write manifests, or objects of a Kubernetes, for machines that
// exist already.
package importer

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/manifest/draft"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/spec/export"
	"github.com/proxplane/proxplane/status"
)

// importing is one call of import.
type importing struct {
	target.Target
	adopt, yes bool
	as         string // the name of the object
}

// New returns the command `proxplane import`.
func New(u *ui.UI) *cobra.Command {
	i := &importing{}
	cmd := &cobra.Command{
		Use:   "import VMID|NAME…",
		Short: "Write the manifests of existing machines",
		Long: `Write the manifests of existing machines to the standard output.
Applied to these machines they change nothing: that is checked. Settings that manifests
don't have (a disk that isn't on a storage, an interface without a bridge) are left
out and stay as they are; comments list them. Comments also list what a machine that
is recreated from the manifest would lack.

With --adopt the machines become proxplane's: each gets a marker in its
description and two tags, and nothing else changes. From then on plan and apply
work on them as on those that proxplane made. Their deletionPolicy is Retain unless
the manifest says otherwise: delete lets go of them, and they stay in Proxmox.

A machine is adopted as the object that --as names; else as the one of the
manifests given by -f that was made for it, or has its VMID or its name; else under
its present name. release is the opposite of adopting.`,
		Example: `  proxplane import 104
  proxplane import 104 105 > imported.yaml
  proxplane import web-1 --adopt > web-1.yaml
  proxplane import 104 --adopt --as db-1 > db-1.yaml
  proxplane import 104 --adopt -f machines.yaml
  proxplane plan -f imported.yaml`,
		Args:              command.Takes(1, 0),
		ValidArgsFunction: i.CompleteVMs(u),
		RunE:              func(cmd *cobra.Command, args []string) error { return i.run(cmd.Context(), u, args) },
	}
	i.Flags(cmd, false)
	cmd.Flags().BoolVar(&i.adopt, "adopt", false, "make the machines proxplane's")
	cmd.Flags().StringVar(&i.as, "as", "", "`NAME` of the VirtualMachine that the machine becomes")
	cmd.Flags().BoolVarP(&i.yes, "yes", "y", false, "don't ask before adopting")
	return cmd
}

func (i *importing) run(ctx context.Context, u *ui.UI, names []string) error {
	if err := i.checkAs(names); err != nil {
		return err
	}
	c, err := i.Site(u, names...)
	if err != nil {
		return err
	}
	guests, err := readGuests(ctx, c, names)
	if err != nil {
		return err
	}
	found, err := i.write(c, guests)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(u.Out, found.docs.Text()); err != nil {
		return err
	}
	clean := found.tell(u)
	if i.adopt {
		return i.adoptAll(ctx, u, c, found.machines)
	}
	for _, m := range found.machines {
		if m.doubt != nil {
			u.Note("%s", m.doubt)
		}
	}
	if !clean {
		return &ui.ExitError{Code: ui.ExitFailed}
	}
	return nil
}

// tell prints what manifests omit of their machines, and whether they would change
// anything.
func (found imported) tell(u *ui.UI) (clean bool) {
	clean = true
	for _, m := range found.machines {
		if len(m.unpooled) > 0 {
			u.Note("VM %d has %s from a pool; name the file with its Provider by -f, so that the manifest says so", m.guest.VMID, strings.Join(m.unpooled, " and "))
		}
		if len(m.omitted) > 0 {
			u.Note("VM %d: not in the manifest, and so left as they are: %s", m.guest.VMID, strings.Join(m.omitted, ", "))
		}
		for _, text := range m.differences {
			if m.given {
				u.Note("VM %d isn't as the manifest of %s says; apply would %s", m.guest.VMID, status.Name(m.owner.Key), text)
				continue
			}
			clean = false
			u.Note("VM %d: a manifest can't describe it as it is; apply would %s", m.guest.VMID, text)
		}
	}
	return clean
}

// readGuests reads all about some guests.
func readGuests(ctx context.Context, c *target.Site, names []string) ([]int, error) {
	have, err := c.LookNow(ctx)
	if err != nil {
		return nil, err
	}
	guests, err := c.FindAll(ctx, have, names)
	if err != nil {
		return nil, err
	}
	var ids []int
	for _, g := range guests {
		if g.Template {
			return nil, fmt.Errorf("VM %d is a template; name it in a VMImage instead: source: %q", g.VMID, g.Name)
		}
		ids = append(ids, g.VMID)
	}
	if err := c.Fail(c.Observer.Examine(ctx, ids...)); err != nil {
		return nil, err
	}
	return ids, nil
}

// imported are machines with their manifests.
type imported struct {
	docs     *draft.Documents
	machines []importedMachine
}

type importedMachine struct {
	guest       *model.Guest
	object      plan.Object // what would be done if it was ours
	owner       model.Owner
	want        model.VM
	differences []string
	omitted     []string // settings that aren't in the manifest
	unpooled    []string // addresses from pools that nobody has named
	given       bool     // the manifest is one that was given, not one that was written
	doubt       error    // why it may be another object's
}

// write writes the manifests of guests, in the form that differs least from
// what is there.
func (i *importing) write(c *target.Site, ids []int) (imported, error) {
	have := c.Observer.Snapshot()
	out := imported{docs: &draft.Documents{}}
	for _, id := range ids {
		g := have.Guests[id]
		if m := g.Config.Marker; m != nil && i.others(m.Owner) {
			return out, ui.Advise(fmt.Errorf("VM %d is %s of set %s already", id, status.Name(m.Owner.Key), m.Owner.Set),
				fmt.Sprintf("To move it out of that set, release it first: proxplane release %d", id))
		}
		name, manifest, err := i.objectFor(c.Desired, g)
		if err != nil {
			return out, err
		}
		if manifest && i.adopt {
			m := judge(c.Desired, name, have, g)
			m.given = true
			out.machines = append(out.machines, m)
			continue
		}
		best, docs, err := i.export(have, g, c.Networks, cmp.Or(name, export.NameOf(g)))
		if err != nil {
			// What is wrong with a text that nobody has seen isn't for those who read
			// manifests.
			return out, fmt.Errorf("VM %d can't be described by a manifest: %s", id, err.Error())
		}
		if name == "" {
			best.doubt = i.madeForAnother(have, best)
		}
		out.docs.Merge(docs)
		out.machines = append(out.machines, best)
	}
	return out, nil
}

// others reports whether a guest is of somebody who isn't about to import it. In
// Kubernetes it may have been of an object that is no more.
func (i *importing) others(o model.Owner) bool {
	if i.Objects != nil && o.UID != "" {
		return o.Namespace != i.Objects.Name || i.Objects.HasOf(o) || o.Door != manifest.Door || o.Kind != "VirtualMachine"
	}
	return o.Set != i.Set || o.Door != manifest.Door || o.Kind != "VirtualMachine"
}

// export writes the manifest of a guest, reads it again, and plans with it as if the
// guest was ours.
func (i *importing) export(have *model.Observed, g *model.Guest, networks spec.Networks, name string) (importedMachine, *draft.Documents, error) {
	owner := model.Owner{Door: manifest.Door, Set: i.Set, Key: model.Key{Kind: "VirtualMachine", Name: name}}
	e, err := export.Of(have, g, owner, networks)
	if err != nil {
		return importedMachine{}, nil, err
	}
	docs := draft.Machine(g, e)
	read := &draft.Documents{}
	if len(networks) > 0 {
		read.Add("", "Provider", "import", draft.Networks(networks))
	}
	read.Merge(docs)
	set, err := manifest.Parse("import", []byte(read.Text()))
	if err != nil {
		return importedMachine{}, nil, err
	}
	// The endpoint is for the sake of the form: nothing connects to it.
	getenv := func(name string) string {
		return map[string]string{"PVE_ENDPOINT": "import", "PVE_USERNAME": "import@import", "PVE_PASSWORD": "import"}[name]
	}
	all, err := set.Wanted(manifest.Options{Set: i.Set, Getenv: getenv, ReadFile: os.ReadFile})
	if err != nil {
		return importedMachine{}, nil, err
	}
	m := judge(all[0].Desired, name, have, g)
	m.omitted, m.unpooled = slices.Sorted(maps.Keys(e.Omitted)), unpooled(g, e.VM)
	return m, docs, nil
}

// unpooled are the addresses that a guest has from pools, and that its manifest doesn't get from there.
func unpooled(g *model.Guest, v model.VM) []string {
	var list []string
	if mark := g.Marker(); mark != nil {
		for _, slot := range model.NamesOf(mark.Addresses) {
			if !slices.ContainsFunc(v.Leases, func(l model.Lease) bool { return l.Slot == slot }) {
				list = append(list, mark.Addresses[slot]...)
			}
		}
	}
	return list
}

// judge plans with a guest as if it was the machine of a name that is wanted.
func judge(want model.Desired, name string, have *model.Observed, g *model.Guest) importedMachine {
	at := slices.IndexFunc(want.VMs, func(v model.VM) bool { return v.Owner.Name == name })
	m := importedMachine{guest: g, owner: want.VMs[at].Owner, want: want.VMs[at]}
	m.object = export.PlanAs(want, have, g, m.want)
	m.differences = Differences(m.object)
	return m
}

// Differences returns what a plan would change beside our marks.
func Differences(o plan.Object) []string {
	var list []string
	for _, s := range o.Steps {
		if export.OnlyMarks(s.Action) {
			continue
		}
		list = append(list, s.What+": "+status.Reason(s.Why, s.Diff))
	}
	for _, r := range o.Refused {
		list = append(list, r.What+": "+status.Reason(r.Why, r.Diff))
	}
	if o.Wait != nil {
		list = append(list, "wait: "+status.CLI.Wait(*o.Wait))
	}
	return list
}
