package model

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

// Lease is an interface with addresses from a pool: one of each family that the pool has. The
// guest keeps them as long as it exists.
type Lease struct {
	Slot string // "net0"
	Pool AddressPool
	// Beside configures the family that the pool doesn't have, in the syntax of Proxmox'
	// option: "ip6=auto".
	Beside string `json:",omitempty"`
	// Has are the addresses that the guest has or gets; none: they aren't chosen yet.
	Has []Address `json:"-"`
}

// Lacking returns the families without a chosen address.
func (l Lease) Lacking() []Family {
	return slices.DeleteFunc(l.Pool.Families(), func(f Family) bool {
		return slices.ContainsFunc(l.Has, func(a Address) bool { return FamilyOf(a.Addr()) == f })
	})
}

// Option returns the name of the option with the addresses of the interface.
func (l Lease) Option() string { return ipconfig + strings.TrimPrefix(l.Slot, "net") }

// value returns what that option says, in canonical spelling.
func (l Lease) value() string {
	var parts []string
	for _, a := range l.Has {
		end := ""
		if a.Addr().Is6() {
			end = "6"
		}
		parts = append(parts, "ip"+end+"="+a.String())
		if a.Gateway != "" {
			parts = append(parts, "gw"+end+"="+a.Gateway)
		}
	}
	if l.Beside != "" {
		parts = append(parts, l.Beside)
	}
	key := func(part string) string { name, _, _ := strings.Cut(part, "="); return name }
	slices.SortFunc(parts, func(a, b string) int { return strings.Compare(key(a), key(b)) })
	return strings.Join(parts, ",")
}

// Leased returns the guest with the addresses of its leases among its options.
func (v VM) Leased(leases []Lease) VM {
	v.Leases = leases
	options := maps.Clone(v.Options)
	if options == nil {
		options = map[string]string{}
	}
	var all []string
	for _, l := range leases {
		options[l.Option()] = l.value()
		all = append(all, l.Slot+" "+l.value())
	}
	v.Options = options
	if v.Seed == nil {
		return v
	}
	seed := *v.Seed
	seed.Leased = hexDigest(strings.Join(all, "\n"))
	if seed.Recipe != nil {
		recipe := *seed.Recipe
		recipe.NICs = slices.Clone(recipe.NICs)
		for _, l := range leases {
			for i, n := range v.NICs {
				if n.Slot == l.Slot && i < len(recipe.NICs) {
					recipe.NICs[i] = l.guest(recipe.NICs[i])
				}
			}
		}
		seed.Recipe = &recipe
	}
	v.Seed = &seed
	return v
}

// guest returns an interface as the guest is to configure it.
func (l Lease) guest(n GuestNIC) GuestNIC {
	n.Addresses = nil
	for _, a := range l.Has {
		n.Addresses = append(n.Addresses, a.String())
		if a.Addr().Is4() {
			n.Gateway = a.Gateway
		} else {
			n.Gateway6 = a.Gateway
		}
	}
	return n
}

// unleased returns the guest without the addresses that it got from pools, and those that others may get:
// what is wanted is that it has some.
func (v VM) unleased() VM {
	if len(v.Leases) == 0 {
		return v
	}
	options := make(map[string]string, len(v.Options))
	for k, value := range v.Options {
		if !slices.ContainsFunc(v.Leases, func(l Lease) bool { return l.Option() == k }) {
			options[k] = value
		}
	}
	v.Options, v.Leases = options, slices.Clone(v.Leases)
	for i := range v.Leases {
		v.Leases[i].Pool.Name, v.Leases[i].Pool.Ranges = "", nil
	}
	return v
}

// Claims returns the guest's addresses from pools, by slot, as they are in its marker.
func (v VM) Claims() map[string][]string {
	var claims map[string][]string
	for _, l := range v.Leases {
		for _, a := range l.Has {
			if claims == nil {
				claims = map[string][]string{}
			}
			claims[l.Slot] = append(claims[l.Slot], a.Addr().String())
		}
	}
	return claims
}

// hexDigest returns a short digest, as names of files with first-boot data have them.
func hexDigest(text string) string {
	const enough = 4
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:enough])
}
