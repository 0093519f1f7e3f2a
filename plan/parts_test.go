package plan

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/model"
)

// fullLook asks for one thing of each kind.
func fullLook(field int) (l Look) {
	switch f := reflect.ValueOf(&l).Elem().Field(field); f.Kind() {
	case reflect.Bool:
		f.SetBool(true)
	case reflect.Slice:
		if f.Type().Elem().Kind() == reflect.Int {
			f.Set(reflect.ValueOf([]int{7, 3, 7}))
		} else {
			f.Set(reflect.ValueOf([]string{"b", "a", "b"}))
		}
	}
	return l
}

// Whatever is to be read is read: no kind of it is forgotten when looks are put together, and none counts as nothing.
func TestEveryKindOfLookCounts(t *testing.T) {
	all := reflect.TypeFor[Look]()
	var sum, want Look
	for i := range all.NumField() {
		one := fullLook(i)
		if one.Empty() {
			t.Errorf("a look at %s counts as none", all.Field(i).Name)
		}
		for j := range all.NumField() {
			two := fullLook(j)
			two.Add(one)
			if two.Empty() {
				t.Errorf("looks at %s and %s count as none", all.Field(i).Name, all.Field(j).Name)
			}
		}
		sum.Add(one)
		reflect.ValueOf(&want).Elem().Field(i).Set(reflect.ValueOf(one).Field(i))
		var twice, before Look
		twice.Add(one)
		twice.Add(before)
		if diff := cmp.Diff(one, twice); diff != "" {
			t.Errorf("%s: %s", all.Field(i).Name, diff)
		}
	}
	if diff := cmp.Diff(want, sum); diff != "" {
		t.Error(diff)
	}
	if !(Look{}).Empty() {
		t.Error("no look counts as one")
	}
	if whole := (Plan{Objects: []Object{{Look: sum}}}).Look(); !whole.Volumes || len(whole.Disks) > 0 {
		t.Errorf("disks are read twice: %v", whole.Disks)
	}
	sum.Volumes = false
	planned := Plan{Objects: []Object{{Look: sum}, {Look: sum}}}.Look()
	for i := range all.NumField() {
		f := reflect.ValueOf(planned).Field(i)
		if name := all.Field(i).Name; f.Kind() == reflect.Slice && name != "URLs" && name != "Groups" && f.Len() != 2 {
			t.Errorf("%s is to be read more than once: %v", name, f)
		}
	}
	if !slices.IsSorted(planned.Configs) || !slices.IsSorted(planned.Snapshots) || !slices.IsSorted(planned.Agents) || !slices.IsSorted(planned.IDs) || !slices.IsSorted(planned.Rights) {
		t.Errorf("%+v isn't in order", planned)
	}
}

// What counts as done, and what people are told of a plan as a whole.
func TestWhatAPlanSaysAsAWhole(t *testing.T) {
	web := owner("VirtualMachine", "web")
	var o Object
	o.Owner = web
	first := o.step(Step{What: "a", Why: absent(web), Action: model.Stop{}})
	second := o.step(Step{What: "b", Why: ending(web), Action: model.Stop{}}, first)
	o.step(Step{What: "c", Why: "else", Action: model.Stop{}}, second, first, 0, first)
	if !o.Steps[0].Obvious || !o.Steps[1].Obvious || o.Steps[2].Obvious {
		t.Errorf("which reasons go without saying: %+v", o.Steps)
	}
	if diff := cmp.Diff([]int{1, 2}, o.Steps[2].After); diff != "" {
		t.Error(diff)
	}
	if n := (Plan{Objects: []Object{o, o}}).Steps(); n != 6 {
		t.Errorf("%d steps", n)
	}
	for _, c := range []struct {
		reason             string
		o                  Object
		ready, same, stuck bool
	}{
		{"nothing is to be done", Object{}, true, true, false},
		{"something is", o, false, false, false},
		{"its agent is to be asked", Object{Look: Look{Agents: []int{1}}}, false, true, false},
		{"its agent is silent", Object{Wait: &Wait{Reason: model.WaitAgent}}, false, true, false},
		{"its node is off", Object{Wait: &Wait{Reason: model.WaitNode}}, false, false, false},
		{"its config is to be read", Object{Look: Look{Configs: []int{1}}}, false, false, false},
		{"it doesn't fit", Object{Wait: &Wait{Reason: model.WaitUnfit}}, false, false, true},
		{"a restart isn't agreed to", Object{Refused: []Refusal{{Allow: model.AllowRestart}}}, false, false, false},
		{"a disk would have to shrink", Object{Refused: []Refusal{{Allow: model.AllowRestart}, {}}}, false, false, true},
	} {
		p := Plan{Objects: []Object{{}, c.o}}
		if c.o.Ready() != c.ready || p.Ready() != c.ready || c.o.Unchanged() != c.same || p.Unchanged() != c.same || c.o.Blocked() != c.stuck || p.Blocked() != c.stuck {
			t.Errorf("%s: ready %t, unchanged %t, blocked %t", c.reason, c.o.Ready(), c.o.Unchanged(), c.o.Blocked())
		}
	}
	if why, diff := (Step{Why: "because", Diff: []model.Difference{{}}}).Because(); why != "because" || diff != nil {
		t.Errorf("%q, %v", why, diff)
	}
	if why, diff := (Step{Diff: []model.Difference{{}}}).Because(); why != "" || len(diff) != 1 {
		t.Errorf("%q, %v", why, diff)
	}
}

// Notes that are no object's are told once.
func TestNotesAreToldOnce(t *testing.T) {
	p := newPlanner(model.Desired{}, &model.Observed{})
	a, b := Note{Text: "a"}, Note{Text: "a", Do: model.Advice{Do: model.DeleteGuest, VMID: 7}}
	for _, n := range []Note{a, b, {Text: "c"}, a, b} {
		p.note(n)
	}
	if diff := cmp.Diff([]Note{a, b, {Text: "c"}}, p.notes); diff != "" {
		t.Error(diff)
	}
}

// TestWhoIsAway: which guests of a rollout group are unavailable, for sessions that look after others of it.
func TestWhoIsAway(t *testing.T) {
	w := newWorld()
	var vms []model.VM
	for _, name := range []string{"a", "b", "c"} {
		v := testVM(name)
		v.NICs[0].MAC, v.Rollout.Groups = "", []string{"g"}
		vms = append(vms, v)
	}
	vms[2].Rollout.Groups = []string{"other"}
	want := desired(vms...)
	converge(quiet{t}, w, want)
	full := Look{}
	for id := range w.Guests {
		full.Configs, full.Agents, full.Status = append(full.Configs, id), append(full.Agents, id), append(full.Status, id)
	}
	key := func(name string) Key { return owner("VirtualMachine", name).Key }
	for _, c := range []struct {
		reason        string
		look          Look
		do            func(o *model.Observed)
		away, unknown []model.Absent
	}{
		{"all are up", full, func(*model.Observed) {}, nil, nil},
		{"one is off", full, func(o *model.Observed) { o.Guests[w.guest("b").VMID].Status = model.StatusStopped }, []model.Absent{{Key: key("b")}}, nil},
		{"one is restarted", full, func(o *model.Observed) { o.Rolling = map[Key]bool{key("a"): true} }, []model.Absent{{Key: key("a"), UnderWay: true}}, nil},
		{"one of another group is off", full, func(o *model.Observed) { o.Guests[w.guest("c").VMID].Status = model.StatusStopped }, nil, nil},
		{"nothing was read of one", full, func(o *model.Observed) { o.Guests[w.guest("a").VMID].Status = model.StatusUnknown }, nil,
			[]model.Absent{{Key: key("a"), Unknown: "it hasn't been read yet whether it is up"}}},
	} {
		have := w.observe(c.look)
		c.do(have)
		away, unknown, look := Away(want, have, "g")
		if diff := cmp.Diff([][]model.Absent{c.away, c.unknown}, [][]model.Absent{away, unknown}); diff != "" {
			t.Errorf("%s: %s", c.reason, diff)
		}
		if look.Empty() != (len(c.unknown) == 0) {
			t.Errorf("%s: %+v", c.reason, look)
		}
	}
	for _, c := range []struct {
		v    model.VM
		want bool
	}{
		{model.VM{Power: model.PowerOn, Remembered: 1}, true},
		{model.VM{Power: model.PowerOn}, false},
		{model.VM{Power: model.PowerOff, Remembered: 1}, false},
		{model.VM{Power: model.PowerOn, Remembered: 1, Deleted: true}, false},
	} {
		if Counts(c.v) != c.want {
			t.Errorf("%+v", c.v)
		}
	}
	mine, theirs := Key{Kind: "VirtualMachine", Namespace: "n", Name: "x"}, Key{Kind: "VirtualMachine", Namespace: "secret", Name: "secret"}
	for _, c := range []struct {
		a    model.Absent
		want string
	}{
		{model.Absent{Key: mine}, "virtualmachine/n/x"},
		{model.Absent{Key: mine, Unknown: "why"}, "virtualmachine/n/x, whose state isn't known (why),"},
		{model.Absent{Key: theirs}, "a machine of another namespace that uses g"},
		{model.Absent{Key: theirs, Unknown: "why"}, "a machine of another namespace that uses g, and whose state isn't known at present,"},
	} {
		if got := whoIsAway(c.a, "n", "g"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestPartsOfWhatIsWanted: what a part of what is wanted has, and what is left over.
func TestPartsOfWhatIsWanted(t *testing.T) {
	web, db, other := testVM("web"), testVM("db"), testVM("other")
	web.Deleted, other.Rollout.Groups = true, []string{"g"}
	db.Rollout.Groups, db.Shares = []string{"g"}, []string{"data"}
	snap := model.Snapshot{Owner: owner("VMSnapshot", "s"), VM: web.Owner.Key, Name: "s", Deleted: true}
	share := testShare("data", "/srv/data")
	all := desired(web, db, other)
	all.Images[1].Deleted = true
	all.Snapshots, all.Shares = []model.Snapshot{snap}, []model.Share{share}
	all.Groups = []model.Group{{Owner: owner("VirtualMachine", "group"), Name: "other", Count: 0}}
	w := NewWanted(all)
	for _, c := range []struct {
		key  Key
		goes bool
	}{
		{web.Owner.Key, true}, {db.Owner.Key, false}, {all.Images[0].Owner.Key, false}, {all.Images[1].Owner.Key, true}, {snap.Owner.Key, true}, {share.Owner.Key, false},
	} {
		if w.Going(c.key) != c.goes {
			t.Errorf("%s goes: %t", c.key, !c.goes)
		}
	}
	gone := share
	gone.Deleted = true
	all.Shares = []model.Share{gone}
	if !NewWanted(all).Going(gone.Owner.Key) {
		t.Error("the share is to go")
	}

	left := Object{Owner: owner("VirtualMachine", "left"), VMID: 5001}
	snaps := Object{Owner: owner("VirtualMachineSnapshots", "db"), LeftOver: db.Owner.Key}
	known := Object{Owner: db.Owner, VMID: 5002}
	for _, o := range []Object{left, snaps, known, {Owner: owner("Set", "default")}} {
		w.LeftOver(o)
	}
	if v, ok := w.VM(left.Owner.Key); !ok || !v.Deleted || !v.LeftOver || v.VMID != 5001 {
		t.Errorf("%+v", v)
	}
	if s, ok := w.Snapshot(snaps.Owner.Key); !ok || !s.LeftOver || s.VM != db.Owner.Key || !slices.Contains(w.Users(db.Owner.Key), snaps.Owner.Key) {
		t.Errorf("%+v", s)
	}
	if v, _ := w.VM(db.Owner.Key); v.LeftOver {
		t.Error("what is wanted isn't left over")
	}
	if w.has(owner("Set", "default").Key) {
		t.Error("a set is no object")
	}

	names := func(d model.Desired) (list []string) {
		add := func(k Key) {
			name := k.Name
			if d.Seen[k] {
				name = "(" + name + ")"
			}
			list = append(list, name)
		}
		for _, i := range d.Images {
			add(i.Owner.Key)
		}
		for _, v := range d.VMs {
			add(v.Owner.Key)
		}
		for _, s := range d.Snapshots {
			add(s.Owner.Key)
		}
		for _, g := range d.Groups {
			add(g.Owner.Key)
		}
		return list
	}
	for _, c := range []struct {
		reason string
		keys   []Key
		want   []string
	}{
		{"a machine needs its image", []Key{db.Owner.Key}, []string{"ubuntu-22", "db"}},
		{"one that goes looks at its snapshots", []Key{web.Owner.Key}, []string{"ubuntu-22", "web", "(s)"}},
		{"a snapshot needs its machine, and looks at others of it", []Key{snap.Owner.Key}, []string{"ubuntu-22", "web", "s"}},
		{"an image needs nothing", []Key{all.Images[0].Owner.Key}, []string{"ubuntu-22"}},
		{"a group stands alone", []Key{all.Groups[0].Owner.Key}, []string{"group"}},
	} {
		if diff := cmp.Diff(c.want, names(w.For(c.keys...))); diff != "" {
			t.Errorf("%s: %s", c.reason, diff)
		}
	}
	if d := w.For(owner("Set", "default").Key); len(d.VMs) != 3 {
		t.Error("what isn't known needs all")
	}

	// Who is restarted brings its whole rollout group, and what was there stays.
	restarts := Plan{Objects: []Object{{Owner: db.Owner, Steps: []Step{{Action: model.Reboot{}, Effect: Restart}}}}}
	part := w.For(db.Owner.Key, snap.Owner.Key, all.Groups[0].Owner.Key)
	grown, more := w.Rolled(part, restarts)
	if diff := cmp.Diff([]string{"ubuntu-22", "db", "web", "other", "s", "group"}, names(grown)); diff != "" || !more {
		t.Errorf("%t %s", more, diff)
	}
	if again, more := w.Rolled(grown, restarts); more || len(again.VMs) != len(grown.VMs) {
		t.Error("there is nothing more")
	}
	if _, more := w.Rolled(part, Plan{Objects: []Object{{Owner: db.Owner}}}); more {
		t.Error("nothing is restarted")
	}
	held := Plan{Objects: []Object{{Owner: db.Owner, Wait: &Wait{Reason: model.WaitRollout}}}}
	if _, more := w.Rolled(part, held); !more {
		t.Error("one that waits for its turn is restarted later")
	}
	all.MaxUnavailable.Count = 1
	if grown, _ := NewWanted(all).Rolled(part, held); len(grown.VMs) != 3 {
		t.Errorf("all count: %v", names(grown))
	}
}

// TestPartsThatOthersLookAt: a machine's plan depends on what it must not share a node with, an implied image on what is made from it,
// a group on machines of its name.
func TestPartsThatOthersLookAt(t *testing.T) {
	vms := databases(2)
	plain := testVM("plain")
	plain.Source.Image.Name = "other"
	d := desired(append(vms, plain)...)
	d.Images[0].Implied = true
	d.Groups = []model.Group{{Owner: owner("VirtualMachine", "db"), Name: "db", Count: 0}}
	w := NewWanted(d)
	sees := func(k, other Key) bool { return w.For(k).Seen[other] }
	member := d.Groups[0].Member(1).Key
	for _, c := range []struct {
		reason string
		k, of  Key
		does   bool
	}{
		{"those that it avoids", vms[0].Owner.Key, vms[1].Owner.Key, true},
		{"nobody avoids it", plain.Owner.Key, vms[1].Owner.Key, false},
		{"an implied image sees who is made from it", d.Images[0].Owner.Key, vms[0].Owner.Key, true},
		{"another image doesn't", d.Images[1].Owner.Key, plain.Owner.Key, false},
		{"a group sees machines of its name", d.Groups[0].Owner.Key, member, w.has(member)},
	} {
		if sees(c.k, c.of) != c.does {
			t.Errorf("%s: %t", c.reason, !c.does)
		}
	}
	if !w.has(member) {
		t.Errorf("%s isn't wanted: the case says nothing", member)
	}
}

func TestSlotsAndSizes(t *testing.T) {
	for _, c := range []struct {
		k, family string
		want      bool
	}{{"scsi0", "scsi", true}, {"scsi12", "scsi", true}, {"scsi", "scsi", false}, {"scsihw", "scsi", false}, {"net1", "scsi", false}, {"virtiofs0", "virtio", false}} {
		if isSlot(c.k, c.family) != c.want {
			t.Errorf("%s of %s: %t", c.k, c.family, !c.want)
		}
	}
	for _, c := range []struct {
		want, have int64
		is         bool
	}{{0, 5, true}, {5, 0, true}, {diskUnit, diskUnit, true}, {1, diskUnit, true}, {1, diskUnit + 1, false}, {diskUnit + 1, diskUnit, false}} {
		if rightSize(c.want, c.have) != c.is {
			t.Errorf("%d for %d: %t", c.have, c.want, !c.is)
		}
	}
	for _, c := range []struct {
		want, have string
		is         bool
	}{{"q35", "pc-q35-9.0", true}, {"q35", "pc-i440fx-9.0", false}, {"", "pc-i440fx-9.0", true}, {"pc", "pc-i440fx-9.0", true}, {"pc", "pc-q35-9.0", false}, {"virt", "virt", false}} {
		if sameMachine(c.want, c.have) != c.is {
			t.Errorf("%q for %q: %t", c.have, c.want, !c.is)
		}
	}
	taken := map[string]bool{"scsi1": true, "scsi2": true}
	if got := freeSlot("scsi1", taken); got != "scsi3" {
		t.Errorf("%s is free", got)
	}
	if got := freeSlot("scsi0", taken); got != "scsi0" {
		t.Errorf("%s is free", got)
	}
}

// Which effect a change has as a whole.
func TestTheWorstEffectCounts(t *testing.T) {
	d := func(e Effect) model.Difference { return model.Difference{Effect: e} }
	for _, c := range []struct {
		list []model.Difference
		want Effect
	}{
		{nil, Live},
		{[]model.Difference{d(Live)}, Live},
		{[]model.Difference{d(Later)}, Later},
		{[]model.Difference{d(Live), d(Later)}, Partly},
		{[]model.Difference{d(Restart)}, Later},
		{[]model.Difference{d(Restart), d(Live)}, Partly},
		{[]model.Difference{d(LosesData), d(Live)}, LosesData},
		{[]model.Difference{d(LosesData), d(Later), d(Replace)}, LosesData},
		{[]model.Difference{d(Replace), d(LosesData)}, LosesData},
	} {
		if got := effectOf(c.list); got != c.want {
			t.Errorf("%v: %s, want %s", c.list, got, c.want)
		}
	}
}
