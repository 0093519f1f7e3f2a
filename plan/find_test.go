package plan

import (
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

func TestAnotherVMIDInTheManifestMakesNoSecondGuest(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	converge(t, w, want)
	was := slices.Collect(want.VMs[0].Owner.Candidates(want.VMs[0].Range))[0]
	want.VMs[0].VMID = was + 100
	p := converge(t, w, want)
	if len(p.Objects[len(p.Objects)-1].Refused) != 1 || p.Objects[len(p.Objects)-1].VMID != was {
		t.Errorf("replacing it should be refused:\n%s", p)
	}
	want.Allow.Replace = true
	p = converge(t, w, want)
	if !p.Ready() || p.Objects[len(p.Objects)-1].VMID != was+100 || w.guests[was] != nil {
		t.Errorf("it should have moved to its new VMID:\n%s", p)
	}
}

func TestNoGuestIsDestroyedForOneThatCannotBeMade(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	converge(t, w, want)
	want.Allow.Replace = true
	for reason, change := range map[string]func(v *model.VM){
		"the new source isn't there":           func(v *model.VM) { v.Source.Image.Name = "nowhere" },
		"the new VMID is somebody else's":      func(v *model.VM) { v.VMID = 9000 },
		"the new source is a VM that is to be": func(v *model.VM) { v.Source = model.Source{VM: model.Key{Kind: "VirtualMachine", Name: "nobody"}} },
	} {
		v := testVM("web")
		change(&v)
		for _, s := range w.plan(model.Desired{Set: want.Set, VMs: []model.VM{v}, Images: want.Images, Allow: want.Allow}).steps() {
			if _, ok := s.Action.(model.Destroy); ok {
				t.Errorf("%s, and still: %s", reason, s.What)
			}
		}
	}
}

func TestPendingChangesOfARunningGuestAreToldWhateverItsPower(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	converge(t, w, want)
	want.VMs[0].Power, want.VMs[0].Options["cores"] = "", "8"
	if p := converge(t, w, want); p.Ready() || len(p.Objects[len(p.Objects)-1].Refused) != 1 {
		t.Errorf("somebody should be told that it needs a restart:\n%s", p)
	}
}
