package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// More conditions that stories reach only together with others, as in alone_test.go: what is missing, what comes first, what is at
// the edge of a range.

// The rollout group of everybody is all that is wanted, and its members are named whatever their namespace is.
func TestTheGroupOfAllMachinesHidesNoNames(t *testing.T) {
	want := desired(testVM("web"), testVM("db"))
	if got := NewWanted(want).Group(everyone); len(got.VMs) != 2 {
		t.Errorf("the group has %d machines", len(got.VMs))
	}
	a := model.Absent{Key: model.Key{Kind: "VirtualMachine", Namespace: "theirs", Name: "secret"}}
	for group, shown := range map[string]bool{everyone: true, "VMPlacementPolicy first": false} {
		if got := whoIsAway(a, "ours", group); strings.Contains(got, "secret") != shown {
			t.Errorf("in the group %q: %s", group, got)
		}
	}
}

// Facts about a node that isn't in the cluster are noted, those about nodes that are, and about all, aren't.
func TestFactsAboutUnknownNodesAreNoted(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.Place.Facts = map[string]model.NodeFacts{"pve1": {}, model.AllNodes: {}, "pve9": {}}
	p := newPlanner(desired(v), w.observe(Look{}))
	p.unknownNodes(v)
	if len(p.notes) != 1 || !strings.Contains(p.notes[0].Text, "node pve9") {
		t.Errorf("%+v", p.notes)
	}
}

// Nothing is said about the CPUs of a node that isn't known.
func TestTheCPUsOfAnUnknownNodeAreNotLacked(t *testing.T) {
	options := map[string]string{"affinity": "0-7"}
	for _, c := range []struct {
		node  *model.Node
		lacks bool
	}{{nil, false}, {&model.Node{}, false}, {&model.Node{CPUs: 8}, false}, {&model.Node{CPUs: 7}, true}} {
		if got := lacksAffinity(options, c.node); (got != "") != c.lacks {
			t.Errorf("%+v: %q", c.node, got)
		}
	}
}

// An object that a part has only seen is only seen in the part that it is added to.
func TestWhatAPartHasOnlySeenIsOnlySeenInAnother(t *testing.T) {
	want := desired(testVM("web"))
	key := want.VMs[0].Owner.Key
	for _, seen := range []bool{false, true} {
		part := want
		if seen {
			part.Seen = map[model.Key]bool{key: true}
		}
		p := NewWanted(want).part()
		p.addAll(part)
		if p.want.Seen[key] != seen || len(p.want.VMs) != 1 {
			t.Errorf("seen %v: %+v", seen, p.want)
		}
	}
}

// A machine that is to go stays while another one is to be copied from its snapshot, also while that clone is being made.
func TestASnapshotIsNeededUntilItsCopyIsMade(t *testing.T) {
	for name, c := range map[string]struct {
		copied *model.Guest
		waits  bool
	}{
		"nothing was begun":     {nil, true},
		"the clone is made now": {&model.Guest{Lock: "clone"}, true},
		"the copy is there":     {&model.Guest{}, false},
	} {
		from, copied := testVM("web"), testVM("copy")
		copied.Source = model.Source{VM: from.Owner.Key, Snapshot: "before"}
		p := newPlanner(desired(from, copied), newWorld().observe(Look{}))
		if c.copied != nil {
			c.copied.VMID = 300
		}
		p.found[copied.Owner] = finding{guest: c.copied}
		var o Object
		if got := p.copied(&o, from, &model.Guest{VMID: 200, Snapshots: []model.SnapshotInfo{{Name: "before"}}}); got != c.waits {
			t.Errorf("%s: waits %v: %+v", name, got, o.Wait)
		}
	}
}

// A machine is held by its own snapshots, named by its object or by its VMID.
func TestOnlyItsOwnSnapshotsHoldAMachine(t *testing.T) {
	v := testVM("web")
	for name, c := range map[string]struct {
		snapshot model.Snapshot
		held     bool
	}{
		"of the object":     {model.Snapshot{VM: v.Owner.Key}, true},
		"of its VMID":       {model.Snapshot{VMID: 200}, true},
		"of another VMID":   {model.Snapshot{VMID: 201}, false},
		"that is to go":     {model.Snapshot{VMID: 200, Deleted: true}, false},
		"of another object": {model.Snapshot{VM: testVM("db").Owner.Key}, false},
	} {
		want := desired(v)
		want.Snapshots = []model.Snapshot{c.snapshot}
		o := Object{VMID: 200}
		if got := newPlanner(want, newWorld().observe(Look{})).held(&o, v); got != c.held {
			t.Errorf("a snapshot %s holds it: %v", name, got)
		}
	}
}

// Why a machine stays that no manifest names: its notes say so, or its release.
func TestWhyAMachineIsKept(t *testing.T) {
	for _, c := range []struct {
		v    model.VM
		m    model.Marker
		want string
	}{
		{model.VM{LeftOver: true}, model.Marker{Retain: true}, model.WhyRetainedUnused},
		{model.VM{LeftOver: true, Retain: true}, model.Marker{}, model.WhyRetained},
		{model.VM{Retain: true}, model.Marker{Retain: true}, model.WhyRetained},
	} {
		if got := whyKept(c.v, &c.m); got != c.want {
			t.Errorf("%+v, %+v: %s", c.v, c.m, got)
		}
	}
}

// What is pending isn't in effect: the guest runs with what it had before.
func TestPendingOptionsAreNotInEffect(t *testing.T) {
	c := &model.Config{
		Options: map[string]string{"hostpci0": "mapping=new", "cores": "2"}, Pending: map[string]*string{"hostpci0": nil},
		Running: &model.Config{Options: map[string]string{"hostpci0": "mapping=old"}},
	}
	if got := effective(c); got["hostpci0"] != "mapping=old" || got["cores"] != "2" {
		t.Errorf("in effect is %v", got)
	}
	c.Pending = nil
	if got := effective(c); got["hostpci0"] != "mapping=new" {
		t.Errorf("nothing is pending, and in effect is %v", got)
	}
}

// A disk that isn't there has no size, and a root disk that is to grow is shown by lists.
func TestOnlyDisksThatAreThereHaveAnotherSize(t *testing.T) {
	const gib = 1 << 30
	for name, c := range map[string]struct {
		slot string
		have []model.Disk
		want int64
		is   bool
	}{
		"it isn't there":                   {"scsi1", nil, 10 * gib, false},
		"as it is wanted":                  {"scsi1", []model.Disk{{Slot: "scsi1", Size: 10 * gib}}, 10 * gib, false},
		"it is to grow":                    {"scsi1", []model.Disk{{Slot: "scsi1", Size: 5 * gib}}, 10 * gib, true},
		"a root disk that is to grow":      {model.RootSlot, []model.Disk{{Slot: "scsi0", Size: 5 * gib}}, 10 * gib, false},
		"a root disk that is larger":       {model.RootSlot, []model.Disk{{Slot: "scsi0", Size: 20 * gib}}, 10 * gib, true},
		"its size isn't known in Proxmox":  {"scsi1", []model.Disk{{Slot: "scsi1"}}, 10 * gib, false},
		"no size is wanted of what is big": {"scsi1", []model.Disk{{Slot: "scsi1", Size: 5 * gib}}, 0, false},
	} {
		ch := &change{
			v: model.VM{Disks: []model.Disk{{Slot: c.slot, Size: c.want}}}, have: &model.Config{Disks: c.have, Options: map[string]string{"boot": "order=scsi0"}},
			slots: map[string]string{diskName(model.Disk{Slot: c.slot}): cmpRoot(c.slot)},
		}
		if got := ch.resizes(); got != c.is {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// cmpRoot is the slot that a disk has here.
func cmpRoot(slot string) string {
	if slot == model.RootSlot {
		return "scsi0"
	}
	return slot
}

// Options of a disk that the manifest named before go, unless it still names them.
func TestOptionsOfDisksThatAreStillNamedStay(t *testing.T) {
	want := model.Disk{Slot: "scsi1", Name: "data", Options: map[string]string{"ssd": "1"}}
	have := model.Disk{Slot: "scsi1", Options: map[string]string{"ssd": "1", "discard": "on", "cache": "none"}}
	c := &change{v: model.VM{Disks: []model.Disk{want}}, have: &model.Config{Marker: &model.Marker{Managed: []string{diskOptionMark(want, "ssd"), diskOptionMark(want, "discard")}}}}
	got := c.withOptions(want, have)
	if fmt.Sprint(got.Options) != "map[cache:none ssd:1]" {
		t.Errorf("the disk has %v", got.Options)
	}
}

// What can't be changed about a disk of firmware is noted if it was asked for, and is otherwise.
func TestOnlyDeclaredPropertiesOfFirmwareAreNoted(t *testing.T) {
	have := model.Disk{Slot: "efidisk0", Options: map[string]string{"pre-enrolled-keys": "1"}}
	for value, notes := range map[string]int{"": 0, "1": 0, "0": 1} {
		c := &change{o: &Object{}}
		c.firmwareAsMade(model.Disk{Options: map[string]string{"pre-enrolled-keys": value}}, have)
		if len(c.o.Notes) != notes {
			t.Errorf("%q: %v", value, c.o.Notes)
		}
	}
}

// Of two guests that are just being created the one with the lower VMID is named, whichever comes first.
func TestTheFirstOfTwoHalfMadeGuestsIsNamed(t *testing.T) {
	half := func(id int) *model.Guest {
		return &model.Guest{VMID: id, Ahead: true, Lock: "create", Config: &model.Config{Half: true}}
	}
	for range 20 { // maps have no order
		p := newPlanner(model.Desired{}, &model.Observed{Guests: map[int]*model.Guest{100: half(100), 101: half(101), 102: half(102)}})
		if g := p.unlisted(); g == nil || g.VMID != 100 {
			t.Fatalf("%+v", g)
		}
	}
}

// A cloud-init drive that is the first of a guest's disks is found as well.
func TestACloudInitDriveIsFoundInTheFirstPlace(t *testing.T) {
	drive := model.Disk{Slot: "ide2", CDROM: true, CloudInit: true}
	c := &change{
		v: testVM("web"), g: &model.Guest{VMID: 200, Status: model.StatusRunning},
		have: &model.Config{Options: map[string]string{}, Marker: &model.Marker{Managed: []string{"cores"}}, Disks: []model.Disk{drive}},
	}
	c.v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"}
	if slot := c.findDrive(); slot != "ide2" {
		t.Errorf("first-boot data go to %s", slot)
	}
}

// The volume of an earlier guest's cloud-init drive is in the way on the node of the guest, and on storage that all nodes share.
func TestAStrandedDriveIsOnTheNodeOfTheGuest(t *testing.T) {
	for _, c := range []struct {
		node   string
		shared bool
		found  bool
	}{{"pve1", false, true}, {"pve2", false, false}, {"pve2", true, true}} {
		v := testVM("web")
		const volume = "local-lvm:vm-200-cloudinit"
		p := newPlanner(desired(v), &model.Observed{
			Failed:   map[model.Key]model.Failure{v.Owner.Key: {}},
			Storages: map[string]*model.Storage{"local-lvm": {Name: "local-lvm", Shared: c.shared}},
			Volumes:  model.Volumes{"local-lvm": {{ID: volume, Node: c.node, VMID: 200}}},
		})
		ch := &change{p: p, o: &Object{Owner: v.Owner}, v: v, g: &model.Guest{VMID: 200, Node: "pve1"}}
		if got := ch.strandedDrive("local-lvm"); (got == volume) != c.found {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// Rules of a firewall that are in force come disabled when they come behind others, too.
func TestARuleBehindOthersComesDisabled(t *testing.T) {
	rule := func(port string) model.FirewallRule {
		return model.FirewallRule{Type: "in", Action: "ACCEPT", Protocol: "tcp", DPort: port}
	}
	first, last, between := rule("22"), rule("80"), rule("443")
	edits := ruleEdits([]model.FirewallRule{first, last}, []model.FirewallRule{first, between, last}, true)
	var verbs []string
	for _, e := range edits {
		verbs = append(verbs, fmt.Sprint(e.Verb))
	}
	if len(edits) != 3 || !edits[0].Rule.Disabled || edits[2].Rule.Disabled || edits[2].At != 1 {
		t.Errorf("%v: %+v", verbs, edits)
	}
	alone := ruleEdits(nil, []model.FirewallRule{between}, true)
	if len(alone) != 1 || alone[0].Rule.Disabled {
		t.Errorf("alone: %+v", alone)
	}
}

// Aliases that weren't read aren't missing.
func TestReferencesThatWereNotReadAreNotMissing(t *testing.T) {
	for _, c := range []struct {
		refs  map[string]bool
		waits bool
	}{{nil, false}, {map[string]bool{"office": true}, false}, {map[string]bool{}, true}} {
		var o Object
		newPlanner(model.Desired{}, &model.Observed{}).lacksReference(&o, c.refs, "dc/office")
		if (o.Wait != nil) != c.waits {
			t.Errorf("%v: %+v", c.refs, o.Wait)
		}
	}
}

// What is gone isn't, while a request may still make it.
func TestAnObjectIsNotGoneWhileARequestMayMakeIt(t *testing.T) {
	o := owner("VirtualMachine", "web")
	for _, foresee := range []bool{false, true} {
		p := newPlanner(model.Desired{Foresee: foresee}, &model.Observed{Coming: map[model.Owner]string{o: "clone"}})
		gone := Object{Owner: o, Gone: true}
		p.linger(&gone)
		if gone.Gone != foresee || (gone.Wait == nil) != foresee {
			t.Errorf("foreseen %v: %+v", foresee, gone)
		}
	}
}

// A marker that a pending change takes away counts only if it proves that the guest is ours.
func TestAMarkerThatLeavesHasToBeProved(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	converge(t, w, want)
	g := w.guest("web")
	was := *g.Config
	p := newPlanner(want, w.observe(Look{}))
	for name, c := range map[string]struct {
		now  *model.Config
		lost bool
	}{
		"nothing is pending":             {&model.Config{Marker: was.Marker}, false},
		"its marker goes":                {&model.Config{Running: &was}, true},
		"another marker takes its place": {&model.Config{Marker: &model.Marker{}, Running: &was}, false},
		"the guest runs with none":       {&model.Config{Running: &model.Config{}}, false},
	} {
		if got := p.leavingMarker(&model.Guest{VMID: g.VMID, Config: c.now}); (got != nil) != c.lost {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A pool that has no address left names some of those who have them, not all.
func TestAnExhaustedPoolNamesThreeOfItsUsers(t *testing.T) {
	h := &holdings{by: map[netip.Addr][]model.Holding{}}
	pool := model.AddressPool{Name: "lan", Ranges: []model.AddressRange{{First: netip.MustParseAddr("10.0.0.1"), Last: netip.MustParseAddr("10.0.0.9")}}}
	for i := range 4 {
		h.by[netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})] = []model.Holding{{VMID: 100 + i, Name: fmt.Sprint("user-", i)}}
		said := exhausted(pool, model.IPv4, h)
		if named := strings.Count(said, "user-"); named != min(i+1, 3) || strings.Contains(said, "…") != (i == 3) {
			t.Errorf("with %d users: %s", i+1, said)
		}
	}
}

// Options that only root may set are lacked if they are asked for, not if the source has them and nothing is said.
func TestOnlyAskedForOptionsNeedRoot(t *testing.T) {
	p := newPlanner(model.Desired{}, &model.Observed{})
	source := &model.Config{Options: map[string]string{"args": "-cpu x"}}
	for _, c := range []struct {
		options map[string]string
		lacks   bool
	}{{map[string]string{}, false}, {map[string]string{"args": "-cpu x"}, false}, {map[string]string{"args": "-cpu y"}, true}, {map[string]string{"args": ""}, true}} {
		if got := p.lacksRoot(&Object{}, model.VM{Options: c.options}, source); got != c.lacks {
			t.Errorf("%v: %v", c.options, got)
		}
	}
}

// At most 20 guests are read at a time to learn whether they are clones of a template, and none on nodes that are offline.
func TestSomeGuestsAreReadAtATime(t *testing.T) {
	p := newPlanner(model.Desired{}, &model.Observed{Guests: map[int]*model.Guest{}, Nodes: map[string]*model.Node{"on": {Online: true}, "off": {}}})
	var ids []int
	for i := range 60 {
		id := 100 + i
		p.have.Guests[id] = &model.Guest{VMID: id, Node: []string{"on", "off", "unknown"}[i%3]}
		ids = append(ids, id)
	}
	var o Object
	p.readSome(&o, ids)
	if len(o.Look.Configs) != 20 || slices.ContainsFunc(o.Look.Configs, func(id int) bool { return p.have.Guests[id].Node != "on" }) {
		t.Errorf("%d are read: %v", len(o.Look.Configs), o.Look.Configs)
	}
}

// An empty drive is on no storage, so nobody shares it.
func TestAnEmptyDriveIsNotShared(t *testing.T) {
	p := newPlanner(model.Desired{}, newWorld().observe(Look{}))
	for volume, shared := range map[string]bool{"none": false, "": false, "local-lvm:vm-1-disk-0": false, "nfs:1/vm-1-disk-0.qcow2": true, "gone:vm-1-disk-0": true} {
		if got := p.anyShared(&model.Config{Disks: []model.Disk{{Slot: "ide2", Volume: volume}}}); got != shared {
			t.Errorf("%q is shared: %v", volume, got)
		}
	}
}
