package plan

import (
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// Whoever is stopped between two steps finds the next time what is still to be done.
func TestPoolsAreLeftThoughTheConfigChangesFirst(t *testing.T) {
	for _, next := range []string{"", "other"} {
		w := newWorld()
		v := testVM("web")
		v.Pool = "team"
		id := converge(t, w, desired(v)).Objects[2].VMID
		v.Pool = next
		for _, s := range w.plan(desired(v)).Objects[2].Steps {
			if _, ok := s.Action.(model.Configure); ok {
				w.Do(s.Action) // and no more
			}
		}
		v.Pool = "" // and the manifest has changed once more
		p := converge(t, w, desired(v))
		g := w.Guests[id]
		if !p.Ready() || g.Pool != "" || slices.Contains(g.Config.Marker.Managed, model.PoolMark("team")) {
			t.Errorf("by way of %q: the pool is %q, ours are %v, plan:\n%s", next, g.Pool, g.Config.Marker.Managed, p)
		}
	}
}

func TestPoolsOfOthersAreNotLeft(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.Pool = "team"
	id := converge(t, w, desired(v)).Objects[2].VMID
	w.Guests[id].Pool = "theirs"
	v.Pool = ""
	if p := converge(t, w, desired(v)); !p.Ready() || w.Guests[id].Pool != "theirs" {
		t.Errorf("the pool is %q, plan:\n%s", w.Guests[id].Pool, p)
	}
}
