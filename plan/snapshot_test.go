package plan

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

func testSnapshot(name string) model.Snapshot {
	return model.Snapshot{Owner: owner("VMSnapshot", name), VM: model.Key{Kind: "VirtualMachine", Name: "web"}, Name: name, Description: "why", Memory: true}
}

func snapshotNames(w *world, id int) string {
	var names []string
	for _, s := range w.Guests[id].Snapshots {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

func TestSnapshotsAreTakenOnceTheGuestIsReady(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	want.Snapshots = []model.Snapshot{testSnapshot("one")}
	first := w.plan(want)
	if o := first.Objects[3]; o.Wait == nil || o.Wait.Reason != model.WaitSource {
		t.Errorf("before the guest is there:\n%s", o)
	}
	p := converge(t, w, want)
	if !p.Ready() || snapshotNames(w, p.Objects[2].VMID) != "one" {
		t.Fatalf("snapshots %q, plan:\n%s", snapshotNames(w, p.Objects[2].VMID), p)
	}
}

func TestSnapshotsOfOthersAreLeftAlone(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	id := converge(t, w, want).Objects[2].VMID
	w.Guests[id].Snapshots = []model.SnapshotInfo{{Name: "one", Description: "by hand"}}
	s := testSnapshot("one")
	want.Snapshots = []model.Snapshot{s}
	if o := converge(t, w, want).Objects[3]; o.Wait == nil || o.Wait.Reason != model.WaitForeign {
		t.Errorf("a name that is taken:\n%s", o)
	}
	s.Deleted = true
	want.Snapshots = []model.Snapshot{s}
	if p := converge(t, w, want); !p.Objects[3].Gone || snapshotNames(w, id) != "one" {
		t.Errorf("left %q, plan:\n%s", snapshotNames(w, id), p)
	}
}

func TestRollingBackHappensOnceForEachValueAndOnlyWhenAllowed(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	s := testSnapshot("one")
	want.Snapshots = []model.Snapshot{s}
	converge(t, w, want)
	s.Revert = "monday"
	want.Snapshots = []model.Snapshot{s}
	if o := converge(t, w, want).Objects[3]; len(o.Refused) != 1 || o.Refused[0].Effect != LosesData {
		t.Fatalf("not allowed:\n%s", o)
	}
	want.Allow.Data = true
	before := len(w.Log)
	if p := converge(t, w, want); !p.Ready() {
		t.Fatalf("allowed:\n%s", p)
	}
	if again := converge(t, w, want); !again.Ready() || strings.Count(strings.Join(w.Log[before:], " "), "Rollback") != 1 {
		t.Errorf("actions %v", w.Log[before:])
	}
}

func TestASnapshotThatIsTakenNowIsNotGoneBackTo(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	want.Allow.Data = true
	s := testSnapshot("one")
	s.Revert = "monday"
	want.Snapshots = []model.Snapshot{s}
	if p := converge(t, w, want); !p.Ready() || strings.Contains(strings.Join(w.Log, " "), "Rollback") {
		t.Errorf("actions %v\n%s", w.Log, p)
	}
}

func TestOnlyTheNewestSnapshotsAreKept(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	var id int
	for _, name := range []string{"one", "two", "three"} {
		s := testSnapshot(name)
		s.Keep = 2
		want.Snapshots = []model.Snapshot{s}
		id = converge(t, w, want).Objects[2].VMID
	}
	if got := snapshotNames(w, id); got != "two three" {
		t.Errorf("kept %q", got)
	}
}

func TestASnapshotIsOfAGuestThatIsWantedElsewhere(t *testing.T) {
	w := newWorld()
	web := testVM("web")
	id := converge(t, w, desired(web)).Objects[2].VMID
	s := testSnapshot("one")
	s.VM, s.VMID = model.Key{}, id
	want := desired()
	want.Images, want.Snapshots = nil, []model.Snapshot{s}
	if p := converge(t, w, want); !p.Ready() || snapshotNames(w, id) != "one" {
		t.Fatalf("snapshots %q, plan:\n%s", snapshotNames(w, id), p)
	}
	for _, c := range []struct {
		reason string
		vmid   int
		set    string
		want   model.Reason
	}{
		{"nobody has made it", 4711, s.Owner.Set, model.WaitMissing},
		{"it is of another set", id, "other", model.WaitForeign},
	} {
		other := s
		other.VMID, other.Owner.Set = c.vmid, c.set
		want.Snapshots = []model.Snapshot{other}
		if o := w.plan(want).Objects[0]; o.Wait == nil || o.Wait.Reason != c.want || len(o.Steps) > 0 {
			t.Errorf("%s:\n%s", c.reason, o)
		}
		other.Deleted = true
		want.Snapshots = []model.Snapshot{other}
		if o := w.plan(want).Objects[0]; !o.Gone || len(o.Steps) > 0 {
			t.Errorf("%s, and it is to go:\n%s", c.reason, o)
		}
	}
	// Its machine, wanted beside it, is ready before the snapshot is taken.
	web.Tags = append(web.Tags, "new")
	two := s
	two.Owner, two.Name = owner("VMSnapshot", "two"), "two"
	want = desired(web)
	want.Snapshots = []model.Snapshot{s, two}
	objects := w.plan(want).Objects
	if o := objects[len(objects)-1]; o.Wait == nil || o.Wait.Reason != model.WaitSource {
		t.Errorf("before the guest is ready:\n%s", o)
	}
	s.Deleted = true
	want.Snapshots = []model.Snapshot{s, two}
	if p := converge(t, w, want); snapshotNames(w, id) != "two" {
		t.Errorf("snapshots %q, plan:\n%s", snapshotNames(w, id), p)
	}
}

func TestSnapshotsOfOtherKindsAreKept(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	other, s := testSnapshot("one"), testSnapshot("two")
	other.Owner.Kind, s.Keep = "Snapshot", 1
	want.Snapshots = []model.Snapshot{other}
	id := converge(t, w, want).Objects[2].VMID
	want.Snapshots = []model.Snapshot{s}
	if p := converge(t, w, want); snapshotNames(w, id) != "one two" {
		t.Errorf("snapshots %q, plan:\n%s", snapshotNames(w, id), p)
	}
}
