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
			w.Do(s.Action) // and no more
		}
	}
	p := converge(t, w, desired(v))
	if !p.Ready() {
		t.Fatalf("not up to date:\n%s", p)
	}
	for _, g := range w.Guests {
		if !g.Template && (g.HAState != "" || slices.Contains(g.Config.Marker.Managed, "ha")) {
			t.Errorf("HA is %q, and ours are %v", g.HAState, g.Config.Marker.Managed)
		}
	}
}

// Whoever is stopped before HA was told finds that out the next time, though the
// config is up to date by then.
func TestHAIsToldThoughTheConfigChangesFirst(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.HA = &model.HA{MaxRestart: 2, Group: "fast"}
	converge(t, w, desired(v))
	v.HA = &model.HA{MaxRestart: 3, Group: "slow"}
	for _, s := range w.plan(desired(v)).Objects[2].Steps {
		if _, ok := s.Action.(model.Configure); ok {
			w.Do(s.Action) // and no more
		}
	}
	if p := converge(t, w, desired(v)); !p.Ready() {
		t.Fatalf("not up to date:\n%s", p)
	}
	for id, told := range w.HA {
		if told["max_restart"] != "3" || !slices.Contains(w.Rules["slow"], id) || slices.Contains(w.Rules["fast"], id) {
			t.Errorf("HA was told %v, the rules are %v", told, w.Rules)
		}
	}
	want := desired(v)
	want.Quick = true
	if p := For(want, w.observe(Look{})); !p.Ready() {
		t.Errorf("a look at the list isn't enough:\n%s", p)
	}
}

func TestThePlanSaysWhatHAIsToldAndWhy(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.HA = &model.HA{}
	converge(t, w, desired(v))
	v.HA = &model.HA{MaxRelocate: 3}
	o := w.plan(desired(v)).Objects[2]
	if i := slices.IndexFunc(o.Steps, func(s Step) bool { return s.What == "tell HA about it" }); i < 0 || o.Steps[i].Reason() != "ha.max_relocate 1 → 3" || o.Steps[i].Effect != Live {
		t.Errorf("plan:\n%s", o)
	}
}

// A request that is still in flight may put it under HA, or into a pool, after that isn't
// wanted any more.
func TestWhatARequestInFlightMayDoStaysOurs(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.HA, v.Pool = &model.HA{}, "team"
	id := converge(t, w, desired(v)).Objects[2].VMID
	g := w.Guests[id]
	g.HAState, g.Pool, g.InFlight = "", "", model.AspectHA|model.AspectPool // neither was done yet
	v.HA, v.Pool = nil, ""
	o := w.plan(desired(v)).Objects[2]
	if o.Wait == nil || o.Wait.Reason != model.WaitRequest {
		t.Errorf("nothing waits:\n%s", o)
	}
	for _, s := range o.Steps {
		w.Do(s.Action)
	}
	if m := w.Guests[id].Config.Marker; !m.Manages("ha") || !m.Manages(model.PoolMark("team")) {
		t.Errorf("ours are %v", m.Managed)
	}
	g.HAState, g.Pool, g.InFlight = "started", "team", 0
	if p := converge(t, w, desired(v)); !p.Ready() || g.HAState != "" || g.Pool != "" {
		t.Errorf("HA is %q, the pool is %q:\n%s", g.HAState, g.Pool, p)
	}
}
