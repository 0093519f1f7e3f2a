package plan

import (
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

func TestPruneFindsCopiesThatWereNeverConfigured(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	converge(t, w, want)
	lost := testVM("lost")
	for name, source := range inOrder(map[string]model.Source{
		"of an image":              lost.Source,
		"of another of our guests": {VM: want.VMs[0].Owner.Key, Full: true},
	}) {
		lost.Source = source
		for _, s := range w.plan(desired(append(slices.Clone(want.VMs), lost)...)).steps() {
			if c, ok := s.Action.(model.Clone); ok {
				w.Do(c) // and then we crash: it has no tags of its own yet
			}
		}
		want.Prune = true
		p := converge(t, w, want)
		if !p.Ready() {
			t.Errorf("a copy %s: %s", name, p)
		}
		for id, g := range w.Guests {
			if g.Config.Marker != nil && g.Config.Marker.Owner == lost.Owner {
				t.Errorf("a copy %s is left as VM %d", name, id)
			}
		}
	}
}

func TestPruneWaitsForCopiesThatDoNotSayYetWhoseTheyAre(t *testing.T) {
	w := newWorld()
	want := desired()
	want.Prune = true
	w.Guests[5100] = &model.Guest{VMID: 5100, Node: "pve1", Status: model.StatusStopped, Lock: "clone", Config: &model.Config{Half: true}}
	p := w.plan(want)
	if o := p.Objects[len(p.Objects)-1]; o.Wait == nil || o.Wait.Reason != model.WaitOwner {
		t.Errorf("plan:\n%s", p)
	}
}

func TestPruneReadsSnapshotsOnlyWhenAsked(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	converge(t, w, want)
	if l := For(want, w.observe(Look{})).Look(); len(l.Snapshots) != 0 {
		t.Errorf("a plan without prune reads snapshots of %v", l.Snapshots)
	}
	want.Prune = true
	if l := For(want, w.observe(Look{})).Look(); len(l.Snapshots) != 1 {
		t.Errorf("a plan with prune reads snapshots of %v", l.Snapshots)
	}
}

func TestPruneDeletesSnapshotsThatMovedToAnotherGuest(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"), testVM("db"))
	s := testSnapshot("one")
	want.Snapshots = []model.Snapshot{s}
	p := converge(t, w, want)
	web, db := p.Objects[2].VMID, p.Objects[3].VMID
	s.VM.Name = "db"
	want.Snapshots, want.Prune = []model.Snapshot{s}, true
	if p := converge(t, w, want); !p.Ready() || snapshotNames(w, web) != "" || snapshotNames(w, db) != "one" {
		t.Errorf("web has %q, db has %q, plan:\n%s", snapshotNames(w, web), snapshotNames(w, db), p)
	}
}

// Somebody takes the tags off a machine of ours and makes a template of it: only its notes say
// that it is ours.
func TestPruneFindsTemplatesWithoutTags(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"), testVM("lost"))
	id := converge(t, w, want).object(t, "lost").VMID
	g := w.Guests[id]
	g.Tags, g.Config.Tags, g.Template, g.Status = nil, nil, true, model.StatusStopped
	want = desired(testVM("web"))
	want.Prune = true
	if p := converge(t, w, want); !p.Ready() || w.Guests[id] != nil {
		t.Errorf("VM %d is left, and the plan is\n%s", id, p)
	}
}
