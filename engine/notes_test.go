package engine

import (
	"context"
	"testing"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Who leaves is forgotten, and nobody else.
func TestOnlyThePartyThatLeavesIsForgotten(t *testing.T) {
	b := NewBudget(nil)
	one, two, three := b.Join("one"), b.Join("two"), b.Join("three")
	two.Leave()
	if len(b.parties) != 2 || b.parties[0] != one || b.parties[1] != three {
		t.Errorf("%d parties are left", len(b.parties))
	}
	one.guests, three.guests = map[string][]guest{"web": {{}}}, map[string][]guest{"web": {{}}, "db": {{}}}
	if others := one.others("web"); len(others) != 1 || others[0] != three {
		t.Errorf("%d others look after guests of the group", len(others))
	}
	if others := three.others("db"); len(others) != 0 {
		t.Errorf("%d others look after guests of a group that one has alone", len(others))
	}
}

func TestSuccessEndsAFailure(t *testing.T) {
	m := newStanding()
	web, db := model.Key{Kind: "VirtualMachine", Name: "web"}, model.Key{Kind: "VirtualMachine", Name: "db"}
	for _, key := range []model.Key{web, db} {
		m.failed[key], m.full[key] = model.Failure{What: "clone"}, time.Unix(1, 0)
		m.tries[try{key, "clone"}], m.tries[try{key, noRoom}], m.tries[try{key, "start"}] = 3, 2, 1
	}
	m.succeed(web, "clone")
	if _, failed := m.failed[web]; failed || len(m.full) != 1 || m.tries[try{web, "clone"}]+m.tries[try{web, noRoom}] != 0 {
		t.Errorf("it counts as failed: %v %v %v", m.failed, m.full, m.tries)
	}
	if m.tries[try{web, "start"}] != 1 || len(m.failed) != 1 || m.tries[try{db, "clone"}] != 3 {
		t.Errorf("more is forgotten than has succeeded: %v %v", m.failed, m.tries)
	}
}

func TestPhasesWhenSomethingElseIsWanted(t *testing.T) {
	for was, want := range map[phase]phase{fresh: fresh, unread: unread, open: open, announced: open, done: open, recheck: open} {
		if got := was.renewed(); got != want {
			t.Errorf("phase %d is %d when something else is wanted, want %d", was, got, want)
		}
	}
}

// A guest that is to be made takes its place at once, so that others count with it.
func TestAPlanThatMakesAGuestTakesItsPlace(t *testing.T) {
	owner := model.Owner{Door: "vm", Set: "lab", Key: model.Key{Kind: "VirtualMachine", Name: "web"}}
	before := model.Placement{Owner: owner, Node: "pve1", Memory: 1, Begun: true}
	for _, c := range []struct {
		name string
		plan plan.Object
		want model.Placement
	}{
		{"it is to be made", plan.Object{Steps: []plan.Step{{Action: model.Clone{To: model.Target{VMID: 100, Node: "pve2"}}}}, VMID: 100, Node: "pve2", Memory: 2}, model.Placement{Owner: owner, Node: "pve2", Memory: 2}},
		{"it is changed", plan.Object{Steps: []plan.Step{{Action: model.Configure{Target: model.Target{VMID: 100, Node: "pve1"}}}}, VMID: 100, Node: "pve1", Memory: 2}, before},
		{"it is gone", plan.Object{VMID: 100, Gone: true}, model.Placement{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &memory{placed: map[int]model.Placement{}, spots: map[model.Owner]int{}}
			c.plan.Owner = owner
			m.replace(c.plan, before, 100)
			if got := m.placed[100]; got.Node != c.want.Node || got.Memory != c.want.Memory || got.Begun != c.want.Begun {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestFiguresDontMakeAnotherSentence(t *testing.T) {
	for _, c := range []struct {
		one, other string
		same       bool
	}{
		{"1.5 GiB of 9 GiB are free", "19.9 GiB of 90 GiB are free", true},
		{"0 of 10 machines", "9 of 8 machines", true},
		{"on pve1", "on lab1", false},
	} {
		if same := words(c.one) == words(c.other); same != c.same {
			t.Errorf("%q and %q are the same: %v", c.one, c.other, same)
		}
	}
}

// Nobody restarts a guest by a plan that was made before others began something in the same group.
func TestARestartBeginsOnlyByAPlanOfNow(t *testing.T) {
	web := model.Key{Kind: "VirtualMachine", Name: "web"}
	for _, c := range []struct {
		reason string
		before func(b *Budget, p, other *Party)
		want   bool
	}{
		{"the plan is of now", func(b *Budget, p, _ *Party) { b.serials["web"], p.seen["web"] = 3, 3 }, true},
		{"others began something since", func(b *Budget, p, _ *Party) { b.serials["web"], p.seen["web"] = 4, 3 }, false},
		{"the plan didn't count the group, which nobody else has", func(*Budget, *Party, *Party) {}, true},
		{"the plan didn't count the group, and others have guests of it", func(_ *Budget, _, other *Party) { other.guests = map[string][]guest{"web": {{}}} }, false},
		{"the plan didn't count the group, and not all was read", func(b *Budget, _, _ *Party) {
			b.unread = func(context.Context, string) ([]model.Absent, bool, error) { return nil, false, nil }
		}, false},
	} {
		b := NewBudget(nil)
		p, other := b.Join("one"), b.Join("two")
		c.before(b, p, other)
		was := b.serials["web"]
		if got := p.take(web, []string{"web"}); got != c.want {
			t.Errorf("%s: it may be restarted: %v", c.reason, got)
		}
		if begun := b.serials["web"] - was; (begun == 1) != c.want {
			t.Errorf("%s: it counts as begun %d times", c.reason, begun)
		}
	}
}

// A run that has nothing left to do goes on waiting while others work, or have guests to restart first.
func TestARunThatRestsKnowsWhetherOthersWork(t *testing.T) {
	b := NewBudget(nil)
	first, second := b.Join("one"), b.Join("two")
	if second.rests() {
		t.Error("it waits for a party without a run")
	}
	first.queue = []queued{{groups: []string{"web"}}}
	if !second.rests() {
		t.Error("it doesn't wait for the first party, which has guests to restart")
	}
	first.queue = nil
	first.run = &run{wake: make(chan struct{}, 1)}
	if !second.rests() {
		t.Error("it doesn't wait for the first party, which works")
	}
	first.rests()
	if second.rests() {
		t.Error("it waits for the first party, which has nothing to do either")
	}
}

// A machine stays with the node where its image is being made, until it is made itself: also while
// a plan only reads.
func TestAMachineStaysWithTheNodeOfItsImage(t *testing.T) {
	key, image := model.Key{Kind: "VirtualMachine", Name: "web"}, model.Key{Kind: "VMImage", Name: "debian"}
	for _, c := range []struct {
		reason string
		plan   plan.Object
		want   model.Bound
	}{
		{"it waits for its image", plan.Object{Node: "pve2", Awaits: image}, model.Bound{Node: "pve2", Template: image}},
		{"something is read first", plan.Object{Look: model.Look{Files: true}}, model.Bound{Node: "pve1", Template: image}},
		{"it is made", plan.Object{Steps: []plan.Step{{Action: model.Clone{}}}}, model.Bound{Node: "pve1", Template: image}},
		{"it was made", plan.Object{Steps: []plan.Step{{Action: model.Configure{}}}}, model.Bound{}},
	} {
		m := newStanding()
		m.bound[key] = model.Bound{Node: "pve1", Template: image}
		if m.bind(key, c.plan); m.bound[key] != c.want {
			t.Errorf("%s: it is bound to %+v, want %+v", c.reason, m.bound[key], c.want)
		}
	}
}

// What was just otherwise than it was thought is done again at once, but not without end.
func TestWhatWasMistakenIsTriedAgainAtOnceAFewTimes(t *testing.T) {
	m, now, key := newMemory(), time.Unix(1000, 0), model.Key{Kind: "VirtualMachine", Name: "web"}
	for n := 1; n <= 10; n++ {
		fail := m.fail(m.alone, key, "start", act.Failure{Class: act.Mistaken}, false, now)
		if atOnce := fail.Next.Equal(now); atOnce != (n <= 3) {
			t.Errorf("try %d: at once is %v", n, atOnce)
		}
		if fail.Hard != (n == 10) {
			t.Errorf("try %d: given up is %v", n, fail.Hard)
		}
	}
}

// An object is planned anew only if something else is wanted of it.
func TestWhatIsTheSameAsBefore(t *testing.T) {
	owner := func(kind string) model.Owner { return model.Owner{Key: model.Key{Kind: kind, Name: "x"}} }
	image, share := owner("VMImage"), model.Owner{Key: model.ShareKey("x")}
	vm, snapshot := owner("VirtualMachine"), owner("VMSnapshot")
	wanted := func(change func(d *model.Desired)) *plan.Wanted {
		d := model.Desired{
			Images: []model.Image{{Owner: image, Template: "debian"}}, Shares: []model.Share{{Owner: share, Path: "/srv"}},
			VMs: []model.VM{{Owner: vm, Name: "x", Remembered: 100}}, Snapshots: []model.Snapshot{{Owner: snapshot}},
		}
		change(&d)
		return plan.NewWanted(d)
	}
	was := wanted(func(*model.Desired) {})
	for _, c := range []struct {
		reason string
		key    model.Key
		change func(*model.Desired)
		same   bool
	}{
		{"nothing", image.Key, func(*model.Desired) {}, true},
		{"another template", image.Key, func(d *model.Desired) { d.Images[0].Template = "ubuntu" }, false},
		{"nothing", share.Key, func(*model.Desired) {}, true},
		{"another folder", share.Key, func(d *model.Desired) { d.Shares[0].Path = "/home" }, false},
		{"what was found out", vm.Key, func(d *model.Desired) { d.VMs[0].Remembered = 200 }, true},
		{"another name", vm.Key, func(d *model.Desired) { d.VMs[0].Name = "y" }, false},
		{"nothing", snapshot.Key, func(*model.Desired) {}, true},
		{"it is to go", snapshot.Key, func(d *model.Desired) { d.Snapshots[0].Deleted = true }, false},
	} {
		if got := same(was, wanted(c.change), c.key); got != c.same {
			t.Errorf("%s, %s: the same is %v", c.key, c.reason, got)
		}
	}
	if same(plan.NewWanted(model.Desired{}), was, vm.Key) {
		t.Error("what wasn't wanted before is the same")
	}
}

// A machine that waits for its image has it looked at again, a few times. Images of others aren't looked after here.
func TestWhatAMachineWaitsForIsLookedAtAgain(t *testing.T) {
	image, web := model.Owner{Key: model.Key{Kind: "VMImage", Name: "debian"}}, model.Owner{Key: model.Key{Kind: "VirtualMachine", Name: "web"}}
	want := plan.NewWanted(model.Desired{Images: []model.Image{{Owner: image, Lent: true}}, VMs: []model.VM{{Owner: web, Source: model.Source{Image: image.Key}}}})
	r := &run{due: map[*object]bool{}, waiting: map[*object]bool{}}
	p := &part{want: want, objects: map[model.Key]*object{}}
	o := &object{part: p, owner: web}
	if r.reopen(o); o.reopened != 0 || len(r.due) != 0 {
		t.Errorf("looked at %d times: %v", o.reopened, r.due)
	}
	source := &object{part: p, owner: image, phase: open}
	p.objects[image.Key] = source
	if r.reopen(o); o.reopened != 0 {
		t.Error("an image that is being made is looked at")
	}
	for n := 1; n <= 2*maxReopened; n++ {
		source.phase = done
		clear(r.due)
		r.reopen(o)
		if again := r.due[source] && source.phase == recheck; again != (n <= maxReopened) {
			t.Errorf("time %d: it is looked at: %v", n, again)
		}
	}
}
