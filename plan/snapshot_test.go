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
	for _, s := range w.guests[id].Snapshots {
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
	w.guests[id].Snapshots = []model.SnapshotInfo{{Name: "one", Description: "by hand"}}
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
	before := len(w.log)
	if p := converge(t, w, want); !p.Ready() {
		t.Fatalf("allowed:\n%s", p)
	}
	if again := converge(t, w, want); !again.Ready() || strings.Count(strings.Join(w.log[before:], " "), "Rollback") != 1 {
		t.Errorf("actions %v", w.log[before:])
	}
}

func TestASnapshotThatIsTakenNowIsNotGoneBackTo(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	want.Allow.Data = true
	s := testSnapshot("one")
	s.Revert = "monday"
	want.Snapshots = []model.Snapshot{s}
	if p := converge(t, w, want); !p.Ready() || strings.Contains(strings.Join(w.log, " "), "Rollback") {
		t.Errorf("actions %v\n%s", w.log, p)
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
