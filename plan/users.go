package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Users returns the guests that were made from a template, as far as disks and markers show: linked
// clones by the names and parents of disks, others by their markers.
func Users(t *model.Guest, have *model.Observed) []*model.Guest {
	base := fmt.Sprintf("base-%d-", t.VMID)
	hangs := func(volume string) bool { return strings.Contains(volume, base) }
	found := map[int]bool{}
	for _, v := range have.Volumes.LinkedTo(t.VMID, hangs) {
		found[v.VMID] = true
	}
	var list []*model.Guest
	for _, id := range slices.Sorted(keysOf(have.Guests)) {
		g := have.Guests[id]
		linked := g.Config != nil && slices.ContainsFunc(g.Config.Disks, func(d model.Disk) bool { return hangsOn(t, d.Volume) })
		if id != t.VMID && !g.Template && (found[id] || linked || cameFrom(g, t, have)) {
			list = append(list, g)
		}
	}
	return list
}

// cameFrom reports whether a marker says that a guest was made from a template. Of what was made from a
// copy it names what that is a copy of: the copy is the one on the guest's node.
func cameFrom(g, t *model.Guest, have *model.Observed) bool {
	m := g.Marker()
	switch {
	case m == nil || m.From != original(t):
		return false
	case t.VMID != original(t):
		return g.Node == t.Node
	}
	for _, other := range have.Guests {
		if other != t && other.Template && original(other) == t.VMID && other.Node == g.Node {
			return false
		}
	}
	return true
}
