package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// People edit the notes of a VM, and our marker is there.
func TestAGuestThatHasLostItsMarkerIsNeitherTouchedNorMadeTwice(t *testing.T) {
	for _, fixed := range []int{0, 700} {
		w := newWorld()
		v := testVM("web")
		v.VMID = fixed
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
			if o := p.Objects[2]; o.Wait == nil || o.Wait.Reason != model.WaitForeign || o.Wait.Do.Do != model.ProveGuest || o.Gone {
				t.Errorf("VMID %d, deleted=%v:\n%s", fixed, v.Deleted, p)
			}
			if len(w.Guests) != count {
				t.Errorf("VMID %d, deleted=%v: there are %d guests", fixed, v.Deleted, len(w.Guests))
			}
		}
	}
}

// The manifest has named a VMID before, so that the guest isn't among the candidates; its tags may still be in the list.
func TestAGuestThatHasLostItsMarkerIsNotMadeTwiceWhenItsVMIDIsNoLongerNamed(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.VMID = 700
	converge(t, w, desired(v))
	count := len(w.Guests)
	w.Guests[700].Config.Marker, w.Guests[700].Config.Text = nil, "my notes"
	v.VMID = 0
	p := converge(t, w, desired(v))
	if o := p.Objects[2]; o.Wait == nil || o.Wait.Reason != model.WaitForeign || o.Wait.Do.Do != model.ProveGuest || len(w.Guests) != count {
		t.Errorf("%d guests, %d before:\n%s", len(w.Guests), count, p)
	}
}

// The machine was made before the other one got its MAC address. The list doesn't have its tags yet.
func TestAGuestThatProvesWhoseItIsCountsMoreThanOneThatMayBeTheOwners(t *testing.T) {
	for _, name := range []string{"web", "another"} {
		w := newWorld()
		v := testVM("web")
		converge(t, w, desired(v))
		mine := w.guest("web")
		mine.Tags = nil
		other := w.twin(mine, 700)
		other.Name, other.Config.Marker, other.Config.Text = name, nil, "somebody else's"
		have := w.observe(Look{})
		read := *have.Guests[700]
		config := *other.Config
		read.Config = &config
		have.Guests[700] = &read
		p := For(desired(v), have)
		if o := p.Objects[2]; o.Wait != nil || !slices.Contains(p.Look().Configs, mine.VMID) {
			t.Errorf("the other one is called %s: %v is not read first:\n%s", name, mine.VMID, p)
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

// While Proxmox makes a guest nothing says whose it is, and its manifest may name another VMID by then, or none.
func TestAGuestThatIsBeingMadeUnderAnEarlierVMIDIsWaitedFor(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	clone := model.Task{UPID: "UPID:it", Type: "qmclone", Node: "pve1", VMID: 9000}
	other := model.Task{UPID: "UPID:other", Type: "qmclone", Node: "pve1", VMID: 9000}
	half := &model.Guest{VMID: 5090, Node: "pve1", Name: "VM 5090", Lock: "clone"}
	for _, c := range []struct {
		reason string
		begun  int
		guest  *model.Guest
		config *model.Config
		tasks  []model.Task
		waits  bool
		looks  bool
	}{
		{reason: "nothing was begun", guest: half, tasks: []model.Task{clone}},
		{reason: "the lists don't show it yet", begun: 5090, tasks: []model.Task{clone}, waits: true},
		{reason: "it isn't being made any more", begun: 5090, tasks: []model.Task{other}},
		{reason: "its config wasn't read", begun: 5090, guest: half, tasks: []model.Task{clone}, looks: true},
		{reason: "its config is half of one", begun: 5090, guest: half, config: &model.Config{Half: true}, tasks: []model.Task{clone}, waits: true},
		{reason: "it is somebody else's", begun: 5090, guest: half, config: &model.Config{}},
	} {
		have := w.observe(Look{Configs: []int{9000, 9001, 9002}})
		have.Begun, have.Tasks = map[model.Owner]model.Begun{v.Owner: {VMID: c.begun, Task: clone.UPID}}, c.tasks
		if c.guest != nil {
			g := *c.guest
			g.Config = c.config
			have.Guests[g.VMID] = &g
		}
		o := For(desired(v), have).Objects[2]
		if waits := o.Wait != nil && o.Wait.Reason == model.WaitOwner; waits != c.waits {
			t.Errorf("%s: it waits: %v\n%+v", c.reason, waits, o)
		}
		if looks := slices.Contains(o.Look.Configs, 5090); looks != c.looks {
			t.Errorf("%s: it looks: %v\n%+v", c.reason, looks, o)
		}
		if goesOn := o.VMID != 0; goesOn == (c.waits || c.looks) {
			t.Errorf("%s: it is made elsewhere: %v\n%+v", c.reason, goesOn, o)
		}
	}
}
