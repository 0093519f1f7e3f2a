package plan

import (
	"testing"

	"github.com/proxplane/proxplane/model"
)

// Whoever has agreed that a machine goes has agreed that its disks go with it, also those that Proxmox
// couldn't remove at once. Of others nobody was asked.
func TestOnlyLeftoversOfWhatWasShownAreAgreedTo(t *testing.T) {
	owner := model.Owner{Door: "vm", Set: "s", Key: model.Key{Kind: "VirtualMachine", Name: "web"}}
	remove := func(vmid int, e Effect) Step {
		return Step{N: 1, Action: model.RemoveDisk{Left: model.Left{VMID: vmid}, Volume: "nfs:x"}, What: "remove nfs:x", Effect: e}
	}
	make := Step{N: 2, Action: model.Create{}, What: "create", Effect: New, After: []int{1}}
	var a Agreement
	a.Add(Plan{Objects: []Object{{Owner: owner, Steps: []Step{{N: 1, Action: model.Destroy{Target: model.Target{VMID: 100}}, Effect: LosesData}}}}})
	for _, c := range []struct {
		reason string
		o      Object
		steps  int
	}{
		{"its machine was shown", Object{Owner: owner, Steps: []Step{remove(100, LosesData)}}, 1},
		{"nobody knows any more whose it was", Object{Owner: model.Owner{Key: model.Leftovers}, Steps: []Step{remove(100, LosesData)}}, 1},
		{"another machine", Object{Owner: model.Owner{Key: model.Leftovers}, Steps: []Step{remove(101, LosesData)}}, 0},
		{"nothing is lost", Object{Owner: owner, Steps: []Step{remove(101, Live)}}, 1},
		{"what comes after it is done all the same", Object{Owner: owner, Steps: []Step{remove(101, LosesData), make}}, 1},
	} {
		got := a.Limit(c.o)
		if len(got.Steps) != c.steps || len(got.Refused) > 0 || (len(got.Notes) > 0) != (len(c.o.Steps) > c.steps) {
			t.Errorf("%s: %s", c.reason, got)
		}
		if c.steps > 0 && len(got.Next()) == 0 {
			t.Errorf("%s: nothing can be done: %s", c.reason, got)
		}
	}
}

// What was shown of one object is agreed to for that object alone, though the VMID is the same.
func TestAnAgreementIsForTheObjectThatWasShown(t *testing.T) {
	destroys := []Step{{N: 1, Action: model.Destroy{Target: model.Target{VMID: 100}}, Effect: LosesData}}
	var a Agreement
	a.Add(Plan{Objects: []Object{{Owner: owner("VirtualMachine", "web"), Steps: destroys}}})
	if o := a.Limit(Object{Owner: owner("VirtualMachine", "web"), Steps: destroys}); len(o.Steps) != 1 {
		t.Error("it was shown")
	}
	if o := a.Limit(Object{Owner: owner("VirtualMachine", "other"), Steps: destroys}); len(o.Steps) != 0 || len(o.Refused) != 1 {
		t.Errorf("nobody was shown that it goes: %s", o)
	}
}
