package engine

import (
	"testing"
	"time"

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
