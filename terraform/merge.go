package terraform

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/proxplane/proxplane/model"
)

// wanting is what a resource wants, and who says so.
type wanting struct {
	want model.Desired
	said bool // by its configuration, and not by a state that may be about to change
	// fresh says that there is no state: it is new, or was made by a configuration whose state is lost.
	fresh bool
}

// rank orders resources: what several of them say about one object is taken from the first.
func rank(part model.Key) int {
	switch part.Kind {
	case "VMImage":
		return 0 // images are wanted by their own resources
	case "Manifest":
		return 1 // or by manifests that describe them
	}
	return 2 // and by machines that are made from them
}

// merged is what several resources want together. An image that several machines name is wanted
// once: by its own resource, if that is among them.
func merged(parts map[model.Key]model.Desired) model.Desired {
	var all model.Desired
	seen := map[model.Key]bool{}
	first := func(k model.Key) bool {
		defer func() { seen[k] = true }()
		return !seen[k]
	}
	for _, part := range slices.SortedFunc(maps.Keys(parts), byRank) {
		p := parts[part]
		all.Set, all.Door, all.Range = p.Set, p.Door, p.Range
		all.VMs, all.Snapshots = append(all.VMs, p.VMs...), append(all.Snapshots, p.Snapshots...)
		for _, i := range p.Images {
			if first(i.Owner.Key) {
				all.Images = append(all.Images, i)
			}
		}
		for _, s := range p.Shares {
			if first(s.Owner.Key) {
				all.Shares = append(all.Shares, s)
			}
		}
		for _, g := range p.Groups {
			if first(g.Owner.Key) {
				all.Groups = append(all.Groups, g)
			}
		}
	}
	return all
}

func byRank(a, b model.Key) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// disputed says which images of a resource another one says something else about: which of the two
// is meant would be left to chance.
func (d *door) disputed(w part) (diags diag.Diagnostics) {
	if len(w.wanted.Desired.Images) == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	against := map[model.Key][]string{} // whom, and about which images
	for other, as := range d.planned {
		if other == w.key || !as.said {
			continue
		}
		for _, i := range w.wanted.Desired.Images {
			if slices.ContainsFunc(as.want.Images, func(o model.Image) bool { return differ(i, o) }) {
				against[other] = append(against[other], i.Owner.Name)
			}
		}
	}
	for _, other := range slices.SortedFunc(maps.Keys(against), byRank) {
		for _, name := range against[other] {
			diags.AddError(fmt.Sprintf("Image %s is said in two ways", name), fmt.Sprintf("%s %s says something else about it. Describe it once, in a proxplane_image, and say image = proxplane_image.NAME wherever it is used.", resourceOf(other), other.Name))
		}
	}
	return diags
}

// differ reports whether one image is said in two ways.
func differ(a, b model.Image) bool {
	a.Used, b.Used = false, false
	return a.Owner.Key == b.Owner.Key && !reflect.DeepEqual(a, b)
}

// resourceOf is the type of the resource that a part is of.
func resourceOf(part model.Key) string {
	switch part.Kind {
	case "VirtualMachine":
		return Name + "_virtual_machine"
	case "Manifest":
		return Name + "_manifest"
	}
	return Name + "_" + strings.ToLower(strings.TrimPrefix(part.Kind, "VM"))
}
