package plan

import (
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// The mark that HA is ours stays until HA is gone: whoever is stopped in between
// finds it the next time.
func TestHAIsTakenAwayThoughTheConfigChangesFirst(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.HA = &model.HA{}
	converge(t, w, desired(v))
	v.HA = nil
	v.Options = map[string]string{"cores": "4", "memory": "4096", "onboot": "1"}
	for _, s := range w.plan(desired(v)).Objects[2].Steps {
		if _, ok := s.Action.(model.Configure); ok {
			w.do(s.Action) // and no more
		}
	}
	p := converge(t, w, desired(v))
	if !p.Ready() {
		t.Fatalf("not as wanted:\n%s", p)
	}
	for _, g := range w.guests {
		if !g.Template && (g.HAState != "" || slices.Contains(g.Config.Marker.Managed, "ha")) {
			t.Errorf("HA is %q, and ours are %v", g.HAState, g.Config.Marker.Managed)
		}
	}
}
