package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// offline takes pve3 away, and has it a guest. Five minutes later lists show nothing of that guest but what its config
// says of tags and locks.
func offline(w *world, vmid int, tags ...string) {
	w.Nodes["pve3"].Online = false
	w.also = func(o *model.Observed) {
		o.Guests[vmid] = &model.Guest{VMID: vmid, Node: "pve3", Status: model.StatusUnknown, Tags: tags}
		o.Index()
	}
}

func makesOne(o Object) bool {
	return slices.ContainsFunc(o.Steps, func(s Step) bool { _, ok := s.Action.(model.Clone); return ok })
}

func TestAGuestOnANodeThatIsOfflineHoldsUpOnlyTheObjectsThatItCouldBe(t *testing.T) {
	other := testVM("other")
	other.Owner.Set = "another"
	marks := []string{model.Tag, model.SetTag(other.Owner), model.StateTag(other.Owner, "abcde")}
	for _, c := range []struct {
		reason string
		vmid   func(v model.VM) int
		change func(v *model.VM)
		tags   []string
		waits  string
	}{
		{reason: "it is a stranger", vmid: func(model.VM) int { return 105 }},
		{reason: "it is a stranger, and the object one of Kubernetes", vmid: func(model.VM) int { return 105 }, change: func(v *model.VM) { v.Owner.UID = "1" }},
		{reason: "it is a machine of another set", vmid: func(model.VM) int { return 105 }, tags: marks, change: func(v *model.VM) { v.Owner.UID = "1" }},
		{reason: "it has the first VMID of the object", vmid: firstCandidate, waits: "may be this object's"},
		{reason: "it has one of the object's other VMIDs", vmid: func(v model.VM) int { return slices.Collect(v.Owner.Candidates(v.Range))[20] }, waits: "may be this object's"},
		{reason: "it has the VMID that is asked for", vmid: func(model.VM) int { return 105 }, change: func(v *model.VM) { v.VMID = 105 }, waits: "may be this object's"},
		{reason: "it has the VMID that was written down", vmid: func(model.VM) int { return 105 }, change: func(v *model.VM) { v.Remembered = 105 }, waits: "may be this object's"},
		{reason: "its tag names the object", vmid: func(model.VM) int { return 105 }, tags: []string{model.StateTag(testVM("web").Owner, "abcde")}, waits: "node pve3, which has VM 105, is offline"},
	} {
		w := newWorld()
		v := testVM("web")
		if c.change != nil {
			c.change(&v)
		}
		vmid := c.vmid(v)
		offline(w, vmid, c.tags...)
		for _, foresee := range []bool{false, true} {
			want := desired(v)
			want.Foresee = foresee
			p := w.plan(want)
			o := p.Objects[2]
			switch {
			case c.waits == "" && (!makesOne(o) || o.Wait != nil):
				t.Errorf("%s: it should be made (foresee %v):\n%s", c.reason, foresee, p)
			case c.waits == "" && len(c.tags) == 0 && !slices.ContainsFunc(p.Notes, func(n Note) bool {
				return strings.Contains(n.Text, "node pve3 is offline, so VM 105 there can't be read")
			}):
				t.Errorf("%s: the plan should tell what wasn't looked at:\n%v", c.reason, p.Notes)
			case c.waits != "" && (o.Wait == nil || o.Wait.Reason != model.WaitNode || !strings.Contains(o.Wait.Text, c.waits) || makesOne(o)):
				t.Errorf("%s: it should wait (foresee %v):\n%s", c.reason, foresee, p)
			}
		}
	}
}

func TestMachinesThatAreThereDontWaitForANodeThatIsOffline(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	converge(t, w, want)
	offline(w, 105)
	want.Foresee = true
	if p := w.plan(want); !p.Objects[2].Ready() || len(p.Notes) > 0 {
		t.Errorf("nothing about it has changed:\n%s", p)
	}
}

func TestATemplateThatMayBeOnANodeThatIsOfflineIsSaidSo(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	want.Images[0].Template = "nowhere"
	offline(w, 105)
	p := w.plan(want)
	o := p.Objects[0]
	if o.Wait == nil || o.Wait.Reason != model.WaitNode || !strings.Contains(o.Wait.Text, `no template is named "nowhere"`) || !strings.Contains(o.Wait.Text, "VM 105 on pve3") {
		t.Errorf("plan:\n%s\n%+v", p, o.Wait)
	}
}
