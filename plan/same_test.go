package plan

import (
	"testing"

	"github.com/proxplane/proxplane/model"
)

// Whoever is told a reason is told the same one as long as nothing has changed: maps
// have no order.
func TestEqualInputGivesTheEqualPlan(t *testing.T) {
	missing := testVM("web")
	missing.Source.Image.Name = "missing"
	lost := testImage
	lost.Owner.Name, lost.Template = "missing", "plain"
	apart := testVM("db")
	apart.Labels = map[string]string{"app": "db"}
	apart.Place.AntiAffinity = []model.Selector{{Key: "app", Operator: "In", Values: []string{"db"}}}
	apart.Place.Nodes = []string{"pve1"}
	var peers []model.VM
	for _, name := range []string{"peer-a", "peer-b", "peer-c", "peer-d"} {
		v := testVM(name)
		v.Labels = apart.Labels
		peers = append(peers, v)
	}
	twin := testVM("twin")

	for _, c := range []struct {
		reason string
		want   model.Desired
		world  func(*world)
		have   func(*model.Observed)
	}{
		{
			reason: "several VMs have the name of a template that isn't there",
			want:   model.Desired{Set: "default", Images: []model.Image{lost}, VMs: []model.VM{missing}},
			world: func(w *world) {
				for id := 200; id < 206; id++ {
					w.template(id, "plain", "pve1", "nfs")
					w.Guests[id].Template = false
				}
			},
		},
		{
			reason: "several guests say that they are the same object",
			want:   desired(twin),
			world: func(w *world) {
				converge(t, w, desired(twin))
				own := w.Guests[w.plan(desired(twin)).Objects[2].VMID]
				for id := 300; id < 304; id++ {
					double := *own
					double.VMID = id
					w.Guests[id] = &double
				}
			},
		},
		{
			reason: "several guests that are being made are in the way of another",
			want:   desired(append(peers, apart)...),
			have: func(o *model.Observed) {
				o.Placed = map[int]model.Placement{}
				for i, v := range peers {
					o.Placed[400+i] = model.Placement{Owner: v.Owner, Node: "pve1", Begun: true}
				}
			},
		},
	} {
		w := newWorld()
		if c.world != nil {
			c.world(w)
		}
		all := Look{HA: true, Files: true}
		for id := range w.Guests {
			all.Configs, all.Snapshots = append(all.Configs, id), append(all.Snapshots, id)
		}
		first := ""
		for range 30 {
			have := w.observe(all)
			if c.have != nil {
				c.have(have)
			}
			got := For(c.want, have).String()
			if first == "" {
				first = got
			}
			if got != first {
				t.Errorf("%s: the plan was\n%s\nand is\n%s", c.reason, first, got)
				break
			}
		}
	}
}
