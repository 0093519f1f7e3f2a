package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/proxplane/proxplane/cli/importer"
	"github.com/proxplane/proxplane/manifest/draft"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec/export"
)

// door is the one that machines are handed to.
const door = "terraform"

// machine is one that is taken over, as it is in Proxmox.
type machine struct {
	theirs
	fields  []field
	remarks []string // what isn't carried over
	changes []string // what an apply would do beside adopting it
}

// field is an attribute of a resource.
type field struct {
	name  string
	value hclwrite.Tokens
}

// guestOf finds the guest of a machine, or says why there is none that can be taken over.
func (m *theirs) guestOf(have *model.Observed) *model.Guest {
	g := have.Guests[m.vmid]
	if m.vmid == 0 {
		named := slices.DeleteFunc(slices.Clone(have.Named(m.guest)), func(g *model.Guest) bool { return g.Container })
		if len(named) != 1 {
			m.trouble = fmt.Sprintf("it says no VMID, and Proxmox has %d VMs called %s: say vm_id", len(named), strconv.Quote(m.guest))
			return nil
		}
		g = named[0]
	}
	switch {
	case g == nil:
		m.trouble = fmt.Sprintf("Proxmox has no VM %d", m.vmid)
	case g.Container:
		m.trouble = fmt.Sprintf("%d is a container", m.vmid)
	case g.Template:
		m.trouble = fmt.Sprintf("VM %d is a template; leave it to its provider, and name it in machines: image = { source = %q }", g.VMID, g.Name)
	default:
		m.vmid = g.VMID
		return g
	}
	return nil
}

// draw writes a machine down as it is in Proxmox, under a name that no other has.
func draw(have *model.Observed, t theirs, set string, names *[]string) (machine, error) {
	g := have.Guests[t.vmid]
	name := export.NameOf(g)
	for n := 2; slices.Contains(*names, name); n++ {
		name = fmt.Sprintf("%s-%d", export.NameOf(g), n)
	}
	*names = append(*names, name)
	e, err := export.Of(have, g, model.Owner{Door: door, Set: set, Key: model.Key{Kind: "VirtualMachine", Name: name}}, nil)
	if err != nil {
		return machine{}, fmt.Errorf("VM %d can't be described by a resource: %w", g.VMID, err)
	}
	m := machine{theirs: t, changes: importer.Differences(e.Object)}
	for key, value := range draft.Resource(draft.Machine(g, e)).All() {
		m.fields = append(m.fields, field{draft.Attribute(key), tokensOf(value, draft.Owned(key))})
	}
	m.remarks = append(m.image(have, e), m.notCarried()...)
	for _, key := range slices.Sorted(maps.Keys(e.Omitted)) {
		m.remarks = append(m.remarks, fmt.Sprintf("Left out, and so left as it is: %s (%s).", key, e.Omitted[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(e.Lost)) {
		m.remarks = append(m.remarks, fmt.Sprintf("Not carried over, so that a machine made anew is without: %s: %s", key, e.Lost[key]))
	}
	return m, nil
}

// image says what a recreated machine would have, if Proxmox doesn't know what it was made from.
func (t theirs) image(have *model.Observed, e export.Machine) []string {
	switch {
	case e.Fetched:
		return []string{"Its image was fetched from a URL, which nothing in Proxmox names: write a proxplane_image."}
	case e.Image != nil:
		return nil
	}
	from := t.madeFrom()
	if id, err := strconv.Atoi(from); err == nil && have.Guests[id] != nil {
		from = have.Guests[id].Name
	}
	if from == "" {
		return []string{"It has no image: made anew, it would begin with empty disks."}
	}
	return []string{fmt.Sprintf("Proxmox doesn't know what it is a copy of: made anew, it would begin with empty disks. It was cloned from %s.", from)}
}
