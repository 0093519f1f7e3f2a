package plan

import (
	"fmt"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// People edit the notes of a VM, and our marker is there.
func TestAGuestThatHasLostItsMarkerIsNeitherTouchedNorMadeTwice(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	converge(t, w, desired(v))
	count := len(w.Guests)
	for _, g := range w.Guests {
		if !g.Template {
			g.Config.Marker, g.Config.Text, g.Memory = nil, "my notes", 1<<30
		}
	}
	v.Options["memory"] = "8192"
	for _, v.Deleted = range []bool{false, true} {
		p := converge(t, w, desired(v))
		if o := p.Objects[2]; o.Wait == nil || o.Wait.Reason != model.WaitForeign || o.Gone {
			t.Errorf("deleted=%v:\n%s", v.Deleted, p)
		}
		if len(w.Guests) != count {
			t.Errorf("deleted=%v: there are %d guests", v.Deleted, len(w.Guests))
		}
	}
}

// Which object takes a VMID first is known to one process only; another one would
// have them the other way round.
func TestAVMIDThatAnotherObjectIsAboutToTakeIsWaitedForAndNotSkipped(t *testing.T) {
	w := newWorld()
	one, two := testVM("one"), testVM("two")
	one.Range, two.Range = model.Range{First: 5000, Last: 5000}, model.Range{First: 5000, Last: 5001}
	for i := 0; firstCandidate(two) != 5000; i++ {
		two.Owner.Name = fmt.Sprintf("two-%d", i)
	}
	p := w.plan(desired(one, two))
	if first, second := p.Objects[2], p.Objects[3]; first.VMID != 5000 || second.Wait == nil || second.Wait.Reason != model.WaitTurn {
		t.Fatalf("both at once:\n%s", p)
	}
	for _, c := range []struct {
		placed  model.Placement
		deleted bool
		reason  string
		vmid    int
		gone    bool
	}{
		{model.Placement{Owner: one.Owner}, false, "nobody can see yet that it is taken", 0, false},
		{model.Placement{Owner: one.Owner, Begun: true}, false, "Proxmox is at it", 5001, false},
		{model.Placement{Owner: two.Owner}, false, "it is its own", 5000, false},
		{model.Placement{Owner: one.Owner}, true, "who is to go needs no VMID", 0, true},
	} {
		two.Deleted = c.deleted
		have := w.observe(Look{Configs: []int{9000, 9001, 9002}})
		have.Placed = map[int]model.Placement{5000: c.placed}
		if o := For(desired(two), have).Objects[2]; o.Gone != c.gone || o.VMID != c.vmid {
			t.Errorf("%s: %s", c.reason, o)
		}
	}
}

func firstCandidate(v model.VM) int {
	for id := range v.Owner.Candidates(v.Range) {
		return id
	}
	return 0
}

// The engine remembers where an image is being made by its name; it has one VMID for
// each of its generations.
func TestWhoWaitsForAnImageNeedsNoneOfItsVMIDs(t *testing.T) {
	w := newWorld()
	want := waitingFor()
	image := w.plan(want).Objects[0]
	have := w.observe(Look{Files: true})
	have.Placed = map[int]model.Placement{image.VMID: {Owner: image.Owner, Node: image.Node}}
	for _, o := range For(want, have).Objects[2:4] {
		if o.Wait == nil || o.Wait.Reason != model.WaitSource || o.Wait.Text != "vmimage/cloud isn't ready yet" {
			t.Errorf("plan:\n%s", o)
		}
	}
}
