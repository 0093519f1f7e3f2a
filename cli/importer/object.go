package importer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec/export"
	"github.com/proxplane/proxplane/status"
)

// A machine may be called otherwise in Proxmox than its object: it was renamed by hand,
// or the manifest gives it another name. Adopted as the wrong object, the right one would
// get a second machine.

// checkAs finds what --as can't be.
func (i *importing) checkAs(names []string) error {
	i.as = target.Bare(i.as)
	switch {
	case i.as == "":
		return nil
	case len(names) != 1:
		return errors.New("--as names one object, so name one machine only")
	case export.Name(i.as) != i.as:
		return fmt.Errorf("--as %s: the name of an object has lower-case letters, digits and hyphens", i.as)
	}
	return nil
}

// objectFor finds the name of the object that a machine is to be, and whether the
// manifests that were given have it. An empty name: nobody says.
func (i *importing) objectFor(want model.Desired, g *model.Guest) (name string, inManifests bool, err error) {
	if i.Objects != nil {
		return i.as, false, nil
	}
	meant := meantBy(want, g)
	switch {
	case i.as == "" && meant == nil:
		return "", false, nil
	case i.as == "":
		return meant.Owner.Name, true, nil
	case meant != nil && meant.Owner.Name != i.as:
		return "", false, ui.Advise(fmt.Errorf("--as %s: the manifests have VM %d as %s", i.as, g.VMID, status.Name(meant.Owner.Key)),
			fmt.Sprintf("Adopted as vm/%s, %s would get a second machine. Leave --as out, or correct the manifest.", i.as, status.Name(meant.Owner.Key)))
	}
	at := slices.IndexFunc(want.VMs, func(v model.VM) bool { return v.Owner.Name == i.as })
	if at >= 0 && want.VMs[at].VMID != 0 && want.VMs[at].VMID != g.VMID {
		return "", false, fmt.Errorf("--as %s: its manifest says vmid: %d, not %d", i.as, want.VMs[at].VMID, g.VMID)
	}
	return i.as, at >= 0, nil
}

// meantBy is the machine of the manifests that a guest is: the one whose tag it has, else
// the one with its VMID, else the one with its name; nil: none.
func meantBy(want model.Desired, g *model.Guest) *model.VM {
	id, _, _ := model.ParseStateTag(g.Tags)
	for _, is := range []func(model.VM) bool{
		func(v model.VM) bool { return v.Owner.ID() == id },
		func(v model.VM) bool { return v.VMID == g.VMID },
		func(v model.VM) bool { return v.VMID == 0 && v.Name == g.Name },
	} {
		if at := slices.IndexFunc(want.VMs, is); at >= 0 {
			return &want.VMs[at]
		}
	}
	return nil
}

// madeForAnother says that a guest has the tag of another object than the one that it is
// about to become. Copies have the tag of what they were made from, but then there are
// several.
func (i *importing) madeForAnother(have *model.Observed, m importedMachine) error {
	id, _, tagged := model.ParseStateTag(m.guest.Tags)
	if !tagged || i.Objects != nil || id == m.owner.ID() || m.guest.Config.Marker != nil || len(withTag(have, id)) > 1 {
		return nil
	}
	return ui.Advise(fmt.Errorf("VM %d has the tag of another object than %s of set %s: it was renamed, or is of another set", m.guest.VMID, status.Name(m.owner.Key), i.Set),
		fmt.Sprintf("Adopted as %s, the other object would get a second machine. Say which object it is: with its manifest (-f FILE), or with --as NAME and --set.", status.Name(m.owner.Key)))
}

// withTag are the guests with the tag of an owner.
func withTag(have *model.Observed, id string) []*model.Guest {
	return target.Sorted(have, func(g *model.Guest) bool {
		other, _, ok := model.ParseStateTag(g.Tags)
		return ok && other == id
	})
}

// unclaimed checks that the object has no other machine yet.
func unclaimed(have *model.Observed, m importedMachine) error {
	for _, other := range withTag(have, m.owner.ID()) {
		if other.VMID != m.guest.VMID {
			return ui.Advise(fmt.Errorf("VM %d isn't adopted: %s is VM %d on %s already", m.guest.VMID, status.Name(m.owner.Key), other.VMID, other.Node),
				"Say which object it is with --as NAME.")
		}
	}
	return nil
}
