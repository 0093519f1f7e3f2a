package plan

import "testing"

// People edit the notes of a VM, and our marker is there.
func TestAGuestThatHasLostItsMarkerIsNeitherTouchedNorMadeTwice(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	converge(t, w, desired(v))
	count := len(w.guests)
	for _, g := range w.guests {
		if !g.Template {
			g.Config.Marker, g.Config.Text, g.Memory = nil, "my notes", 1<<30
		}
	}
	v.Options["memory"] = "8192"
	for _, v.Deleted = range []bool{false, true} {
		p := converge(t, w, desired(v))
		if o := p.Objects[2]; o.Wait == nil || o.Wait.Reason != WaitForeign || o.Gone {
			t.Errorf("deleted=%v:\n%s", v.Deleted, p)
		}
		if len(w.guests) != count {
			t.Errorf("deleted=%v: there are %d guests", v.Deleted, len(w.guests))
		}
	}
}
