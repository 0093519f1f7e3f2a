package change

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
)

// narrow leaves in what is wanted only the machines whose labels match, with what
// they need: images, the machines that they are copies of, snapshots, shares. Those
// that must be kept apart from one of them stay, too, since that is one decision;
// their names are returned.
func narrow(d *model.Desired, sel labels.Selector) (along []string, err error) {
	keep := map[model.Key]bool{}
	for _, v := range d.VMs {
		if sel.Matches(labels.Set(v.Labels)) {
			keep[v.Owner.Key] = true
		}
	}
	if len(keep) == 0 {
		return nil, fmt.Errorf("no machine of the manifests has labels like %s", sel)
	}
	for more := true; more; {
		more = false
		for _, v := range d.VMs {
			for _, o := range d.VMs {
				if keep[v.Owner.Key] && !keep[o.Owner.Key] && (needs(v, o) || needs(o, v) && v.Source.VM != o.Owner.Key && o.Source.VM != v.Owner.Key) {
					keep[o.Owner.Key], more = true, true
					along = append(along, o.Owner.Name)
				}
			}
		}
	}
	d.VMs = slices.DeleteFunc(slices.Clone(d.VMs), func(v model.VM) bool { return !keep[v.Owner.Key] })
	d.Snapshots = slices.DeleteFunc(slices.Clone(d.Snapshots), func(s model.Snapshot) bool { return !keep[s.VM] })
	d.Images = slices.DeleteFunc(slices.Clone(d.Images), func(i model.Image) bool {
		return !slices.ContainsFunc(d.VMs, func(v model.VM) bool { return v.Source.Image == i.Owner.Key })
	})
	d.Shares = slices.DeleteFunc(slices.Clone(d.Shares), func(s model.Share) bool {
		return !slices.ContainsFunc(d.VMs, func(v model.VM) bool { return slices.Contains(v.Shares, s.Owner.Name) })
	})
	d.Groups = slices.DeleteFunc(slices.Clone(d.Groups), func(g model.Group) bool {
		return !slices.ContainsFunc(d.VMs, func(v model.VM) bool { return v.Group == g.Owner.Name })
	})
	model.SortNames(along)
	return along, nil
}

// needs reports whether a machine can't be planned without another one: it is a copy
// of it, or must not share a node with it.
func needs(v, o model.VM) bool {
	return v.Source.VM == o.Owner.Key || slices.ContainsFunc(v.Place.AntiAffinity, func(s model.Selector) bool {
		return s.Matches(v.Labels) && s.Matches(o.Labels)
	})
}

// narrowAll narrows what is wanted of each cluster down to the machines that are
// selected.
func (c *change) narrowAll(u *ui.UI, list []*target.Site) ([]*target.Site, error) {
	sel, err := c.Parse()
	if err != nil || sel == nil {
		return list, err
	}
	if c.prune {
		return nil, errors.New("--prune removes what no manifest names, so it can't be narrowed down by -l")
	}
	var left []*target.Site
	for _, one := range list {
		var along []string
		d := one.Desired
		along, err = narrow(&d, sel)
		if err != nil {
			continue
		}
		if c.deleted {
			// Only the machines themselves go; what others use stays.
			d.Images, d.Shares = nil, nil
			d.VMs = slices.DeleteFunc(d.VMs, func(v model.VM) bool { return slices.Contains(along, v.Owner.Name) })
		} else if len(along) > 0 {
			u.Note("with them, since they belong together: %s", strings.Join(along, ", "))
		}
		one.Desired = d
		left = append(left, one)
	}
	if len(left) == 0 {
		return nil, err
	}
	return left, nil
}
