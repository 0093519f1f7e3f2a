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
			if held := o.Wait != nil && o.Wait.Reason == WaitRollout; held != c.holds || restarts == c.holds {
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
		v.Update.Restart, v.WaitAddress = true, false
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
