package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// Single conditions about guests and whole plans, which plans rarely meet: see edges_test.go and corners_test.go.

// Without what a running guest has, nothing of it is pending.
func TestARunningGuestHasWhatItRunsWith(t *testing.T) {
	at := func(running *model.Config, status model.Status) *change {
		return &change{o: &Object{}, g: &model.Guest{VMID: 100, Status: status}, have: &model.Config{
			Options: map[string]string{"cores": "2"}, Pending: map[string]*string{"cores": nil, "scsi0": nil}, Running: running,
		}}
	}
	without := at(nil, model.StatusRunning)
	if got := effective(without.have); got["cores"] != "2" {
		t.Errorf("it runs with %v", got)
	}
	if without.volumePends(model.Disk{Slot: "scsi0"}) {
		t.Error("a volume is pending, and it isn't known what it was")
	}
	with := &model.Config{Options: map[string]string{"cores": "1"}, Disks: []model.Disk{
		{Slot: "scsi0", Volume: "nfs:vm-0"}, {Slot: "scsi1"}, {Slot: "ide2", Volume: "nfs:iso/a.iso", CDROM: true},
	}}
	if got := effective(at(with, model.StatusRunning).have); got["cores"] != "1" {
		t.Errorf("it runs with %v", got)
	}
	for slot, is := range map[string]bool{"scsi0": true, "scsi1": false, "ide2": false, "scsi9": false} {
		if _, got := at(with, model.StatusRunning).runsWith(slot); got != is {
			t.Errorf("it runs with a disk in %s: %t", slot, got)
		}
	}
	for status, n := range map[model.Status]int{model.StatusRunning: 3, model.StatusStopped: 0} {
		if got := at(with, status).pluggedYet(); len(got) != n {
			t.Errorf("%s: %d drives are still plugged in", status, len(got))
		}
	}
}

// A machine with a boot order of its own, or of somebody else's, boots as it is to.
func TestTheBootOrderOfADeclaredMachine(t *testing.T) {
	for name, c := range map[string]struct {
		declared map[string]string
		marker   *model.Marker
		notes    int
	}{
		"ours":                {nil, &model.Marker{}, 1},
		"adopted":             {nil, &model.Marker{Adopted: true}, 0},
		"with its own order":  {map[string]string{"boot": "order=net0"}, &model.Marker{}, 0},
		"without any of ours": {nil, nil, 0},
	} {
		ch := &change{o: &Object{}, g: &model.Guest{VMID: 100}, v: model.VM{Options: c.declared}, have: &model.Config{Options: map[string]string{"boot": "order=net0"}, Marker: c.marker}}
		if ch.bootsElsewhere("scsi0"); len(ch.o.Notes) != c.notes {
			t.Errorf("%s: %v", name, ch.o.Notes)
		}
	}
}

// First-boot data are known by their names, and by being an ISO image.
func TestFirstBootDataAreISOImages(t *testing.T) {
	for volume, is := range map[string]bool{"nfs:iso/" + model.SeedFiles + "x.iso": true, "nfs:iso/other.iso": false, "nfs:snippets/" + model.SeedFiles + "x": false} {
		if madeSeed(volume) != is {
			t.Errorf("%s: %t", volume, !is)
		}
	}
	for name, c := range map[string]struct {
		marker *model.Marker
		text   string
		drops  bool
	}{
		"an image":                {&model.Marker{Seed: "nfs:iso/a.iso"}, "a machine", true},
		"none":                    {&model.Marker{}, "a machine", true},
		"one that the hook reads": {&model.Marker{Seed: "nfs:iso/a.iso"}, "cloud-init: nfs:iso/a.iso", false},
	} {
		if got := DropsSeed(&model.Config{Marker: c.marker, Text: c.text}); got != c.drops {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Whose a guest is doesn't follow from tags that copies have, too.
func TestWhoseAGuestIs(t *testing.T) {
	mine, other := owner("VirtualMachine", "web"), owner("VirtualMachine", "db")
	tags := []string{model.Tag, model.StateTag(other, "x")}
	of := func(placed map[int]model.Placement, guests ...int) (*planner, *model.Guest) {
		have := &model.Observed{Placed: placed, Guests: map[int]*model.Guest{}}
		for _, id := range guests {
			have.Guests[id] = &model.Guest{VMID: id, Tags: tags}
		}
		have.Index()
		return planned(have), have.Guests[100]
	}
	for name, c := range map[string]struct {
		placed map[int]model.Placement
		guests []int
		is     bool
	}{
		"it alone has the tag":                     {nil, []int{100}, true},
		"another one has it, too":                  {nil, []int{100, 101}, false},
		"another object makes it":                  {map[int]model.Placement{100: {Owner: other}}, []int{100, 101}, true},
		"it is made for the owner, as a copy is":   {map[int]model.Placement{100: {Owner: mine}}, []int{100, 101}, false},
		"it is made for the owner, and has a name": {map[int]model.Placement{100: {Owner: mine}}, []int{100}, true},
	} {
		if p, g := of(c.placed, c.guests...); p.anothers(g, mine) != c.is {
			t.Errorf("%s: %t", name, !c.is)
		}
	}
	was, is := mine, mine
	was.UID, is.UID = "1", "1"
	if replaced(was, is) {
		t.Error("an owner has replaced itself")
	}
	if is.UID = "2"; !replaced(was, is) {
		t.Error("an object with another UID hasn't taken the place of the former one")
	}
	p := planned(&model.Observed{})
	for name, g := range map[string]*model.Guest{"unread": {}, "ours": {Config: &model.Config{Marker: &model.Marker{}}}, "stopped": {Config: &model.Config{}}} {
		if p.letGo(g, mine, model.DefaultRange) {
			t.Errorf("a guest is being let go: %s", name)
		}
	}
	p.fixed = map[int]model.Owner{100: other}
	if free, turn := p.chosen(100, mine); free != 0 || turn != nil {
		t.Errorf("the VMID that another manifest names is free: %d, %+v", free, turn)
	}
	if free, _ := p.chosen(100, other); free != 100 {
		t.Errorf("a VMID isn't free for the object that names it: %d", free)
	}
	g := &model.Guest{VMID: 7, Node: "pve1"}
	for doubt, notes := range map[bool]int{false: 1, true: 0} {
		var o Object
		if noteOf(&o, finding{claims: []*model.Guest{g}, doubt: doubt}); len(o.Notes) != notes {
			t.Errorf("doubt %t: %v", doubt, o.Notes)
		}
	}
}

// Guests of other namespaces aren't named; what has no marker is of none.
func TestGuestsOfATemplateAreNamed(t *testing.T) {
	in := func(namespace string) *model.Guest {
		return &model.Guest{VMID: 100, Name: "web", Config: &model.Config{Marker: &model.Marker{Owner: model.Owner{Key: model.Key{Namespace: namespace}}}}}
	}
	for _, c := range []struct {
		template, guest *model.Guest
		name            string
	}{
		{in("a"), in("a"), "web (100)"},
		{in("a"), in("b"), "a machine of another namespace"},
		{&model.Guest{Config: &model.Config{}}, in("b"), "web (100)"},
		{in("a"), &model.Guest{VMID: 100, Name: "web"}, "web (100)"},
	} {
		if got := nameFor(c.template, c.guest); got != c.name {
			t.Errorf("%q, want %q", got, c.name)
		}
	}
	for names, text := range map[string]string{"a": "a is", "a b c": "a, b and c are each", "a b c d e": "a, b, c and 2 more are each"} {
		if got := whoIs(strings.Fields(names)); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
}

// A pool that somebody else chose stays, and one that a manifest named before is left.
func TestWhichPoolsAreLeft(t *testing.T) {
	for name, c := range map[string]struct {
		is, want string
		inFlight bool
		leaves   bool
	}{
		"it is in it":                               {"team", "", false, true},
		"it is in no pool":                          {"", "", false, false},
		"a request may put it there":                {"", "", true, true},
		"a request may put it there, or in another": {"", "other", true, false},
	} {
		g := &model.Guest{VMID: 100, Pool: c.is}
		if c.inFlight {
			g.InFlight = model.AspectPool
		}
		ch := &change{p: planned(&model.Observed{}), g: g, o: &Object{}, v: model.VM{Pool: c.want}, have: &model.Config{Marker: &model.Marker{Managed: []string{model.PoolMark("team")}}}}
		if got := ch.leavesPools(); (len(got) > 0) != c.leaves {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Settings that a rule has and is to have no more are named, so that Proxmox removes them.
func TestSettingsOfARuleThatGo(t *testing.T) {
	have := model.FirewallRule{Type: "in", Action: "ACCEPT", Comment: "why", Protocol: "tcp"}
	want := have
	want.Comment = ""
	if got := settingsGone(have, want); !slices.Equal(got, []string{"comment"}) {
		t.Errorf("%q", got)
	}
	if got := settingsGone(have, have); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// Verified means ready, with everything read.
func TestWhatIsVerified(t *testing.T) {
	for name, c := range map[string]struct {
		object Object
		is     bool
	}{
		"ready":              {Object{}, true},
		"not ready":          {Object{Steps: make([]Step, 1)}, false},
		"unread":             {Object{Unread: true}, false},
		"with agent unasked": {Object{Unasked: true}, false},
	} {
		if got := c.object.Verified(); got != c.is {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A plan replaces a guest by destroying it; a restart of a guest that is to be off disrupts nothing.
func TestWhatReplacesAndDisrupts(t *testing.T) {
	for name, c := range map[string]struct {
		step Step
		is   bool
	}{
		"destroyed and made anew": {Step{Effect: Replace, Action: model.Destroy{}}, true},
		"destroyed":               {Step{Effect: LosesData, Action: model.Destroy{}}, false},
		"stopped for it":          {Step{Effect: Replace, Action: model.Stop{}}, false},
	} {
		if got := Replaces(Object{Steps: []Step{c.step}}); got != c.is {
			t.Errorf("%s: %t", name, got)
		}
	}
	for power, is := range map[model.Power]bool{model.PowerOn: true, "": true, model.PowerOff: false} {
		if got := disruptive(model.VM{Power: power}, Step{Effect: Restart}); got != is {
			t.Errorf("a restart of a guest whose power is to be %q: %t", power, got)
		}
		if !disruptive(model.VM{Power: power}, Step{Effect: Replace}) {
			t.Errorf("a replacement of a guest whose power is to be %q doesn't count", power)
		}
	}
}

// Guests beyond the count of a group that is wanted are the group's, those of another name aren't.
func TestGuestsOfAGroupAreNotLeftBehind(t *testing.T) {
	in := func(group string) *model.Guest {
		o := owner("VirtualMachine", "web-3")
		return &model.Guest{VMID: 100, Tags: []string{model.Tag, model.StateTag(o, "x")}, Config: &model.Config{Marker: &model.Marker{Owner: o, Group: group}}}
	}
	want := model.Desired{Set: owner("", "").Set, Groups: []model.Group{{Owner: owner("VirtualMachine", "web"), Count: 2}}}
	for group, left := range map[string]int{"web": 0, "other": 1, "": 1} {
		have := &model.Observed{Guests: map[int]*model.Guest{100: in(group)}}
		have.Index()
		if got, _ := Unnamed(want, have); len(got) != left {
			t.Errorf("group %q: %+v", group, got)
		}
	}
}

// A VMID that seems free is asked about where people want to see the plan, unless that was left out.
func TestWhenAVMIDIsAskedAbout(t *testing.T) {
	key := owner("VirtualMachine", "web").Key
	for name, c := range map[string]struct {
		want model.Desired
		have model.Observed
		is   bool
	}{
		"carried out":           {model.Desired{}, model.Observed{}, true},
		"shown":                 {model.Desired{Foresee: true}, model.Observed{}, false},
		"shown without asking":  {model.Desired{Foresee: true, Unasked: map[model.Key]bool{key: true}}, model.Observed{}, true},
		"after a failure":       {model.Desired{}, model.Observed{Failed: map[model.Key]model.Failure{key: {}}}, false},
		"after it was answered": {model.Desired{}, model.Observed{IDs: map[int]bool{100: true}}, false},
	} {
		if got := newPlanner(c.want, &c.have).makes(key, 100); got != c.is {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Disks of a guest that is being made aren't those of an earlier one.
func TestDisksOfAGuestInTheMakingAreNoOrphans(t *testing.T) {
	for name, c := range map[string]struct {
		have model.Observed
		n    int
	}{
		"nobody has the VMID": {model.Observed{}, 1},
		"a guest has it":      {model.Observed{Guests: map[int]*model.Guest{100: {}}}, 0},
		"one is being made":   {model.Observed{Placed: map[int]model.Placement{100: {Node: "pve1"}}}, 0},
	} {
		if got := planned(&c.have).orphans([]model.Volume{{ID: "nfs:vm-100-disk-0", VMID: 100, Node: "pve1"}}); len(got) != c.n {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A snapshot of a machine by its VMID is of the set that wants it.
func TestASnapshotIsOfAMachineOfItsSet(t *testing.T) {
	o := owner("VirtualMachine", "web")
	for name, c := range map[string]struct {
		change func(*model.Marker) *model.Marker
		is     bool
	}{
		"its own":           {func(m *model.Marker) *model.Marker { return m }, true},
		"somebody else's":   {func(*model.Marker) *model.Marker { return nil }, false},
		"of another set":    {func(m *model.Marker) *model.Marker { m.Owner.Set = "other"; return m }, false},
		"of another door's": {func(m *model.Marker) *model.Marker { m.Owner.Door = "other"; return m }, false},
	} {
		g := &model.Guest{VMID: 100, Config: &model.Config{Marker: c.change(&model.Marker{Owner: o})}}
		var said Object
		if _, ok := planned(&model.Observed{Guests: map[int]*model.Guest{100: g}}).machineOf(&said, model.Snapshot{Owner: owner("VMSnapshot", "s"), VMID: 100}); ok != c.is || (said.Wait == nil) != c.is {
			t.Errorf("%s: %t, %+v", name, ok, said.Wait)
		}
	}
}

// A machine that nobody asks to move stays.
func TestAMachineMovesWhenItIsAskedTo(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	w.settle(t, &want)
	p := newPlanner(want, w.observe(Look{}))
	var o Object
	if p.relocate(&o, want.VMs[0], w.guest("web")); len(o.Steps) > 0 || o.Wait != nil || !o.Look.Empty() {
		t.Errorf("%+v", o)
	}
}

// A snapshot that is to be kept holds its machine; one that is to go, or that nobody names any more, doesn't.
func TestWhichSnapshotsHoldTheirMachine(t *testing.T) {
	v := testVM("web")
	for name, c := range map[string]struct {
		snapshot model.Snapshot
		holds    bool
	}{
		"by its name":    {model.Snapshot{VM: v.Owner.Key}, true},
		"by its VMID":    {model.Snapshot{VMID: 100}, true},
		"of another":     {model.Snapshot{VMID: 101}, false},
		"that is to go":  {model.Snapshot{VM: v.Owner.Key, Deleted: true}, false},
		"that is unused": {model.Snapshot{VM: v.Owner.Key, LeftOver: true}, false},
	} {
		o := Object{VMID: 100}
		if got := newPlanner(model.Desired{Snapshots: []model.Snapshot{c.snapshot}}, &model.Observed{}).held(&o, v); got != c.holds || (o.Wait != nil) != c.holds {
			t.Errorf("%s: %t, %+v", name, got, o.Wait)
		}
	}
}

// A machine that is off is snapshotted without its memory, and has to run for one with it.
func TestASnapshotWithMemoryNeedsAMachineThatRuns(t *testing.T) {
	v, s := testVM("web"), model.Snapshot{Owner: owner("VMSnapshot", "s"), Name: "s"}
	v.Power = model.PowerOn
	for memory, steps := range map[bool]int{false: 1, true: 0} {
		s.Memory = memory
		var o Object
		planned(&model.Observed{}).snapshotOf(&o, s, v, &model.Guest{VMID: 100, Status: model.StatusStopped, Config: &model.Config{}})
		if len(o.Steps) != steps || (o.Wait != nil) == (steps == 1) {
			t.Errorf("with memory %t: %v, %+v", memory, o.Steps, o.Wait)
		}
	}
}

// Whether the firewall of the cluster is off may be unknown.
func TestAFirewallIsNotedWhereItIsKnownToBeOff(t *testing.T) {
	want := &model.Firewall{Options: map[string]string{"enable": "1"}}
	for name, c := range map[string]struct {
		off   *bool
		notes int
	}{"unknown": {nil, 0}, "on": {new(bool), 0}} {
		var o Object
		if planned(&model.Observed{FirewallOff: c.off}).noteFirewall(&o, want, nil); len(o.Notes) != c.notes {
			t.Errorf("%s: %v", name, o.Notes)
		}
	}
}

// New disks get a slot each, also when they are named for the same one.
func TestNewDisksGetASlotEach(t *testing.T) {
	c := &change{o: &Object{}, p: planned(&model.Observed{}), g: &model.Guest{VMID: 100}, have: &model.Config{Marker: &model.Marker{}}, v: model.VM{Disks: []model.Disk{
		{Slot: "scsi1", Name: "a", Size: 1 << 30, Options: map[string]string{"serial": "a"}}, {Slot: "scsi1", Name: "b", Size: 1 << 30, Options: map[string]string{"serial": "b"}},
	}}}
	c.settleSlots()
	if a, b := c.slotOf(c.v.Disks[0]), c.slotOf(c.v.Disks[1]); a != "scsi1" || a == b {
		t.Errorf("they are in %s and %s", a, b)
	}
}

// A limit for the whole set counts all guests, those without a group, too.
func TestALimitOfTheSetCountsAllGuests(t *testing.T) {
	a, b := testVM("a"), testVM("b")
	a.Rollout.Groups = []string{"class"}
	for limit, n := range map[model.Limit]int{{}: 1, {Count: 1}: 3} {
		w := NewWanted(model.Desired{VMs: []model.VM{a, b}, MaxUnavailable: limit})
		if got := w.rolledWith(map[string]bool{"class": true}); len(got) != n {
			t.Errorf("%+v: %v", limit, got)
		}
	}
}

// A snapshot isn't gone while its machine may be there and isn't visible.
func TestASnapshotOfAMachineThatIsNotVisibleIsNotGone(t *testing.T) {
	v := testVM("web")
	v.VMID = 100
	s := model.Snapshot{Owner: owner("VMSnapshot", "s"), Name: "s", VM: v.Owner.Key, Deleted: true}
	for ids, gone := range map[string]bool{"not asked": false, "taken": false, "free": true} {
		have := newWorld().observe(Look{})
		have.IDs = map[int]bool{}
		p := newPlanner(model.Desired{VMs: []model.VM{v}, Snapshots: []model.Snapshot{s}}, have)
		for _, id := range append(slices.Collect(v.Owner.Candidates(v.Range)), 100) {
			if ids != "not asked" {
				have.IDs[id] = ids == "taken" && id == 100
			}
		}
		if o := p.snapshot(s); o.Gone != gone {
			t.Errorf("%s: gone %t, %+v, %+v", ids, o.Gone, o.Wait, o.Look)
		}
	}
}
