package karpenter

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/model"
)

// hostedBy notes what the Proxmox node of a machine has on the machine's bridges, which templates of first-boot data may use, and which addresses no machine may
// get. Who may not see the bridges doesn't know.
func (p *CloudProvider) hostedBy(ctx context.Context, r *Region, m *made) error {
	interfaces := m.interfaces()
	if len(interfaces) == 0 {
		return nil
	}
	if err := learnBridges(ctx, r, m.Zone); err != nil {
		return err
	}
	m.Hosts = map[string]model.BridgeHost{}
	if err := r.Site.View(ctx, func(have *model.Observed) {
		for _, n := range interfaces {
			if h, known := have.Hosts[m.Zone][n.Bridge]; known {
				m.Hosts[n.Bridge] = h
			}
		}
	}); err != nil {
		return fmt.Errorf("look at the bridges of %s: %w", m.Zone, err)
	}
	if !slices.ContainsFunc(interfaces, pooled) {
		return nil
	}
	taken, err := p.taken(ctx, r)
	if err != nil {
		return err
	}
	for _, n := range interfaces {
		for _, text := range []string{n.Address4, n.Address6} {
			ranges, _, _ := addresses(text)
			m.Taken = append(m.Taken, among(ranges, taken)...)
		}
	}
	slices.Sort(m.Taken)
	m.Taken = slices.Compact(m.Taken)
	return nil
}

// among are those of some addresses that are in a range.
func among(ranges string, some []string) (in []string) {
	from, to, _ := strings.Cut(ranges, "-")
	first, err := netip.ParseAddr(from)
	last, also := netip.ParseAddr(to)
	if err != nil || also != nil {
		return nil
	}
	for _, text := range some {
		if a, err := netip.ParseAddr(text); err == nil && (model.AddressRange{First: first, Last: last}).Contains(a) {
			in = append(in, a.String())
		}
	}
	return in
}

// learnBridges has the observer know the bridges of nodes; it keeps them for some minutes.
func learnBridges(ctx context.Context, r *Region, nodes ...string) error {
	var ask []string
	if err := r.Site.View(ctx, func(have *model.Observed) {
		for _, name := range nodes {
			if _, read := have.Hosts[name]; !read && have.Nodes[name] != nil && have.Nodes[name].Online {
				ask = append(ask, name)
			}
		}
	}); err != nil {
		return fmt.Errorf("look at the bridges of %v: %w", nodes, err)
	}
	for _, name := range ask {
		if err := r.Site.Observer().Bridges(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// taken are addresses that no list of guests shows: those of Proxmox nodes, and of Nodes that aren't machines of Karpenter, such as control planes elsewhere.
func (p *CloudProvider) taken(ctx context.Context, r *Region) ([]string, error) {
	var all []string
	add := func(text string) {
		address, _, _ := strings.Cut(text, "/")
		all = append(all, address)
	}
	zones, err := r.zones(ctx)
	if err != nil {
		return nil, err
	}
	if err := learnBridges(ctx, r, zones...); err != nil {
		return nil, err
	}
	if err := r.Site.View(ctx, func(have *model.Observed) {
		for _, bridges := range have.Hosts {
			for _, h := range bridges {
				for _, text := range []string{h.Address, h.Address6, h.Gateway, h.Gateway6} {
					add(text)
				}
			}
		}
	}); err != nil {
		return nil, err
	}
	var nodes corev1.NodeList
	if err := p.client.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list Nodes: %w", err)
	}
	for i := range nodes.Items {
		if _, made := nodes.Items[i].Labels[v1.NodePoolLabelKey]; made {
			continue // its machine has the address in its config
		}
		for _, a := range nodes.Items[i].Status.Addresses {
			add(a.Address)
		}
	}
	return all, nil
}

// pooled reports whether an interface has its addresses from a range.
func pooled(n api.Network) bool {
	_, _, is4 := addresses(n.Address4)
	_, _, is6 := addresses(n.Address6)
	return is4 || is6
}

// withGateways gives interfaces without a gateway that of the Proxmox node: its own address on the bridge, if that is in the network of the addresses.
func (m *made) withGateways(list []api.Network) []api.Network {
	for i := range list {
		n, h := &list[i], m.Hosts[list[i].Bridge]
		if _, prefix, ok := addresses(n.Address4); ok && n.Gateway4 == "" {
			n.Gateway4 = inside(prefix, h.Address)
		}
	}
	return list
}

// inside is the address that a text has if it is in a network; empty: it isn't.
func inside(network, text string) string {
	within, err := netip.ParsePrefix(network)
	p, also := netip.ParsePrefix(text)
	if err != nil || also != nil || !within.Contains(p.Addr()) {
		return ""
	}
	return p.Addr().String()
}
