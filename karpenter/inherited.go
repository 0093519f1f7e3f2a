package karpenter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
)

// inherited is a network interface of a template that people made.
type inherited struct {
	api.Network `json:",inline"`
	Options     map[string]string `json:"options,omitempty"` // that a ProxmoxTemplate has no field for
}

// inherits are the interfaces of a template that people made, and its search domains. Templates of first-boot data need to know them before there is a
// machine, so they are declared for it, as the template has them.
func (m *made) inherits(of *model.Config) {
	slots := slices.Clone(of.NICs)
	slices.SortFunc(slots, func(a, b model.NIC) int { return slotNumber(a) - slotNumber(b) })
	m.Interfaces = nil
	for i, n := range slots {
		if n.Bridge == "" { // it is connected to nothing that can be declared
			m.Interfaces = nil
			return
		}
		one := inherited{Network: api.Network{Name: n.Slot, Bridge: n.Bridge, Model: n.Model}, Options: n.Options}
		if n.MTU != 0 {
			one.MTU = &n.MTU
		}
		if n.VLAN != 0 {
			one.VLAN = &n.VLAN
		}
		if n.Firewall {
			one.Firewall = &n.Firewall
		}
		if ip, err := prop.ParseIPConfig(of.Options["ipconfig"+strconv.Itoa(slotNumber(n))]); err == nil {
			one.Address4, one.Gateway4, one.Address6, one.Gateway6 = ip.IP, ip.GW, ip.IP6, ip.GW6
			if wrongNetwork(i, one.Network) != "" { // manual
				one.Address4, one.Address6 = "", ""
			}
		}
		if i == 0 {
			one.DNSServers = strings.Fields(of.Options["nameserver"])
		}
		m.Interfaces = append(m.Interfaces, one)
	}
	m.Search = strings.Fields(of.Options["searchdomain"])
}

func slotNumber(n model.NIC) int {
	number, _ := strconv.Atoi(strings.TrimPrefix(n.Slot, "net")) // others aren't parsed as interfaces
	return number
}

// pooled reports whether an interface of the machine has its addresses from a range.
func (m *made) pooled() bool {
	return slices.ContainsFunc(m.interfaces(), pooled)
}

// interfaces are the network interfaces of the machine; none: those of the template, whatever they are.
func (m *made) interfaces() []api.Network {
	var all []api.Network
	if m.Template != nil {
		all = slices.Clone(m.Template.Network)
	}
	for _, n := range m.Interfaces {
		all = append(all, n.Network)
	}
	return m.withGateways(all)
}

// inheritedBy notes what a machine has of a template that people made: its interfaces, if the machine's first-boot data or addresses depend on them.
func (p *CloudProvider) inheritedBy(ctx context.Context, r *Region, class *api.ProxmoxNodeClass, m *made) error {
	g, err := r.Site.Observer().Known(ctx, m.VMID)
	if err != nil {
		return fmt.Errorf("read template %d: %w", m.VMID, err)
	}
	if g == nil || g.Config == nil {
		return nil // a clone of it fails with what is wrong
	}
	m.SMBIOS = g.Config.Options["smbios1"]
	m.inherits(g.Config)
	if !isDrive(class) && !m.pooled() {
		m.Interfaces, m.Search = nil, nil
	}
	return nil
}

// sample is what a machine of a class could be made from, to check first-boot data by; known: its interfaces are those of the template.
func (p *CloudProvider) sample(ctx context.Context, class *api.ProxmoxNodeClass, t source) (m made, known bool) {
	m = made{Region: "region", Zone: "zone", UUID: "00000000-0000-0000-0000-000000000000"}
	managed, ok := t.(*api.ProxmoxTemplate)
	if ok {
		m.Template = &managed.Spec // templates may name its interfaces
	} else {
		m.Interfaces = []inherited{{Network: api.Network{Name: "net0", Bridge: "vmbr0"}}} // if it can't be read now
	}
	if t == nil {
		return m, false
	}
	for _, z := range nodesOf(statusOf(t).Zones) {
		region, node, _ := strings.Cut(z, "/")
		r, err := p.regions.Get(region)
		if err != nil {
			continue
		}
		one := m
		one.Zone, one.VMID = node, templateIn(statusOf(t).Zones, region, node)
		if !ok {
			err = p.inheritedBy(ctx, r, class, &one)
		}
		if err == nil {
			err = p.hostedBy(ctx, r, &one)
		}
		if err == nil {
			one.Zone = m.Zone
			return one, true
		}
	}
	return m, ok
}

// withOptions gives the interfaces of a machine what they have of the template and no field says.
func (m *made) withOptions(vm *model.VM) {
	for _, n := range m.Interfaces {
		i := slices.IndexFunc(vm.NICs, func(o model.NIC) bool { return o.Slot == n.Name })
		if i >= 0 && len(n.Options) > 0 {
			vm.NICs[i].Options = maps.Clone(n.Options)
		}
	}
}
