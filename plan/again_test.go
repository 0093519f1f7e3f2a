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
	if !p.Ready() || p.Objects[len(p.Objects)-1].VMID != was+100 || w.Guests[was] != nil {
		t.Errorf("it should have moved to its new VMID:\n%s", p)
	}
}

func TestNoGuestIsDestroyedForOneThatCannotBeMade(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	converge(t, w, want)
	want.Allow.Replace = true
	for reason, change := range inOrder(map[string]func(v *model.VM){
		"the new source isn't there":           func(v *model.VM) { v.Source.Image.Name = "nowhere" },
		"the new VMID is somebody else's":      func(v *model.VM) { v.VMID = 9000 },
		"the new source is a VM that is to be": func(v *model.VM) { v.Source = model.Source{VM: model.Key{Kind: "VirtualMachine", Name: "nobody"}} },
	}) {
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

func TestGuestsOfOursAreFoundBeforeTheyHaveTheirTags(t *testing.T) {
	for reason, c := range inOrder(map[string]struct {
		made, want func(v *model.VM)
		seen       func(g *model.Guest)
	}{
		"the manifest named a VMID when it was made": {
			made: func(v *model.VM) { v.VMID = 5900 },
		},
		"and the list doesn't show its name yet": {
			made: func(v *model.VM) { v.VMID = 5900 },
			seen: func(g *model.Guest) { g.Name = "VM 5900" },
		},
		"it is a copy of another of our guests, with the tags of that": {
			made: func(v *model.VM) { v.Source = model.Source{VM: testVM("from").Owner.Key, Full: true} },
			want: func(v *model.VM) { v.Source = model.Source{VM: testVM("from").Owner.Key, Full: true} },
		},
		"it is such a copy, and the manifest named a VMID when it was made": {
			made: func(v *model.VM) {
				v.VMID, v.Source = 5900, model.Source{VM: testVM("from").Owner.Key, Full: true}
			},
			want: func(v *model.VM) { v.Source = model.Source{VM: testVM("from").Owner.Key, Full: true} },
		},
		"and the list doesn't show the name of the copy yet": {
			made: func(v *model.VM) { v.Source = model.Source{VM: testVM("from").Owner.Key, Full: true} },
			want: func(v *model.VM) { v.Source = model.Source{VM: testVM("from").Owner.Key, Full: true} },
			seen: func(g *model.Guest) { g.Name = "VM " + itoa(g.VMID) },
		},
	}) {
		w := newWorld()
		from := testVM("from")
		from.VMID = 5950
		converge(t, w, desired(from))
		v := testVM("web")
		c.made(&v)
		for _, s := range w.plan(desired(from, v)).steps() {
			if clone, ok := s.Action.(model.Clone); ok {
				w.Do(clone) // and then we crash
				if c.seen != nil {
					c.seen(w.Guests[clone.To.VMID])
				}
			}
		}
		v = testVM("web")
		if c.want != nil {
			c.want(&v)
		}
		p := w.plan(desired(from, v))
		for _, s := range p.steps() {
			if _, ok := s.Action.(model.Clone); ok {
				t.Errorf("%s, and a second one is made:\n%s", reason, p)
			}
		}
	}
}

func TestACopyThatSomebodyMadeByHandIsNotOurs(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	converge(t, w, want)
	for _, g := range w.Guests {
		if g.Config.Marker != nil && g.Config.Marker.VMID != g.VMID {
			t.Errorf("the marker of VM %d is for VM %d", g.VMID, g.Config.Marker.VMID)
		}
	}
}

func TestNoGuestIsStartedBeforeItsFirstBootDataIsThere(t *testing.T) {
	for _, ha := range []*model.HA{nil, {}} {
		w := newWorld()
		v := testVM("web")
		v.Power, v.WaitAddress = model.PowerOff, false
		converge(t, w, desired(v))
		v.Power, v.HA = model.PowerOn, ha
		v.Seed = &model.Seed{Storage: "nfs", Digest: "0123456789abcdef", Files: map[string][]byte{"user-data": {}}}
		for range 20 {
			p := w.plan(desired(v))
			for _, s := range p.steps() {
				_, start := s.Action.(model.Start)
				_, manager := s.Action.(model.SetHA)
				if g := w.Guests[s.Action.Guest()]; (start || manager) && g != nil && len(s.After) == 0 {
					if d, ok := g.Config.DiskAt("ide2"); !ok || d.Volume == "" {
						t.Fatalf("%s comes first:\n%s", s.What, p)
					}
				}
			}
			if p.Steps() == 0 {
				break
			}
			for _, o := range p.Objects {
				// All that follows a change of the config is done without another look.
				done := map[int]bool{}
				for _, s := range o.Steps {
					if !slices.ContainsFunc(s.After, func(n int) bool { return !done[n] }) {
						w.Do(s.Action)
						done[s.N] = true
						if start, ok := s.Action.(model.Start); ok {
							if d, ok := w.Guests[start.VMID].Config.DiskAt("ide2"); !ok || d.Volume == "" {
								t.Fatalf("it is started without its data:\n%s", p)
							}
						}
					}
				}
			}
		}
	}
}
