package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// racks are three nodes of which two share a rack.
func racks() map[string]model.NodeFacts {
	rack := func(name string) model.NodeFacts { return model.NodeFacts{Labels: map[string]string{"rack": name}} }
	return map[string]model.NodeFacts{"pve1": rack("r1"), "pve2": rack("r1"), "pve3": rack("r2")}
}

func TestWhereNewGuestsGoAndWhy(t *testing.T) {
	for name, c := range inOrder(map[string]struct {
		want  int // how many guests
		place model.Place
		ha    *model.HA
		world func(w *world)
		nodes string // of the guests, in their order
		why   string // of the last one
	}{
		"spread": {want: 3, nodes: "pve1 pve2 pve3", why: "most free memory of 3 nodes that can take it"},
		"pack":   {want: 3, place: model.Place{Strategy: model.Pack}, nodes: "pve3 pve3 pve3", why: "least free memory of 3 nodes that can take it"},
		"packed until a node is full": {
			want: 2, place: model.Place{Strategy: model.Pack}, world: func(w *world) { w.Nodes["pve3"].Used = 59 << 30 },
			nodes: "pve3 pve2", why: "least free memory of 2 nodes that can take it (62 GiB); left out: pve3: 1 GiB of memory free, 4 GiB needed",
		},
		"figures of nodes that aren't visible": {
			want: 2, world: func(w *world) {
				for _, n := range w.Nodes {
					n.Memory, n.Used, n.CPUs = 0, 0, 0
				}
			},
			nodes: "pve1 pve1", why: "one of 3 nodes that can take it; how much memory they have free isn't visible (that needs the privilege Sys.Audit on them)",
		},
		"a rack": {
			want: 1, place: model.Place{Facts: racks(), Where: []model.Selector{{Key: "rack", Operator: "In", Values: []string{"r2"}}}},
			nodes: "pve3", why: "the only node that can take it (pve1, pve2: rack r1, want rack r2)",
		},
		"nodes without the label": {
			want: 1, place: model.Place{Facts: map[string]model.NodeFacts{"pve2": racks()["pve2"]}, Where: []model.Selector{{Key: "rack", Operator: "Exists"}}},
			nodes: "pve2", why: "the only node that can take it (pve1, pve3: no label rack, want rack)",
		},
		"spread over racks": {
			want: 2, place: model.Place{Facts: racks(), SpreadBy: "rack"}, nodes: "pve1 pve3", why: "fewest machines of its policy in one rack (0)",
		},
		"spread over racks, once more": {
			want: 3, place: model.Place{Facts: racks(), SpreadBy: "rack"}, nodes: "pve1 pve3 pve2", why: "most free memory of 3 nodes",
		},
		"kept apart by racks": {
			want: 3, place: model.Place{Facts: racks(), AntiAffinity: []model.Selector{{Key: "app", Operator: "Exists", By: "rack"}}},
			nodes: "pve1 pve3 -", why: "no node can take it (pve1, pve2: anti-affinity with web-0 in rack r1; pve3: anti-affinity with web-1 in rack r2)",
		},
		"reserved memory": {
			want: 1, place: model.Place{Facts: map[string]model.NodeFacts{"pve1": {Reserved: 61 << 30}, model.AllNodes: {Reserved: 8 << 30}}},
			nodes: "pve2", why: "most free memory of 2 nodes that can take it (54 GiB, 8 GiB reserved); left out: pve1: 3 GiB of memory in all (61 GiB reserved), 4 GiB needed",
		},
		"maintenance, by the HA manager": {
			want: 1, world: func(w *world) { w.Nodes["pve1"].Maintenance = true },
			nodes: "pve2", why: "most free memory of 2 nodes that can take it (62 GiB); left out: pve1: in maintenance",
		},
		"maintenance, by what people say": {
			want: 1, place: model.Place{Facts: map[string]model.NodeFacts{"pve1": {Maintenance: true}}}, nodes: "pve2", why: "pve1: in maintenance",
		},
		"a strict rule of HA": {
			want: 1, ha: &model.HA{Group: "fast"}, world: limited(model.HALimit{Nodes: map[string]int{"pve2": 1, "pve3": 2}, Strict: true}),
			nodes: "pve3", why: "preferred by HA rule fast; left out: pve1: not one of the nodes of HA rule fast",
		},
		"a rule of HA that is a wish": {
			want: 1, ha: &model.HA{Group: "fast"}, world: limited(model.HALimit{Nodes: map[string]int{"pve2": 0, "pve3": 0}}),
			nodes: "pve2", why: "preferred by HA rule fast; most free memory of 2 nodes that can take it",
		},
		"an image that only one node has": {
			want: 2, world: func(w *world) { onlyOn(w, "pve1") }, nodes: "pve1 pve1",
			why: "its image is there (59 GiB of memory free); pve2 has more (62 GiB), but the image would have to be made there first",
		},
		"an image that only one node has, and machines that are packed": {
			want: 1, place: model.Place{Strategy: model.Pack}, world: func(w *world) { onlyOn(w, "pve1") }, nodes: "pve1",
			why: "its image is there (63 GiB of memory free); pve3 has less (61 GiB), but the image would have to be made there first",
		},
		"space that is promised": {
			want: 3, world: func(w *world) {
				w.Storages["nfs"].Type = "lvm"
				for n := range w.Nodes {
					w.Storages["nfs"].OnNode[n] = model.Room{Total: 110 << 30} // a copy takes 50: its root disk grows to 40
				}
			},
			nodes: "pve1 pve2 -", why: "storage nfs has 10 GiB free (100 GiB more is for machines that are being made), 50 GiB needed",
		},
	}) {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			if c.world != nil {
				c.world(w)
			}
			var vms []model.VM
			for i := range c.want {
				v := testVM(fmt.Sprintf("web-%d", i))
				v.Options["memory"], v.Labels, v.HA = "4096", map[string]string{"app": "web"}, c.ha
				v.Place = c.place
				v.Disks = append(v.Disks, model.Disk{Slot: "scsi1", Name: "data", Size: 10 << 30, Storage: "nfs"})
				vms = append(vms, v)
			}
			p := w.plan(desired(vms...))
			var nodes []string
			var last Object
			for _, o := range p.Objects {
				if o.Owner.Kind != "VirtualMachine" {
					continue
				}
				if last = o; o.Wait != nil {
					o.Node = "-"
				}
				nodes = append(nodes, o.Node)
			}
			why := last.Placed
			if last.Wait != nil {
				why = last.Wait.Text
			}
			if got := strings.Join(nodes, " "); got != c.nodes || !strings.Contains(why, c.why) {
				t.Errorf("they go to %s because of %q, want %s because of %q", got, why, c.nodes, c.why)
			}
		})
	}
}

// onlyOn has the template of the image on a disk of one node.
func onlyOn(w *world, node string) {
	w.template(9000, "ubuntu-22-template", node, "local-lvm")
}

// limited has a rule of HA, by the name of fast.
func limited(limit model.HALimit) func(*world) {
	return func(w *world) {
		w.seeing(func(o *model.Observed) {
			if o.HA != nil {
				o.HALimits = map[string]model.HALimit{"fast": limit}
			}
		})
	}
}

func TestGuestsWhoseNodeIsNotAllowedAnyMore(t *testing.T) {
	for name, c := range inOrder(map[string]struct {
		change func(w *world, v *model.VM)
		to     string // the node that it is moved to if that is allowed; empty: it stays
		why    string
	}{
		"nothing has changed": {func(*world, *model.VM) {}, "", ""},
		"another rack": {func(_ *world, v *model.VM) {
			v.Place.Facts, v.Place.Where = racks(), []model.Selector{{Key: "rack", Operator: "NotIn", Values: []string{"r1"}}}
		}, "pve3", "it is on pve1, which its placement doesn't allow (rack r1, want rack not r1)"},
		"maintenance by the HA manager": {func(w *world, _ *model.VM) { w.Nodes["pve1"].Maintenance = true }, "pve2", "it is on pve1, which is in maintenance"},
		"maintenance by what people say": {func(_ *world, v *model.VM) {
			v.Place.Facts = map[string]model.NodeFacts{"pve1": {Maintenance: true}}
		}, "pve2", "it is on pve1, which is in maintenance"},
		"maintenance, packed": {func(w *world, v *model.VM) { w.Nodes["pve1"].Maintenance, v.Place.Strategy = true, model.Pack }, "pve3", "it is on pve1, which is in maintenance"},
	}) {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			v := testVM("web")
			converge(t, w, desired(v))
			c.change(w, &v)
			o := w.plan(desired(v)).Objects[2]
			if len(o.Steps) > 0 || c.why != "" && (len(o.Notes) != 1 || o.Notes[0].Text != c.why+"; it stays there" || o.Notes[0].Do != model.Advice{Do: model.AllowMove, Node: c.to}) {
				t.Errorf("without leave:\n%s", o)
			}
			v.Update.Move = true
			o = w.plan(desired(v)).Objects[2]
			if c.to == "" {
				if len(o.Steps) > 0 {
					t.Errorf("it isn't left where it is:\n%s", o)
				}
				return
			}
			if len(o.Steps) != 1 || o.Steps[0].Why != c.why || o.Steps[0].Action.(model.Migrate).To != c.to || o.Steps[0].Effect != Moves {
				t.Errorf("want it moved to %s since %s:\n%s", c.to, c.why, o)
			}
		})
	}
}

// What is under HA leaves a node in maintenance by the manager's doing.
func TestTheHAManagerEmptiesNodesByItself(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.HA, v.Update.Move = &model.HA{}, true
	converge(t, w, desired(v))
	w.Nodes["pve1"].Maintenance = true
	if o := w.plan(desired(v)).Objects[2]; len(o.Steps) > 0 || len(o.Notes) > 0 {
		t.Errorf("plan:\n%s", o)
	}
}

func TestGuestsUnderHAAreNotMovedAgainstItsRules(t *testing.T) {
	w := newWorld()
	v, other := testVM("web"), testVM("other")
	v.HA, other.HA = &model.HA{}, &model.HA{}
	v.Update.Move, v.Place.Nodes, other.Place.Nodes = true, []string{"pve1"}, []string{"pve2"}
	converge(t, w, desired(v, other))
	var sids []string
	for id, g := range w.Guests {
		if !g.Template {
			sids = append(sids, sid(id))
		}
	}
	w.Rules["apart"] = sids
	w.seeing(func(o *model.Observed) {
		if o.HA != nil {
			o.HALimits = map[string]model.HALimit{"apart": {Apart: true}}
		}
	})
	v.Place.Nodes = []string{"pve2", "pve3"}
	if o := w.plan(desired(v, other)).Objects[2]; len(o.Steps) != 1 || o.Steps[0].Action.(model.Migrate).To != "pve3" {
		t.Errorf("want it on pve3:\n%s", o)
	}
	v.Place.Nodes = []string{"pve2"}
	if o := w.plan(desired(v, other)).Objects[2]; len(o.Steps) != 0 || !strings.Contains(o.Notes[0].Text, "HA rule apart keeps it apart from other") {
		t.Errorf("want it to stay:\n%s", o)
	}
}

// A guest that was made a moment ago is seen and still counts as being made: it is one guest all the same.
func TestGuestsAreCountedOnceWhenTheyAreSpread(t *testing.T) {
	w := newWorld()
	w.Nodes["pve1"].Used, w.Nodes["pve2"].Used, w.Nodes["pve3"].Used = 32<<30, 32<<30, 0
	var vms []model.VM
	for i := range 4 {
		v := testVM(fmt.Sprintf("web-%d", i))
		v.Place = model.Place{Facts: racks(), SpreadBy: "rack"}
		vms = append(vms, v)
	}
	vms[0].Place.Nodes = []string{"pve1"}
	made := converge(t, w, desired(vms[0])).object(t, "web-0")
	vms[0].Place.Nodes = nil
	w.seeing(func(o *model.Observed) {
		o.Placed = map[int]model.Placement{
			made.VMID: {Owner: vms[0].Owner, Node: "pve1", Begun: true},
			150:       {Owner: vms[1].Owner, Node: "pve3", Begun: true},
			151:       {Owner: vms[2].Owner, Node: "pve3", Begun: true},
		}
	})
	want := desired(vms...)
	want.Seen = map[model.Key]bool{vms[0].Owner.Key: true, vms[1].Owner.Key: true, vms[2].Owner.Key: true}
	if o := w.plan(want).object(t, "web-3"); o.Node == "pve3" {
		t.Errorf("rack r2 has two already, and it gets a third: %s", o)
	}
}
