package spec

import (
	"net/netip"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// Translation translates machines that are wanted together. Its zero value is ready to use.
type Translation struct {
	// Set is the name of the set.
	Set string

	// Late reports whether the translation has taken longer than it may: from then on no
	// secrets are hashed, which takes long, and machines with new secrets have an error; nil:
	// never.
	Late func() bool

	// Scope describes the machines in messages: "in namespace team-a".
	Scope string

	results []*Result          // in the order in which they came
	seeds   int                // bytes of first-boot data so far
	badBoot map[model.Key]bool // objects whose first-boot data can't be made
}

// VM translates a single machine, with the image that it is made from. The error is of type
// [Errors].
func VM(c *Cluster, m Machine) (model.VM, *model.Image, error) {
	t := Translation{Set: m.Owner.Set}
	r := t.Machine(c, m)
	errs := append(r.Errors, t.Finish()...)
	return r.VM, r.Image, errs.OrNil()
}

// Desired translates everything that a set wants of a cluster. The error is of type
// [Errors] and has all errors.
func Desired(c *Cluster, set string, machines []Machine, images []Image) (model.Desired, error) {
	errs := c.Check()
	t := Translation{Set: set}
	d := model.Desired{Set: set, Range: c.vmids()}
	add := func(i model.Image) {
		if !slices.ContainsFunc(d.Images, func(o model.Image) bool { return o.Owner == i.Owner }) {
			d.Images = append(d.Images, i)
		}
	}
	for _, i := range images {
		img, wrong := c.Image(i)
		errs = append(errs, wrong...)
		add(img)
	}
	for _, m := range machines {
		r := t.Machine(c, m)
		errs = append(errs, r.Errors...)
		d.VMs = append(d.VMs, r.VM)
		if r.Image != nil {
			add(*r.Image)
		}
	}
	errs = append(errs, t.Finish()...)
	d.Shares = t.Shares(c)
	return d, errs.OrNil()
}

// Finish finds conflicts between machines, and hashes the secrets of all that were
// translated. It is called once, after the last machine.
func (t *Translation) Finish() Errors {
	errs := slices.Concat(t.checkShares(), t.checkMACs(), t.checkAddresses(), t.checkPooled())
	if t.Late == nil {
		t.hashSecrets()
	}
	return errs
}

// wrong is an error about a machine.
func (r *Result) wrong(field, format string, args ...any) *Error {
	return &Error{Object: r.VM.Owner.Key, Field: field, Text: message(format, args...)}
}

// checkMACs: no two interfaces of a cluster have the same address.
func (t *Translation) checkMACs() (errs Errors) {
	type user struct {
		c   *Cluster
		mac string
	}
	first := map[user]*Result{}
	for _, r := range t.results {
		if r.VM.Deleted {
			continue
		}
		for _, n := range r.nics {
			u := user{r.cluster, n.MAC}
			if other := first[u]; other != nil && n.MAC != "" {
				errs = append(errs, r.wrong(n.field+".mac", "%s is that of %s too", n.MAC, other.VM.Owner.Title()))
				continue
			}
			first[u] = r
		}
	}
	return errs
}

// checkAddresses: no two machines on the same network have the same address.
func (t *Translation) checkAddresses() (errs Errors) {
	type user struct {
		c      *Cluster
		bridge string
		vlan   int
		addr   netip.Addr
	}
	first := map[user]*Result{}
	for _, r := range t.results {
		if r.VM.Deleted {
			continue
		}
		for _, n := range r.nics {
			for _, a := range slices.Concat(n.v4, n.v6) {
				u := user{r.cluster, n.Bridge, n.VLAN, a.Addr()}
				if other := first[u]; other != nil {
					errs = append(errs, r.wrong(n.field+".staticIP", "%s is the address of %s too", a.Addr(), other.VM.Owner.Title()))
					continue
				}
				first[u] = r
			}
		}
	}
	return errs
}
