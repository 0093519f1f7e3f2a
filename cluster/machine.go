package cluster

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

// network is the name of the machines' network in what is wanted.
const network = "cluster"

// Made has the known facts about existing machines.
type Made struct {
	// Kept have their first-boot data in Proxmox: these stay as they are, whatever the file says
	// now. Machines don't read first-boot data again once they have booted.
	Kept map[string]bool
	// First is the name of the machine that made the cluster; empty: the first control plane does.
	First string
}

// wanted is what a file wants of Proxmox for some machines.
type wanted struct {
	file    *File
	record  Record
	token   string
	made    Made
	release map[string]Release // of machines that are there, by name
	hosts   int                // nodes of Proxmox
}

// spec of the Proxmox cluster.
func (w *wanted) cluster() *spec.Cluster {
	p := &w.file.Provider
	c := &spec.Cluster{
		Name: "provider", Nodes: p.nodes(),
		Defaults: spec.Defaults{Storage: p.Datastore, ISOStorage: p.ISODatastore, Bridge: p.Bridge},
		Networks: spec.Networks{network: {Bridge: p.Bridge, VLAN: p.VLANTag}},
	}
	if n := p.Network; len(n.Pool) > 0 {
		own := c.Networks[network]
		own.Pool = &spec.Pool{Ranges: n.Pool, Exclude: excluded(n, p.VIP), Gateway: n.Gateway, DNS: n.DNS, Search: n.Search}
		if isIPv6(p.VIP) {
			own.Pool.Prefix6, own.Pool.Gateway6, own.Pool.Gateway = n.Prefix, n.Gateway, ""
		} else {
			own.Pool.Prefix = n.Prefix
		}
		c.Networks[network] = own
	}
	return c
}

// nodes are those of Proxmox that machines may be on; nil: all.
func (p *Provider) nodes() []string {
	switch {
	case p.Node != "":
		return []string{p.Node}
	case len(p.Nodes) == 1 && p.Nodes[0] == "*":
		return nil
	}
	return p.Nodes
}

// image is what machines are made from; nil: a template that is there.
func (w *wanted) image() *spec.Image {
	p := &w.file.Provider
	if p.Template != "" {
		return nil
	}
	return &spec.Image{
		Owner: imageOwner(w.file.Name), URL: p.Image.URL, Checksum: p.Image.Checksum, ChecksumType: p.Image.ChecksumType, Storage: p.Datastore,
		OS: spec.OS{Type: "l26"},
	}
}

// machine is one machine.
func (w *wanted) machine(n Node) (spec.Machine, error) {
	pool := w.file.Pool(n.Pool)
	if pool == nil {
		return spec.Machine{}, fmt.Errorf("there is no pool %s in the file", n.Pool)
	}
	yes := true
	size := resource.MustParse(fmt.Sprintf("%dGi", pool.Disk))
	m := spec.Machine{
		Owner: n.Owner(w.file.Name), Name: n.Name, Pool: w.file.Provider.Pool,
		Labels: map[string]string{"cluster": w.file.Name, "pool": n.Pool},
		Class: &spec.Class{
			Name: n.Pool, CPUs: pool.CPU, Memory: resource.MustParse(fmt.Sprintf("%dMi", pool.Memory)),
			CPUType: "x86-64-v2-AES", Storage: pool.Datastore, Serial: true,
		},
		Networks: []spec.Network{{Name: network, StaticIP: w.address(pool, n)}},
		Disks:    []spec.Disk{{Name: "root", Size: &size, Storage: pool.Datastore, Discard: &yes, IOThread: &yes}},
		Tags:     []string{"kubernetes", w.file.Name, n.Pool},
		Agent:    &spec.Agent{Enabled: &yes, WaitForAddress: &yes},
		OnBoot:   &yes,
		Place:    w.place(pool),
		Update:   model.Allow{},
	}
	if w.file.Provider.HA {
		m.HA = &model.HA{}
	}
	m.Source = spec.Source{Image: w.image(), Template: w.file.Provider.Template, Full: true, Copy: true}
	if m.Source.Image != nil { // which is on the datastore already
		m.Source.Full = false
	} else if m.Disks[0].Storage == "" {
		m.Disks[0].Storage = w.file.Provider.Datastore
	}
	text, err := w.record.notes(n, w.releaseOf(n))
	if err != nil {
		return m, err
	}
	m.Description = text
	data := "#cloud-config\n{}\n" // it has other data, which stay
	if !w.made.Kept[n.Name] {
		if data, err = UserData(w.record, n, w.token); err != nil {
			return m, err
		}
	}
	m.FirstBoot.UserData = &spec.UserData{CloudInit: &spec.CloudInit{Text: spec.Text{Content: data, Secret: true}}, Delivery: "iso"}
	return m, nil
}

// releaseOf is what a machine runs: that of the cluster, unless it is one that is there.
func (w *wanted) releaseOf(n Node) Release {
	if r, there := w.release[n.Name]; there {
		return r
	}
	return w.record.Release
}

// place spreads the machines of a pool over the nodes: control planes never share one where there are
// enough, workers go where the most memory is free. A node that is offline counts: it comes back.
func (w *wanted) place(pool *Pool) model.Place {
	place := model.Place{Nodes: pool.Nodes}
	nodes := pool.Nodes
	if len(nodes) == 0 {
		nodes = w.file.Provider.nodes()
	}
	enough := len(nodes)
	if nodes == nil {
		enough = w.hosts
	}
	if pool.Name == controlPool && enough > 1 && enough >= *pool.Count {
		place.AntiAffinity = []model.Selector{{Key: "pool", Operator: "In", Values: []string{controlPool}}}
	}
	return place
}

// check finds what is wrong with machines. Secrets, whose hashes take long, are left out.
func (w *wanted) check(nodes []Node) error {
	c, t := w.cluster(), spec.Translation{Set: w.file.Name}
	errs := c.Check()
	for _, n := range nodes {
		m, err := w.machine(n)
		if err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
		m.FirstBoot = spec.FirstBoot{}
		errs = append(errs, t.Machine(c, m).Errors...)
	}
	if errs = append(errs, t.Finish()...); len(errs) > 0 {
		return inWords(errs)
	}
	return nil
}

// desired is what some machines are in Proxmox, with what they are made from.
func (w *wanted) desired(nodes []Node) (model.Desired, error) {
	out := model.Desired{Door: Door, Set: w.file.Name, Range: spec.DefaultRange}
	c, t := w.cluster(), spec.Translation{Set: w.file.Name}
	var errs spec.Errors
	errs = append(errs, c.Check()...)
	seen := map[model.Key]bool{}
	results := make([]*spec.Result, 0, len(nodes))
	for _, n := range nodes {
		m, err := w.machine(n)
		if err != nil {
			return out, fmt.Errorf("%s: %w", n.Name, err)
		}
		r := t.Machine(c, m)
		errs = append(errs, r.Errors...)
		if r.Image != nil && !seen[r.Image.Owner.Key] {
			seen[r.Image.Owner.Key] = true
			out.Images = append(out.Images, *r.Image)
		}
		results = append(results, r)
	}
	errs = append(errs, t.Finish()...)
	if len(errs) > 0 {
		return out, inWords(errs)
	}
	for i, r := range results {
		vm := r.VM
		vm.Tags = append(vm.Tags, model.SetTag(vm.Owner)) // by which they are found together
		vm.Entered = true
		if w.made.Kept[nodes[i].Name] { // they stay as they were made
			vm.Seed, vm.Inherited = nil, append(vm.Inherited, model.InheritedSeed)
		}
		out.VMs = append(out.VMs, vm)
	}
	return out, nil
}

// Wanted returns everything that a file may want of Proxmox over the cluster's life, to compute
// privileges: the cluster may be scaled, and several control planes need more than one does, such as
// HA rules.
func Wanted(f *File) (model.Desired, error) {
	const several = 3
	larger, err := f.clone()
	if err != nil {
		return model.Desired{}, err
	}
	for _, p := range larger.Pools() {
		*p.Count = max(*p.Count, several)
	}
	want, err := wantedOf(larger)
	if err != nil { // such as a network without addresses for more
		return wantedOf(f)
	}
	return want, nil
}

func wantedOf(f *File) (model.Desired, error) {
	wants := (&Cluster{hosts: *f.Nodes.ControlPlane.Count}).wanted(Record{Generation: 1, File: f}, newToken())
	return wants.desired(NodesOf(f))
}

// inWords are errors of the translation with the fields of the file.
func inWords(errs spec.Errors) error {
	fields := map[string]string{
		"networks." + network + ".pool": "provider.network", "networks." + network: "provider", "defaults.storage": "provider.datastore",
		"defaults.isoStorage": "provider.isoDatastore", "image": "provider.image",
	}
	var list []error
	seen := map[string]bool{}
	for _, e := range errs {
		field := e.Field
		for from, to := range fields {
			if rest, ok := cutField(field, from); ok && len(from) > 0 {
				field = to + rest
				break
			}
		}
		text := e.Text.String()
		if field != "" {
			text = field + ": " + text
		}
		if !seen[text] { // machines of a pool are alike
			seen[text] = true
			list = append(list, errors.New(text))
		}
	}
	return errors.Join(list...)
}

// cutField takes a field off the beginning of a path.
func cutField(path, field string) (rest string, ok bool) {
	if len(path) < len(field) || path[:len(field)] != field {
		return "", false
	}
	rest = path[len(field):]
	return rest, rest == "" || rest[0] == '.' || rest[0] == '['
}
