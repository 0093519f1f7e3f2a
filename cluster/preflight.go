package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/spec/suggest"
	"github.com/proxplane/proxplane/status"
)

// Check finds conflicts with Proxmox and the network, before anything is created.
func (w *Work) Check(ctx context.Context, f *File) error {
	var errs Errors
	fail := func(field, format string, args ...any) {
		errs = append(errs, &Error{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	var nodes []string
	there := &Cluster{}
	if err := w.Site.View(ctx, func(have *model.Observed) {
		there.hosts = len(have.Nodes)
		nodes = checkNodesOf(f, have, fail)
		checkStorages(f, have, nodes, fail)
		checkTemplate(f, have, fail)
	}); err != nil {
		return err
	}
	if len(errs) > 0 {
		return errs
	}
	if err := w.checkVIP(ctx, f, nodes); err != nil {
		return err
	}
	wants := there.wanted(Record{Generation: 1, File: f}, newToken())
	if err := wants.check(NodesOf(f)); err != nil { // what is wrong with addresses, names and sizes
		return err
	}
	if err := w.checkNamesakes(ctx, f.Name, NodesOf(f)); err != nil {
		return err
	}
	return w.checkPlan(ctx, wants, NodesOf(f), nil)
}

// checkNamesakes finds machines of other clusters that have the name of one that is to be made: "a-cp" of cluster lab is
// called like "cp" of cluster lab-a.
func (w *Work) checkNamesakes(ctx context.Context, cluster string, nodes []Node) error {
	named := map[int]string{}
	if err := w.Site.View(ctx, func(have *model.Observed) {
		for id, g := range have.Guests {
			if slices.ContainsFunc(nodes, func(n Node) bool { return n.Name == g.Name }) {
				named[id] = g.Name
			}
		}
	}); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(named)) {
		owner, err := w.Site.Owner(ctx, id)
		switch {
		case errors.Is(err, site.ErrNotFound):
		case err != nil:
			return err
		case owner.Door == Door && owner.Set != cluster:
			return &Error{Text: fmt.Sprintf("%s is the name of a machine of cluster %s, too; give the cluster or its pool another name", named[id], owner.Set)}
		}
	}
	return nil
}

// checkMore finds out whether Proxmox can take the machines that a record has more than there are, before
// anybody writes down that they are wanted.
func (w *Work) checkMore(ctx context.Context, c *Cluster, r Record) error {
	fresh := map[string]bool{}
	for _, n := range NodesOf(r.File) {
		if !slices.ContainsFunc(c.Members, func(m Member) bool { return m.Name == n.Name }) {
			fresh[n.Name] = true
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	if err := w.checkNamesakes(ctx, r.File.Name, slices.DeleteFunc(NodesOf(r.File), func(n Node) bool { return !fresh[n.Name] })); err != nil {
		return err
	}
	wants := c.wanted(r, newToken())
	nodes := slices.DeleteFunc(wants.nodes(c, NodesOf(r.File)), func(n Node) bool {
		return slices.ContainsFunc(c.Members, func(m Member) bool { return m.Name == n.Name && m.Away })
	})
	return w.checkPlan(ctx, wants, nodes, fresh)
}

// checkPlan finds machines that Proxmox can't take: a bridge that isn't there, no node with enough memory, a
// storage without room. All are looked at together, so that nothing is made of a cluster that can't be whole; only
// the fresh ones are told, unless fresh is nil.
func (w *Work) checkPlan(ctx context.Context, wants *wanted, nodes []Node, fresh map[string]bool) error {
	want, err := wants.desired(nodes)
	if err != nil {
		return err
	}
	want.Foresee = true
	p, err := w.Site.Plan(ctx, want)
	if err != nil {
		return err
	}
	for _, o := range p.Objects { // they are alike: the first one says it
		if o.Blocked() && o.Wait != nil && (fresh == nil || fresh[o.Owner.Name]) {
			if o.Wait.Reason == model.WaitPrivilege {
				return &Error{Text: fmt.Sprintf("%s can't be made: %s; the commands that grant it come from: proxplane doctor cluster FILE", o.Owner.Name, o.Wait.Text)}
			}
			return &Error{Text: fmt.Sprintf("%s can't be made: %s", o.Owner.Name, status.Cluster.Wait(*o.Wait))}
		}
	}
	return nil
}

type failing = func(field, format string, args ...any)

// checkNodesOf finds nodes that aren't there, and gives those that machines may be on.
func checkNodesOf(f *File, have *model.Observed, fail failing) []string {
	known := slices.Sorted(maps.Keys(have.Nodes))
	check := func(field string, list []string) {
		for _, n := range list {
			switch node := have.Nodes[n]; {
			case node == nil:
				fail(field, "Proxmox has no node %q; %s", suggest.Shortened(n), suggest.DidYouMean(n, known))
			case !node.Online:
				fail(field, "node %s is offline", n)
			}
		}
	}
	field := "provider.node"
	if f.Provider.Node == "" {
		field = "provider.nodes"
	}
	check(field, f.Provider.nodes())
	list := f.Provider.nodes()
	if list == nil {
		list = known
	}
	for _, p := range f.Pools() {
		check(fieldOf(f, p)+".nodes", p.Nodes)
		list = append(slices.Clone(list), p.Nodes...)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(n string) bool { return have.Nodes[n] == nil || !have.Nodes[n].Online })
}

// leastDisk is what a machine takes on its storage as soon as Kubernetes runs in it.
const leastDisk = 10 << 30

// checkStorages finds storages that can't hold what they are to.
func checkStorages(f *File, have *model.Observed, nodes []string, fail failing) {
	names := slices.Sorted(maps.Keys(have.Storages))
	hold := func(field, name, content string) *model.Storage {
		s := have.Storages[name]
		switch {
		case s == nil && len(names) == 0:
			fail(field, "these credentials see no storage of Proxmox; what they lack is said by: proxplane doctor cluster FILE")
			return nil
		case s == nil:
			fail(field, "Proxmox has no storage %q; %s", suggest.Shortened(name), suggest.DidYouMean(name, names))
			return nil
		case !s.Content[content]:
			fail(field, "storage %s takes no %s (it has content %s); add that content to it in Proxmox (Datacenter, Storage), or name another storage", name, contentWords[content], strings.Join(slices.Sorted(maps.Keys(s.Content)), ", "))
			return nil
		}
		for _, n := range nodes {
			if _, there := s.OnNode[n]; !there && !s.Late[n] {
				fail(field, "storage %s isn't on node %s, where machines may be", name, n)
				return nil
			}
		}
		return s
	}
	hold("provider.isoDatastore", f.Provider.ISODatastore, "iso")
	machines, fields := map[string]int64{}, map[string]string{}
	for _, p := range f.Pools() {
		name, field := f.Provider.Datastore, "provider.datastore"
		if p.Datastore != "" {
			name, field = p.Datastore, fieldOf(f, p)+".datastore"
		}
		if name != "" { // else it is where the template is
			machines[name] += int64(*p.Count)
			fields[name] = cmp.Or(fields[name], field)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		s := hold(fields[name], name, "images")
		if s == nil {
			continue
		}
		var free int64
		for _, n := range nodes {
			if free += s.OnNode[n].Free(); s.Shared {
				break
			}
		}
		if need := machines[name] * leastDisk; len(nodes) > 0 && free < need {
			fail(fields[name], "storage %s has %d GiB left, and %d machines take %d GiB at least", name, free>>30, machines[name], need>>30)
		}
	}
}

var contentWords = map[string]string{"iso": "ISO images (for first-boot data)", "images": "disks"}

// checkTemplate finds out whether the template is there.
func checkTemplate(f *File, have *model.Observed, fail failing) {
	name := f.Provider.Template
	if name == "" {
		return
	}
	var names []string
	for _, g := range have.Guests {
		if g.Template && (g.Name == name || strconv.Itoa(g.VMID) == name) {
			return
		}
		if g.Template {
			names = append(names, g.Name)
		}
	}
	if slices.Sort(names); len(names) == 0 {
		fail("provider.template", "Proxmox has no template %q that these credentials see", suggest.Shortened(name))
		return
	}
	fail("provider.template", "Proxmox has no template %q; %s", suggest.Shortened(name), suggest.DidYouMean(name, names))
}
