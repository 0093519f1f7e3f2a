package plan

import (
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// members are a group with its guests.
func members(name string, count int) model.Desired {
	g := model.Group{Owner: owner("VirtualMachine", name), Name: name, Count: count, Range: model.Range{First: 5000, Last: 5999}}
	var vms []model.VM
	for n := 1; n <= count; n++ {
		v := testVM(g.Member(n).Name)
		v.Group = name
		vms = append(vms, v)
	}
	want := desired(vms...)
	want.Groups = []model.Group{g}
	return want
}

func (w *world) names() []string {
	var names []string
	for _, g := range w.Guests {
		if !g.Template {
			names = append(names, g.Name)
		}
	}
	slices.Sort(names)
	return names
}

// TestAMachineBeyondTheCountIsNotMade: the operator goes on to name those that there were, until they may go.
func TestAMachineBeyondTheCountIsNotMade(t *testing.T) {
	w := newWorld()
	want := members("web", 2)
	extra := testVM("web-3")
	extra.Group, extra.Surplus = "web", true
	want.VMs = append(want.VMs, extra)
	if p := converge(t, w, want); !p.object(t, "web-3").Gone || !slices.Equal(w.names(), []string{"web-1", "web-2"}) {
		t.Errorf("%v, plan:\n%s", w.names(), p)
	}
	converge(t, w, members("web", 3))
	if p := converge(t, w, want); p.object(t, "web-3").Gone || len(p.object(t, "web-3").Steps) > 0 || len(w.names()) != 3 {
		t.Errorf("%v, plan:\n%s", w.names(), p)
	}
	// It isn't destroyed to be made anew either.
	extra.Options["bios"], extra.Update = "ovmf", model.Allow{Restart: true, Replace: true}
	extra.Source.Image = owner("VMImage", "other").Key
	want.VMs[2] = extra
	if p := converge(t, w, want); len(w.names()) != 3 {
		t.Errorf("%v, plan:\n%s", w.names(), p)
	}
}

func TestASmallerCountTakesMachinesAwayIfThatIsAgreedTo(t *testing.T) {
	w := newWorld()
	converge(t, w, members("web", 3))
	ids := map[string]int{}
	for id, g := range w.Guests {
		ids[g.Name] = id
	}
	// One that somebody made with a manifest of its own is none of the group.
	own := desired(testVM("web-7"))
	converge(t, w, own)

	want := members("web", 1)
	p := converge(t, w, want)
	o := p.object(t, "web")
	if len(o.Refused) != 2 || o.Refused[0].Allow != model.AllowScaleDown || len(w.Guests) != 5 {
		t.Fatalf("plan:\n%s", p)
	}
	want.Groups[0].ScaleDown = true
	if p := converge(t, w, want); !p.Ready() || !slices.Equal(w.names(), []string{"web-1", "web-7"}) {
		t.Errorf("%v, plan:\n%s", w.names(), p)
	}
	// Back again, they are the same.
	if converge(t, w, members("web", 3)); !slices.Equal(w.names(), []string{"web-1", "web-2", "web-3", "web-7"}) {
		t.Errorf("%v", w.names())
	}
	for id, g := range w.Guests {
		if was, ok := ids[g.Name]; ok && was != id {
			t.Errorf("%s was %d and is %d", g.Name, was, id)
		}
	}
	want = members("web", 2)
	want.Groups[0].Deleted, want.VMs[0].Deleted, want.VMs[1].Deleted = true, true, true
	if converge(t, w, want); !slices.Equal(w.names(), []string{"web-7"}) {
		t.Errorf("left behind: %v", w.names())
	}
}

func TestPruneTakesMachinesBeyondACountAway(t *testing.T) {
	w := newWorld()
	converge(t, w, members("web", 3))
	want := members("web", 2)
	want.Prune = true
	if p := converge(t, w, want); !p.Ready() || !slices.Equal(w.names(), []string{"web-1", "web-2"}) {
		t.Errorf("%v, plan:\n%s", w.names(), p)
	}
}
