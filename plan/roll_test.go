package plan

import (
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// A guest that nobody could make yet would hold the restarts of its class for ever.
func TestOnlyGuestsThatAreBeingMadeHoldRestarts(t *testing.T) {
	missing := model.Image{Owner: owner("VMImage", "large"), Template: "large-template"}
	cases := []struct {
		name  string
		other func(*model.VM)
		holds bool
	}{
		{"its template isn't there", func(v *model.VM) { v.Source.Image = missing.Owner.Key }, false},
		{"its template is gone since it was made", func(v *model.VM) { v.Source.Image, v.Remembered = missing.Owner.Key, 5777 }, true},
		{"no node has room for it", func(v *model.VM) { v.Options["memory"] = "9000000" }, false},
		{"it isn't to be made now", func(v *model.VM) { v.Hold = model.Hold{Reason: "Paused", Text: "it is paused"} }, false},
		{"it can be made", func(*model.VM) {}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			a, b := testVM("web-a"), testVM("web-b")
			b.NICs[0].MAC = "02:00:00:AA:BB:CD"
			for _, v := range []*model.VM{&a, &b} {
				v.Rollout = model.Rollout{Groups: []string{"web"}, Max: model.Limit{Count: 1}}
				v.Update.Restart = true
			}
			converge(t, w, desired(a))
			a.Options = map[string]string{"cores": "4", "memory": "8192"}
			c.other(&b)
			want := desired(a, b)
			want.Images = append(want.Images, missing)
			o := w.plan(want).object(t, "web-a")
			restarts := slices.ContainsFunc(o.Steps, func(s Step) bool { return s.Effect == Restart })
			if held := o.Wait != nil && o.Wait.Reason == model.WaitRollout; held != c.holds || restarts == c.holds {
				t.Errorf("held: %t, restarts: %t\n%s", held, restarts, w.plan(want))
			}
		})
	}
}

func TestGuestsThatMayNotBeChangedHoldNoRestarts(t *testing.T) {
	w := newWorld()
	a, b := testVM("web-a"), testVM("web-b")
	b.NICs[0].MAC = "02:00:00:AA:BB:CD"
	for _, v := range []*model.VM{&a, &b} {
		v.Rollout = model.Rollout{Groups: []string{"web"}, Max: model.Limit{Count: 1}}
		v.Update.Restart = true
	}
	converge(t, w, desired(a, b))
	a.Options = map[string]string{"cores": "4", "memory": "8192"}
	b.Options = a.Options
	a.Hold = model.Hold{Reason: "Paused", Text: "it is paused"}
	p := w.plan(desired(a, b))
	restarts := func(s Step) bool { return s.Effect == Restart }
	if slices.ContainsFunc(p.object(t, "web-a").Steps, restarts) || !slices.ContainsFunc(p.object(t, "web-b").Steps, restarts) {
		t.Errorf("web-a is restarted, or web-b isn't:\n%s", p)
	}
}

// Several guests that don't come up would wait for each other, whatever is changed about them.
func TestGuestsThatAreNotReadyAreRestartedWithoutWaitingForEachOther(t *testing.T) {
	w := newWorld()
	a, b, c := testVM("web-a"), testVM("web-b"), testVM("web-c")
	b.NICs[0].MAC, c.NICs[0].MAC = "02:00:00:AA:BB:CD", "02:00:00:AA:BB:CE"
	for _, v := range []*model.VM{&a, &b, &c} {
		v.Rollout = model.Rollout{Groups: []string{"web"}, Max: model.Limit{Count: 1}}
		v.Update.Restart = true
	}
	want := desired(a, b, c)
	converge(t, w, want)
	for i := range want.VMs {
		want.VMs[i].Options = map[string]string{"cores": "4", "memory": "8192"}
	}
	for _, g := range w.Guests {
		if !g.Template {
			g.Addresses, g.Agent = nil, model.AgentDown
		}
	}
	p := w.planAll(want)
	var restarted []string
	for _, o := range p.Objects {
		if slices.ContainsFunc(o.Steps, func(s Step) bool { return s.Effect == Restart }) {
			restarted = append(restarted, o.Owner.Name)
		}
	}
	if !slices.Equal(restarted, []string{"web-a"}) {
		t.Errorf("restarted: %v\n%s", restarted, p)
	}
}
