package providerspec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

// What machines have that say nothing about it, as in the original.
const (
	defaultSockets = 1
	defaultCores   = 2
	defaultMB      = 2048
)

// Want is a machine that is wanted.
type Want struct {
	Owner    model.Owner
	Name     string            // of the guest
	Labels   map[string]string // of the Machine
	VMID     int               // that was chosen earlier; 0: none
	Had      []string          // addresses of pools that it had
	UserData string
	Ignition bool // UserData is an Ignition config
	Random   bool // UserData contains a value that can't be guessed
	Deleted  bool // it is to be deleted
}

// Cluster returns the settings of the machine's cluster.
func (v *Value) Cluster() *spec.Cluster {
	p := &v.CloudProviderSpec
	c := &spec.Cluster{
		Nodes:    p.Nodes,
		Defaults: spec.Defaults{Storage: p.Storage, ISOStorage: p.ISOStorage, SnippetStorage: p.CIStorageName},
		Networks: spec.Networks{}, SSH: p.Delivery == bySnippets,
	}
	if r := p.VMIDRange; r != nil {
		c.Range = model.Range{First: r.First, Last: r.Last}
	}
	for _, n := range p.Networks {
		if n.Pool == nil {
			continue
		}
		pool := spec.Pool(*n.Pool)
		c.Networks[n.name()] = spec.ClusterNetwork{Bridge: cmp.Or(n.Bridge, n.Name), VLAN: n.VLAN, MTU: n.MTU, Firewall: n.Firewall, Pool: &pool}
	}
	return c
}

const bySnippets = "snippets"

// name is what a network is known by.
func (n NIC) name() string { return cmp.Or(n.Name, n.Bridge) }

// Machine translates what is wanted, with the template that it is made from. The error is of type
// [Errors].
func (v *Value) Machine(w Want) (model.VM, *model.Image, error) {
	c := v.Cluster()
	var r report
	m := v.machine(w, &r)
	for _, e := range c.Check() {
		r.fail(place(e.Field), "%s", e.Text.In(words))
	}
	if len(r.errs) > 0 {
		return model.VM{}, nil, r.errs
	}
	vm, image, err := spec.VM(c, m)
	if err == nil {
		return vm, image, nil
	}
	var errs spec.Errors
	if !errors.As(err, &errs) {
		return model.VM{}, nil, err
	}
	for _, e := range errs {
		r.fail(place(e.Field), "%s", e.Text.In(words))
	}
	return model.VM{}, nil, r.errs
}

func (v *Value) machine(w Want, r *report) spec.Machine {
	p := &v.CloudProviderSpec
	m := spec.Machine{
		Owner: w.Owner, Name: w.Name, Remembered: w.VMID, Had: w.Had, Labels: w.Labels,
		Class: &spec.Class{
			CPUs:    cmp.Or(p.CPUSockets, defaultSockets) * cmp.Or(p.CPUCores, defaultCores),
			Sockets: cmp.Or(p.CPUSockets, defaultSockets),
			Memory:  *resource.NewQuantity(int64(cmp.Or(p.MemoryMB, defaultMB))<<20, resource.BinarySI),
			CPUType: p.CPUType, Storage: p.Storage,
		},
		Source: spec.Source{Image: v.image(w.Owner), Full: p.FullClone},
		Tags:   p.Tags, Pool: p.Pool, OnBoot: p.OnBoot, ExtraConfig: p.ExtraConfig,
		Description: fmt.Sprintf("Machine %s/%s", w.Owner.Namespace, w.Owner.Name),
		Agent:       &spec.Agent{Enabled: p.GuestAgent},
		Update:      model.Allow{Stop: true},
		Destroy:     true,
		Deleted:     w.Deleted,
	}
	if p.DiskSizeGB > 0 {
		m.Disks = []spec.Disk{{Name: "root", Size: resource.NewQuantity(int64(p.DiskSizeGB)<<30, resource.BinarySI)}}
	}
	if h := p.HA; h != nil {
		m.HA = &model.HA{Group: h.Group, MaxRestart: h.MaxRestart, MaxRelocate: h.MaxRelocate}
	}
	if f := p.Firewall; f != nil {
		m.Firewall = &spec.Firewall{PolicyIn: f.PolicyIn, PolicyOut: f.PolicyOut}
		for _, g := range f.Groups {
			m.Firewall.Rules = append(m.Firewall.Rules, spec.FirewallRule{SecurityGroup: g})
		}
	}
	m.Place = v.place(r)
	m.Networks = v.networks()
	if w.UserData != "" {
		ud := &spec.UserData{Delivery: p.Delivery}
		text := spec.Text{Content: w.UserData, Secret: true}
		if w.Ignition {
			ud.Ignition = &text
		} else {
			ud.CloudInit = &spec.CloudInit{Text: text}
		}
		m.FirstBoot = spec.FirstBoot{UserData: ud, Random: w.Random}
	}
	return m
}

// Template returns the owner of the template that a machine is made from, and of its copies.
func (v *Value) Template(of model.Owner) model.Owner { return v.image(of).Owner }

// image is the template. Machines of all MachineDeployments that name the same one share it.
func (v *Value) image(of model.Owner) *spec.Image {
	p := &v.CloudProviderSpec
	source := cmp.Or(p.Template, strconv.Itoa(p.VMTemplateID))
	name := source
	if p.Copies != "" {
		name += "-" + p.Copies
	}
	if v := p.VMIDRange; v != nil {
		name += fmt.Sprintf("-%d-%d", v.First, v.Last)
	}
	return &spec.Image{
		Owner:  model.Owner{Door: of.Door, Set: of.Set, Key: model.Key{Kind: spec.TemplateKind, Namespace: of.Namespace, Name: name}},
		Source: source, Copies: p.Copies,
	}
}

func (v *Value) place(r *report) model.Place {
	p := v.CloudProviderSpec.Placement
	if p == nil {
		return model.Place{Nodes: v.CloudProviderSpec.Nodes}
	}
	want := spec.Placement{Nodes: v.CloudProviderSpec.Nodes, MaxPerNode: p.MaxPerNode, Strategy: p.Strategy}
	for _, s := range p.AntiAffinity {
		want.AntiAffinity = append(want.AntiAffinity, model.Selector{Key: s.Key, Operator: s.Operator, Values: s.Values})
	}
	if p.MinFreeMemory != "" {
		q, err := resource.ParseQuantity(p.MinFreeMemory)
		if err != nil {
			r.fail("cloudProviderSpec.placement.minFreeMemory", "want an amount of memory such as 4Gi")
		}
		want.MinFreeMemory = &q
	}
	place, errs := want.Place()
	for _, e := range errs {
		r.fail("cloudProviderSpec.placement."+e.Field, "%s", e.Text)
	}
	return place
}

// networks are the interfaces; nil: those of the template.
func (v *Value) networks() []spec.Network {
	var out []spec.Network
	for _, n := range v.CloudProviderSpec.Networks {
		one := spec.Network{
			Name: n.name(), Bridge: n.Bridge, VLAN: n.VLAN, Model: n.Model, MTU: n.MTU, Rate: n.Rate, Queues: n.Queues, Firewall: n.Firewall,
			DHCP: n.DHCP, DHCP6: n.DHCP6, SLAAC: n.SLAAC,
		}
		switch {
		case n.Pool != nil:
			one.StaticIP = &spec.StaticIP{FromPool: n.name(), DNS: n.DNS, Search: n.Search}
		case n.Address != "":
			one.StaticIP = &spec.StaticIP{Address: n.Address, Gateway: n.Gateway, Gateway6: n.Gateway6, DNS: n.DNS, Search: n.Search}
		}
		out = append(out, one)
	}
	n := v.Network
	if n == nil {
		return out
	}
	six := strings.Contains(n.IPFamily, "IPv6")
	if out == nil && (n.CIDR != "" || six) {
		out = []spec.Network{{Name: "default"}}
	}
	if n.CIDR != "" {
		out[0].StaticIP = &spec.StaticIP{Address: n.CIDR, Gateway: n.Gateway, DNS: n.DNS.Servers}
	}
	if six && len(out) > 0 && !out[0].SLAAC && !out[0].DHCP6 && n.CIDR == "" {
		out[0].SLAAC = true
		if n.IPFamily == "IPv6" {
			no := false
			out[0].DHCP = &no
		}
	}
	return out
}

// places are where the fields of a machine stand in providerSpec.value.
var places = [][2]string{
	{"name", nameField}, {"class.cpuType", "cloudProviderSpec.cpuType"}, {"class.cpus", "cloudProviderSpec.cpuCores"}, {"class.sockets", "cloudProviderSpec.cpuSockets"},
	{"class.memory", "cloudProviderSpec.memoryMB"}, {"class.storage", "cloudProviderSpec.storage"}, {"class", "cloudProviderSpec"},
	{"image.source", "cloudProviderSpec.template"}, {"image", "cloudProviderSpec.template"}, {"disks[0].size", "cloudProviderSpec.diskSizeGB"}, {"disks", "cloudProviderSpec.diskSizeGB"},
	{"userData.delivery", "cloudProviderSpec.delivery"}, {"userData", "overwriteCloudConfig"}, {"defaults.isoStorage", "cloudProviderSpec.isoStorage"},
	{"defaults.snippetStorage", "cloudProviderSpec.ciStorageName"}, {"defaults.storage", "cloudProviderSpec.storage"}, {"place", "cloudProviderSpec.placement"},
}

// place is where a field of a machine stands.
func place(field string) string {
	at := slices.IndexFunc(places, func(p [2]string) bool {
		return field == p[0] || strings.HasPrefix(field, p[0]+".") || strings.HasPrefix(field, p[0]+"[")
	})
	if at < 0 {
		return "cloudProviderSpec." + field
	}
	return places[at][1]
}

// words are those of this door.
var words = spec.Words{
	Object: func(n spec.Name) string {
		if n == spec.TheCluster || n == spec.TheClass {
			return "cloudProviderSpec"
		}
		return strings.TrimPrefix(string(n), "the ")
	},
	Field:  func(_ spec.Name, path string) string { return place(path) },
	Called: func(path string) string { return path },
}
