package plan

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Addresses from pools. A guest claims its address first and uses it later. The claim is in its
// marker, which a clone has from its first moment on. Then the lists and the configs of the others
// are read, and only if none of them has the address or claims it, the address goes into the guest's
// own config, from which the guest takes it when it starts. Of two who claim the same at once at
// least one sees the other: each reads after it has claimed. The one with the higher VMID takes
// another address, and the other one waits for that. See docs/adr/0011-addresses-from-pools.md.

// newAddresses chooses the addresses of a new guest; false: it can't be made yet.
func (p *planner) newAddresses(o *Object, v model.VM, vmid int) (model.VM, bool) {
	if len(v.Leases) == 0 {
		return v, true
	}
	if !p.addressesKnown(o, vmid) {
		return v, false
	}
	leases, ok := p.choose(o, v, v.Leases, vmid)
	if !ok {
		return v, false
	}
	return v.Leased(leases), true
}

// reserve takes the addresses that were chosen for a guest, so that guests planned later get others. It is
// called once the guest can be made: no guest waits for an address of one that can't.
func (p *planner) reserve(v model.VM, vmid int) {
	if len(v.Leases) > 0 {
		p.holdings.place(vmid, model.Placement{Owner: v.Owner, Addresses: addressesOf(v.Leases)})
	}
}

// choose completes leases with the first free addresses; false: there are none.
func (p *planner) choose(o *Object, v model.VM, leases []model.Lease, vmid int) ([]model.Lease, bool) {
	h, out, had := p.addressesHeld(), slices.Clone(leases), p.had(v)
	free := func(a netip.Addr) bool {
		return len(h.others(a, v.Owner, vmid)) == 0 && !slices.Contains(addressesOf(out), a)
	}
	for i := range out {
		l := &out[i]
		l.Has = slices.Clone(l.Has)
		for _, family := range l.Lacking() {
			found := false
			for a := range candidates(*l, v.Owner, family, had) {
				if found = free(a); found {
					l.Has = append(l.Has, l.Pool.With(a))
					break
				}
			}
			if !found {
				o.wait(model.WaitAddress, exhausted(l.Pool, family, h))
				return nil, false
			}
		}
	}
	for _, a := range had {
		if others := h.others(a, v.Owner, vmid); len(others) > 0 && slices.ContainsFunc(out, func(l model.Lease) bool { return l.Pool.Contains(a) }) {
			o.note("it had %s, which is that of %s now", a, others[0])
		}
	}
	return out, true
}

// had returns the addresses that a recreated guest had before.
func (p *planner) had(v model.VM) []netip.Addr {
	list := slices.Clone(p.have.Kept[v.Owner])
	for _, text := range v.Had {
		if a, err := netip.ParseAddr(text); err == nil && !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

// candidates returns the addresses that an interface may get, in the order in which they are tried: first
// those that the guest had.
func candidates(l model.Lease, owner model.Owner, family model.Family, had []netip.Addr) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		for _, a := range had {
			if model.FamilyOf(a) == family && l.Pool.Contains(a) && !yield(a) {
				return
			}
		}
		l.Pool.Candidates(owner, l.Slot, family)(yield)
	}
}

// keepAddresses gives an existing guest the addresses that it has or claims; false: the guest waits until its
// addresses are settled.
func (p *planner) keepAddresses(o *Object, v model.VM, g *model.Guest) (model.VM, bool) {
	if len(v.Leases) == 0 {
		return v, true
	}
	leases := kept(v.Leases, g.Config)
	complete := !slices.ContainsFunc(leases, func(l model.Lease) bool { return len(l.Lacking()) > 0 })
	if complete && configured(leases, g.Config) {
		noteOutside(o, leases)
		return v.Leased(leases), true
	}
	if complete && !g.Shown {
		o.wait(model.WaitClaim, fmt.Sprintf("it has claimed %s; the next list shows whether another machine claims the same", addressList(addressesOf(leases))))
		return v, false
	}
	if !p.addressesKnown(o, g.VMID) {
		return v, false
	}
	if complete {
		switch rival := p.rival(leases, v.Owner, g.VMID); {
		case rival == nil:
			return v.Leased(leases), true
		case rival.Claimed && rival.VMID > g.VMID:
			o.wait(model.WaitClaim, fmt.Sprintf("%s has claimed %s, too, and is to take another address", rival, rival.Address))
			return v, false
		}
	}
	p.claim(o, v, g, leases)
	return v, false
}

// rival returns another guest with precedence that has or claims one of the addresses; nil: there is none.
// A guest that has the address, and one with a lower VMID, have precedence.
func (p *planner) rival(leases []model.Lease, owner model.Owner, vmid int) *model.Holding {
	var rivals []model.Holding
	for _, a := range addressesOf(leases) {
		rivals = append(rivals, p.addressesHeld().others(a, owner, vmid)...)
	}
	if len(rivals) == 0 {
		return nil
	}
	slices.SortFunc(rivals, func(a, b model.Holding) int {
		if a.Claimed != b.Claimed {
			if b.Claimed {
				return -1
			}
			return 1
		}
		return a.VMID - b.VMID
	})
	return &rivals[0]
}

// claim plans the claim of an existing guest to addresses: those that it lacks, and others in place of
// those that another guest has. If none is free, the claim is withdrawn.
func (p *planner) claim(o *Object, v model.VM, g *model.Guest, leases []model.Lease) {
	h := p.addressesHeld()
	var lost []string
	for i := range leases {
		l := &leases[i]
		l.Has = slices.DeleteFunc(slices.Clone(l.Has), func(a model.Address) bool {
			others := h.others(a.Addr(), v.Owner, g.VMID)
			if len(others) > 0 {
				lost = append(lost, fmt.Sprintf("%s is that of %s", a.Addr(), others[0]))
			}
			return len(others) > 0
		})
	}
	chosen, ok := p.choose(o, v, leases, g.VMID)
	if !ok {
		if len(lost) == 0 {
			return
		}
		chosen, o.Wait = leases, nil
	}
	h.place(g.VMID, model.Placement{Owner: v.Owner, Node: g.Node, Addresses: addressesOf(chosen)})
	c := &change{p: p, o: o, v: v.Leased(chosen), g: g, have: g.Config}
	m := g.Config.Marker.Bare()
	m.Addresses = c.v.Claims()
	if fresh(g.Config) && v.Seed != nil {
		m.Old, m.Seed = append(slices.Clone(m.Old), m.Seed), intendedSeed(c.v, g.VMID)
	}
	why := "it is to have an address from a pool"
	if len(lost) > 0 {
		why = strings.Join(lost, ", ")
	}
	what := fmt.Sprintf("claim %s for VM %d", addressList(addressesOf(chosen)), g.VMID)
	if !ok {
		what = fmt.Sprintf("give up what VM %d has claimed", g.VMID)
	}
	text, tags := model.Describe(g.Config.Text, m), tagsFor(c.v, g.Config, claimStamp+model.Digest(fmt.Sprint(m.Addresses)))
	o.step(Step{
		Action: model.Configure{Target: c.target(), Digest: g.Config.Digest, Description: &text, Tags: &tags},
		What:   what, Why: why, Effect: Live,
	})
	if ok && !fresh(g.Config) {
		o.note("once a list shows that no other machine claims the same, the addresses go into its config, and what else there is to do for it is planned")
	}
}

// claimStamp returns the fingerprint's prefix of a guest that has claimed addresses. It differs from claim
// to claim, so that the list of guests shows that there is a new claim to read.
const claimStamp = "claims"

func addressList(list []netip.Addr) string {
	var texts []string
	for _, a := range list {
		texts = append(texts, a.String())
	}
	return strings.Join(texts, " and ")
}

// kept returns the leases with the addresses that the guest has: those of its marker, else those that
// its config has in the network of the pool.
func kept(leases []model.Lease, have *model.Config) []model.Lease {
	out := slices.Clone(leases)
	for i := range out {
		l := &out[i]
		configured := model.IPConfig(have.Options[l.Option()])
		for _, text := range have.Marker.Addresses[l.Slot] {
			if a, err := netip.ParseAddr(text); err == nil {
				l.Has = append(slices.Clip(l.Has), asConfigured(l.Pool, a, configured))
			}
		}
		if fresh(have) {
			continue // its config is that of its source
		}
		for _, a := range configured {
			if slices.Contains(l.Lacking(), model.FamilyOf(a.Addr())) && l.Pool.Reaches(a.Addr()) {
				l.Has = append(slices.Clip(l.Has), l.Pool.With(a.Addr()))
			}
		}
	}
	return out
}

// asConfigured returns an address as the pool has it, or, if the pool is of another network by now, as the
// guest has it.
func asConfigured(pool model.AddressPool, a netip.Addr, configured []model.Address) model.Address {
	if !pool.Reaches(a) {
		for _, c := range configured {
			if c.Addr() == a {
				return c
			}
		}
	}
	return pool.With(a)
}

// configured reports whether the config has the addresses already.
func configured(leases []model.Lease, have *model.Config) bool {
	if fresh(have) {
		return false
	}
	for _, l := range leases {
		said := model.IPConfig(have.Options[l.Option()])
		for _, a := range l.Has {
			if !slices.ContainsFunc(said, func(c model.Address) bool { return c.Addr() == a.Addr() }) {
				return false
			}
		}
	}
	return true
}

// noteOutside notes addresses that their pools don't have any more.
func noteOutside(o *Object, leases []model.Lease) {
	for _, l := range leases {
		for _, a := range l.Has {
			if !l.Pool.Contains(a.Addr()) {
				o.note("it keeps %s, which isn't in pool %s any more; a machine that is made anew gets one that is", a.Addr(), l.Pool.Name)
			}
		}
	}
}

// addressesOf returns the addresses of leases.
func addressesOf(leases []model.Lease) []netip.Addr {
	var list []netip.Addr
	for _, l := range leases {
		for _, a := range l.Has {
			list = append(list, a.Addr())
		}
	}
	return list
}

// leasedOptions returns the options that have addresses from pools.
func leasedOptions(v model.VM) map[string]string {
	options := map[string]string{}
	for _, l := range v.Leases {
		options[l.Option()] = v.Options[l.Option()]
	}
	return options
}

// withoutLeases returns options without those with addresses from pools: a guest has to claim its addresses first.
func withoutLeases(v model.VM, options map[string]string) map[string]string {
	for _, l := range v.Leases {
		delete(options, l.Option())
	}
	return options
}
