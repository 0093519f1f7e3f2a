package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/proxplane/proxplane/model"
	_ "github.com/proxplane/proxplane/test/kit/chance"
)

// partly reports what differs between an object's part of the whole plan and the plan for it and
// what it depends on. What other objects are about to make is known to both, as the engine
// remembers it. Notes are for people, who see whole plans.
func partly(want model.Desired, have *model.Observed, key model.Key) string {
	want.Prune, want.Quick, want.Foresee = false, false, false
	whole := For(want, have)
	w := NewWanted(want)
	few := *have
	few.Placed = maps.Clone(have.Placed)
	if few.Placed == nil {
		few.Placed = map[int]model.Placement{}
	}
	for _, o := range whole.Objects {
		w.LeftOver(o) // templates that images need somewhere
		makes := o.Placed != "" || slices.ContainsFunc(o.Steps, func(s Step) bool { return model.FactsOf(s.Action).Makes })
		if makes && o.Owner.Key != key && before(want, o.Owner.Key, key) {
			few.Placed[o.VMID] = o.Placement()
		}
	}
	part := w.For(key)
	planned := For(part, &few)
	if all, more := w.Rolled(part, planned); more {
		planned = For(all, &few)
	}
	if was, is := textOf(whole, key), textOf(planned, key); was != is && !awaitsTurn(whole, key) && !awaitsTurn(planned, key) {
		return fmt.Sprintf("%s: the whole plan has\n%s\nthe plan for it alone\n%s", key, was, is)
	}
	for _, o := range planned.Objects {
		if ends(o) && !slices.ContainsFunc(whole.Objects, func(w Object) bool { return w.Owner == o.Owner && ends(w) }) {
			return fmt.Sprintf("%s: the plan for it alone has what the whole plan hasn't:\n%s", key, o)
		}
	}
	return ""
}

// ends reports whether a plan destroys a guest.
func ends(o Object) bool {
	return slices.ContainsFunc(o.Steps, func(s Step) bool { return model.FactsOf(s.Action).Destroys })
}

// before reports whether a guest is planned before another one.
func before(want model.Desired, a, b model.Key) bool {
	p := newPlanner(want, &model.Observed{})
	rank := func(k model.Key) int {
		at := slices.IndexFunc(want.VMs, func(v model.VM) bool { return v.Owner.Key == k })
		return p.copiesBefore(p.vms[k])*len(want.VMs) + at
	}
	return rank(a) < rank(b)
}

// awaitsTurn reports whether a guest waits for another one to take the VMID that both would
// take: who is the first isn't a matter of what is wanted.
func awaitsTurn(p Plan, key model.Key) bool {
	return slices.ContainsFunc(p.Objects, func(o Object) bool { return o.Owner.Key == key && o.Wait != nil && o.Wait.Reason == model.WaitTurn })
}

// textOf is the plan of one object.
func textOf(p Plan, key model.Key) (text string) {
	for _, o := range p.Objects {
		if o.Owner.Key == key {
			o.Notes, o.Placed = nil, ""
			if o.Wait != nil && o.Wait.Reason == model.WaitRollout {
				o.Wait = &Wait{Reason: model.WaitRollout} // which one of several is named is all the same
			}
			text += Plan{Objects: []Object{o}}.String()
		}
	}
	return text
}

func keysIn(want model.Desired) (keys []model.Key) {
	for _, i := range want.Images {
		if !i.Lent {
			keys = append(keys, i.Owner.Key)
		}
	}
	for _, s := range want.Shares {
		keys = append(keys, s.Owner.Key)
	}
	for _, v := range want.VMs {
		keys = append(keys, v.Owner.Key)
	}
	for _, s := range want.Snapshots {
		keys = append(keys, s.Owner.Key)
	}
	for _, g := range want.Groups {
		keys = append(keys, g.Owner.Key)
	}
	return keys
}

func TestAnObjectsPlanIsTheSameWithoutTheOthers(t *testing.T) {
	goldens(t, func(t *testing.T, _ string, _ *txtar.Archive, _ map[string]int, want model.Desired, have model.Observed) {
		for _, key := range keysIn(want) {
			if diff := partly(want, &have, key); diff != "" {
				t.Error(diff)
			}
		}
	})
}

// someWanted are objects that have to do with each other.
func someWanted(t *rapid.T) model.Desired {
	names := []string{"a", "b", "c", "d", "e"}
	key := func(name string) model.Key { return model.Key{Kind: "VirtualMachine", Name: name} }
	vm := func(i int) model.VM {
		v := testVM(names[i])
		chance := func(what string, percent int) bool { return rapid.IntRange(0, 99).Draw(t, v.Name+" "+what) < percent }
		if chance("shares", 30) {
			v = sharingVM(names[i], "data")
		}
		v.NICs[0].MAC = ""
		v.Options["cores"] = rapid.SampledFrom([]string{"2", "4"}).Draw(t, v.Name+" cores")
		v.Range.Last = v.Range.First + 9 // they meet
		v.Update, v.WaitAddress = model.Allow{Restart: true, Replace: true, Data: true}, false
		v.Rollout = model.Rollout{Groups: []string{rapid.SampledFrom([]string{"x", "y"}).Draw(t, v.Name+" rolls with")}, Max: model.Limit{Count: 1}}
		v.Deleted = chance("goes", 15)
		if chance("has a VMID", 30) {
			v.VMID = v.Range.First + rapid.IntRange(0, 9).Draw(t, v.Name+" VMID")
		}
		if chance("is apart", 40) {
			v.Labels = map[string]string{"app": "db"}
			v.Place.AntiAffinity = []model.Selector{{Key: "app", Operator: "In", Values: []string{"db"}}}
		}
		if i > 0 && chance("is a copy", 30) {
			v.Source = model.Source{VM: key(names[rapid.IntRange(0, i-1).Draw(t, v.Name+" of")]), Full: true}
			if chance("of a snapshot", 50) {
				v.Source.Snapshot = rapid.SampledFrom([]string{"one", "two"}).Draw(t, v.Name+" snapshot")
			}
		}
		return v
	}
	var want model.Desired
	for i := range names {
		want.VMs = append(want.VMs, vm(i))
	}
	path := rapid.SampledFrom([]string{"/srv/data", "/srv/other"}).Draw(t, "shared")
	want = sharing([]model.Share{testShare("data", path)}, want.VMs...)
	want.Images[0].Implied = true
	for _, name := range []string{"one", "two", "three"} {
		if rapid.IntRange(0, 3).Draw(t, "no "+name) == 0 {
			continue
		}
		s := testSnapshot(name)
		s.VM, s.Memory = key(rapid.SampledFrom(names[:2]).Draw(t, name+" of")), false
		s.Keep = rapid.IntRange(0, 2).Draw(t, name+" keep")
		s.Deleted = rapid.IntRange(0, 5).Draw(t, name+" goes") == 0
		want.Snapshots = append(want.Snapshots, s)
	}
	return want
}

func TestAnObjectsPlanIsTheSameWithoutTheOthersInAnyWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		if rapid.IntRange(0, 4).Draw(t, "no template") == 0 {
			delete(w.Guests, 9000)
		}
		for range 2 { // the second time something else is wanted of what is there
			want := someWanted(t)
			for range rapid.IntRange(0, 40).Draw(t, "steps") {
				if s := w.plan(want).steps(); len(s) > 0 {
					w.Do(s[rapid.IntRange(0, len(s)-1).Draw(t, "which")].Action)
				}
			}
			have := w.observe(w.everything(want))
			for _, key := range keysIn(want) {
				if diff := partly(want, have, key); diff != "" {
					t.Fatal(diff)
				}
			}
		}
	})
}

func TestASnapshotThatAMachineIsMadeFromStaysWhenItIsOneTooMany(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	for _, name := range []string{"one", "two"} {
		s := testSnapshot(name)
		s.Memory = false
		want.Snapshots = []model.Snapshot{s}
		converge(t, w, want)
	}
	want.Snapshots[0].Keep = 1
	v := testVM("copy")
	v.Source = model.Source{VM: model.Key{Kind: "VirtualMachine", Name: "web"}, Snapshot: "one", Full: true}
	want.VMs = append(want.VMs, v)
	have := w.observe(w.everything(want))
	for _, key := range keysIn(want) {
		if diff := partly(want, have, key); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAMachineKeepsItsDistanceFromThoseThatAreNotPlanned(t *testing.T) {
	w := newWorld()
	apart := func(name string) model.VM {
		v := testVM(name)
		v.Labels = map[string]string{"app": "db"}
		v.Place.AntiAffinity = []model.Selector{{Key: "app", Operator: "In", Values: []string{"db"}}}
		v.Place.Nodes = []string{"pve1"}
		return v
	}
	converge(t, w, desired(apart("a")))
	want := desired(apart("a"), apart("b"))
	have := w.observe(w.everything(want))
	if diff := partly(want, have, want.VMs[1].Owner.Key); diff != "" {
		t.Error(diff)
	}
	if o := For(want, have).object(t, "b"); o.Wait == nil || o.Wait.Reason != model.WaitPlace {
		t.Errorf("nothing is tried here:\n%s", o)
	}
}

func TestARestartWaitsForOneThatIsMadeFromAnotherImage(t *testing.T) {
	w := newWorld()
	b := testVM("b")
	b.Rollout = model.Rollout{Groups: []string{"x"}, Max: model.Limit{Count: 1}}
	b.Update = model.Allow{Restart: true}
	converge(t, w, desired(b))
	a := testVM("a")
	a.Rollout = b.Rollout
	want := desired(b, a)
	want.VMs[1].Source.Image = want.Images[1].Owner.Key
	want.VMs[0].Options = map[string]string{"cores": "8", "memory": "4096"}
	have := w.observe(w.everything(want))
	if diff := partly(want, have, b.Owner.Key); diff != "" {
		t.Error(diff)
	}
	if o := For(want, have).object(t, "b"); o.Wait == nil || o.Wait.Reason != model.WaitRollout {
		t.Errorf("nothing is tried here:\n%s", o)
	}
}

func TestAGroupLeavesThoseAloneThatHaveBecomeObjectsOfTheirOwn(t *testing.T) {
	w := newWorld()
	member := testVM("web-2")
	member.Group = "web"
	converge(t, w, desired(member))
	alone := testVM("web-2")
	want := desired(testVM("web-1"), alone)
	want.Groups = []model.Group{{Owner: owner("VirtualMachine", "web"), Name: "web", Count: 1, ScaleDown: true, Range: alone.Range}}
	have := w.observe(w.everything(want))
	for _, key := range keysIn(want) {
		if diff := partly(want, have, key); diff != "" {
			t.Error(diff)
		}
	}
}

// everything is all that can be read.
func (w *world) everything(want model.Desired) Look {
	look := Look{Files: true, Snippets: true, Dirs: true, HA: true, Rights: []string{"/vms"}, Bridges: model.NamesOf(w.Nodes)}
	for id := range w.Guests {
		look.Configs, look.Snapshots, look.Agents, look.Status = append(look.Configs, id), append(look.Snapshots, id), append(look.Agents, id), append(look.Status, id)
	}
	for range 10 {
		more := For(want, w.observe(look)).Look()
		if more.Empty() {
			break
		}
		look.Add(more)
	}
	return look
}
