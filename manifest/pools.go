package manifest

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// Providers of one Proxmox share its networks: they may have the same pool, but none that has only some addresses
// in common with that of another, and no fixed address of a machine is in the pool of another Provider.

// sameProxmox reports whether two Providers are of one Proxmox cluster, as far as their endpoints say so.
func (p *provider) sameProxmox(o *provider) bool {
	return p != o && slices.ContainsFunc(p.wanted.Connection.Endpoints, func(e string) bool { return slices.Contains(o.wanted.Connection.Endpoints, e) })
}

// checkPools checks the pools of a Provider against those of the Providers that were read before it.
func (s scope) checkPools(p *provider) {
	for _, other := range s.providers {
		if !p.sameProxmox(other) {
			continue
		}
		for _, mine := range p.wanted.Networks.Pools() {
			for _, theirs := range other.wanted.Networks.Pools() {
				if mine.Overlaps(theirs) && !slices.Equal(mine.Ranges, theirs.Ranges) {
					s.fail("spec.networks."+mine.Name+".pool.ranges", "some addresses are in the pool of network %s of Provider %s, too, which is the same Proxmox; give both the same ranges, or none in common", theirs.Name, other.cluster.Name)
				}
			}
		}
	}
}

// checkFixed checks that machines have no address of their own that those of another Provider could get from a pool.
func (t *translator) checkFixed() {
	for _, p := range t.providers {
		for _, v := range p.wanted.Desired.VMs {
			m := t.machines[v.Owner.Key]
			if m == nil || v.Deleted {
				continue
			}
			for _, a := range model.ConfiguredAddresses(v.Options) {
				for _, other := range t.providers {
					at := slices.IndexFunc(other.wanted.Networks.Pools(), func(pool model.AddressPool) bool { return pool.Contains(a) })
					if at >= 0 && p.sameProxmox(other) {
						m.fail("spec.networks", "%s is in the pool of network %s of Provider %s, which is the same Proxmox: exclude it there, or use another address", a, other.wanted.Networks.Pools()[at].Name, other.cluster.Name)
					}
				}
			}
		}
	}
}
