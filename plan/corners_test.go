package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// Conditions of images, copies and first-boot data, each alone: see edges_test.go.

// A disk of a new machine that names no storage goes where the root disk of its source goes.
func TestAFurtherDiskOfACopyIsForeseenBesideItsRoot(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.Disks = append(v.Disks, model.Disk{Slot: "scsi1", Name: "a", Size: 1 << 30}, model.Disk{Slot: "scsi2", Name: "b", Size: 1 << 30, Storage: "local-lvm"})
	g := copyBy(model.Clone{From: model.Target{VMID: 9000, Node: "pve1"}, To: model.Target{VMID: 100, Node: "pve1"}}, w.Guests[9000], v)
	for slot, storage := range map[string]string{"scsi0": "nfs", "scsi1": "nfs", "scsi2": "local-lvm"} {
		if d := disk(g.Config, slot); d == nil || d.Storage != storage {
			t.Errorf("%s: %+v", slot, d)
		}
	}
}

// A conversion that is completed converts the one disk that it names.
func TestACompletedConversionIsForeseenForItsDisk(t *testing.T) {
	g := &model.Guest{VMID: 100, Config: &model.Config{Disks: []model.Disk{
		{Slot: "scsi0", Storage: "nfs", Volume: "nfs:vm-0"}, {Slot: "scsi1", Storage: "nfs", Volume: "nfs:vm-1"}, {Slot: "ide2", Volume: "none", CDROM: true},
	}}}
	for one, converted := range map[string]string{"": "[true true false]", "scsi1": "[false true false]"} {
		then := changedBy(model.MakeTemplate{Disk: one}, g)
		var is []bool
		for _, d := range then.Config.Disks {
			is = append(is, strings.Contains(d.Volume, "base-"))
		}
		if fmt.Sprint(is) != converted || !then.Template || g.Template {
			t.Errorf("%q: %v", one, is)
		}
	}
}

// A guest that was to be a template isn't destroyed on a node that doesn't answer.
func TestAHalfMadeTemplateIsDestroyedWhereItsNodeAnswers(t *testing.T) {
	for node, steps := range map[string]int{"on": 1, "off": 0, "unknown": 0} {
		p := newPlanner(model.Desired{}, &model.Observed{Nodes: map[string]*model.Node{"on": {Online: true}, "off": {}}})
		var o Object
		p.removeHalfMade(&o, &model.Guest{VMID: 100, Node: node, Config: &model.Config{Marker: &model.Marker{}}})
		if len(o.Steps) != steps {
			t.Errorf("%s: %+v", node, o.Steps)
		}
	}
}

// Lists name as many as they have room for, and count the others.
func TestLongListsAreCut(t *testing.T) {
	for n, more := range map[int]bool{1: false, 3: false, 4: true} {
		texts := slices.Repeat([]string{"that"}, n)
		if got := staying(texts); strings.Contains(got, "more") != more || strings.Count(got, "that") != min(n, 3) {
			t.Errorf("%d: %s", n, got)
		}
	}
	if got := (Earlier{}).String(); !strings.Contains(got, "goes when no machine") {
		t.Error(got)
	}
	if got := (Earlier{Linked: []string{"web"}}).String(); !strings.Contains(got, "stays while web is") {
		t.Error(got)
	}
	if got := readyFirst([]string{"web", "web"}); strings.Count(got, "web") != 1 {
		t.Error(got)
	}
}

// The object that a template was made for is found whichever node the template is for.
func TestTheGenerationIsCutWithTheNode(t *testing.T) {
	for uid, of := range map[string]string{"u+aa": "u", "u+aa" + nodeSign + "pve1": "u", "u+bb": ""} {
		if got, ok := cutGeneration(uid, "aa"); ok != (of != "") || ok && got != of {
			t.Errorf("%s: %q, %v", uid, got, ok)
		}
	}
}

// Images of other namespaces, and those that are to go, get no templates here.
func TestLentAndDeletedImagesAreNotSpread(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*model.Image)
		spreads bool
	}{
		"an image":          {func(*model.Image) {}, true},
		"a lent one":        {func(i *model.Image) { i.Lent = true }, false},
		"one that is to go": {func(i *model.Image) { i.Deleted = true }, false},
	} {
		i := fetched("img")
		c.change(&i)
		p := newPlanner(model.Desired{Images: []model.Image{i}}, newWorld().observe(Look{}))
		p.spread[i.Owner.Key] = true
		var look Look
		if got := p.spreads(i, &look); got != c.spreads {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Only a download, or an upload for a packed image, may bring a file.
func TestOnlyDownloadsAndUploadsBringFiles(t *testing.T) {
	i, packed := fetched("img"), fetched("img")
	packed.URL += ".xz"
	file := filePrefix(i) + "x.qcow2"
	for _, c := range []struct {
		image  model.Image
		task   model.Task
		brings bool
	}{
		{i, model.Task{Type: "download", ID: file}, true},
		{i, model.Task{Type: "download", ID: "other"}, false},
		{i, model.Task{Type: "imgdel", ID: file}, false},
		{i, model.Task{Type: "imgcopy"}, false},
		{packed, model.Task{Type: "imgcopy"}, true},
	} {
		p := newPlanner(model.Desired{}, &model.Observed{Tasks: []model.Task{c.task}})
		if got := p.arriving(c.image); (got != nil) != c.brings {
			t.Errorf("%s %s for %s: %+v", c.task.Type, c.task.ID, c.image.URL, got)
		}
	}
}

// What has a step left isn't stuck.
func TestATemplateWithAStepLeftIsNotStuck(t *testing.T) {
	made := Object{Wait: &Wait{Reason: model.WaitUnfit, Text: "no room"}}
	for _, steps := range []int{0, 1} {
		made.Steps = make([]Step, steps)
		var o Object
		newPlanner(model.Desired{}, &model.Observed{}).stuckOn(&o, "pve1", made)
		if (o.Wait != nil) != (steps == 0) {
			t.Errorf("%d steps: %+v", steps, o.Wait)
		}
	}
}

// An image has no template anywhere when those that were to be made failed, not when something couldn't be read.
func TestAnImageIsNowhereWhenItsTemplatesFailed(t *testing.T) {
	i := fetched("img")
	key := i.Copy("pve1").Object().Key
	for name, c := range map[string]struct {
		failure model.Failure
		object  Object
		nowhere bool
	}{
		"a step failed":            {model.Failure{What: "fetch", Text: "403"}, Object{}, true},
		"something wasn't read":    {model.Failure{What: "read", Unread: true}, Object{}, false},
		"it waits for something":   {model.Failure{What: "fetch"}, Object{Wait: &Wait{Reason: model.WaitTask}}, false},
		"something is to be read":  {model.Failure{What: "fetch"}, Object{Look: Look{Files: true}}, false},
		"there is one":             {model.Failure{What: "fetch"}, Object{Templates: make([]model.Template, 1)}, false},
		"there is something to do": {model.Failure{What: "fetch"}, Object{Steps: make([]Step, 1)}, false},
	} {
		w := newWorld()
		w.fails = map[Key]model.Failure{key: c.failure}
		o := c.object
		if got := newPlanner(model.Desired{}, w.observe(Look{})).nowhere(&o, i); got != c.nowhere {
			t.Errorf("%s: %v, %+v", name, got, o.Wait)
		}
	}
}

// A clone that was made a moment ago has no tag of ours, and one of the machine's VMIDs.
func TestAGuestThatWasJustClonedHasNoTags(t *testing.T) {
	v := testVM("web")
	p := newPlanner(desired(v), newWorld().observe(Look{}))
	id := firstCandidate(v)
	for name, c := range map[string]struct {
		g    *model.Guest
		just bool
	}{
		"none":                {nil, false},
		"a clone":             {&model.Guest{VMID: id}, true},
		"a container":         {&model.Guest{VMID: id, Container: true}, false},
		"one that is tagged":  {&model.Guest{VMID: id, Tags: []string{model.Tag}}, false},
		"one of another VMID": {&model.Guest{VMID: 1}, false},
	} {
		if got := p.justCloned(c.g, v); got != c.just {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Machines are spread with those of their own policy and label, each counted once.
func TestOnlyMachinesOfThePolicyAreCountedInAZone(t *testing.T) {
	of := func(name, policy, by string) model.VM {
		v := testVM(name)
		v.Place.Policy, v.Place.SpreadBy = model.Key{Name: policy}, by
		return v
	}
	l := &nodeLoad{labels: map[string][]model.VM{"pve1": {of("web", "p", ""), of("a", "p", ""), of("a", "p", ""), of("b", "other", ""), of("c", "p", "rack")}}}
	if n := l.inZone(of("web", "p", ""), "pve1"); n != 1 {
		t.Errorf("%d others", n)
	}
}

// Anti-affinity is about machines that the policy's own labels are of: both have them.
func TestMachinesClashIfBothAreSelected(t *testing.T) {
	web, db := testVM("web"), testVM("db")
	web.Labels, db.Labels = map[string]string{"app": "web"}, map[string]string{"app": "db"}
	web.Place.AntiAffinity = []model.Selector{{Key: "app", Operator: "In", Values: []string{"web"}}}
	twin := web
	if _, ok := clash(&web, &db, "pve1", "pve1"); ok {
		t.Error("it clashes with a machine that isn't selected")
	}
	if _, ok := clash(&web, &twin, "pve1", "pve1"); !ok {
		t.Error("it doesn't clash with one that is")
	}
}

// What the HA manager looks after it takes away from a node in maintenance by itself.
func TestMaintenanceIsLeftToTheHAManager(t *testing.T) {
	v := testVM("web")
	for _, c := range []struct {
		maintenance bool
		ha          string
		unwelcome   bool
	}{{false, "", false}, {true, "", true}, {true, "started", false}} {
		p := newPlanner(desired(v), &model.Observed{Nodes: map[string]*model.Node{"pve1": {Name: "pve1", Online: true, Maintenance: c.maintenance}}})
		if got := p.unwelcome(v, &model.Guest{VMID: 100, Node: "pve1", HAState: c.ha}); (got != "") != c.unwelcome {
			t.Errorf("%+v: %q", c, got)
		}
	}
	// What people close themselves is closed for those under HA, too.
	v.Place.Facts = map[string]model.NodeFacts{"pve1": {Maintenance: true}}
	p := newPlanner(desired(v), &model.Observed{Nodes: map[string]*model.Node{"pve1": {Name: "pve1", Online: true}}})
	if p.unwelcome(v, &model.Guest{VMID: 100, Node: "pve1", HAState: "started"}) == "" {
		t.Error("a guest under HA stays where people are about to work")
	}
}

// All guests that were passed over on a node are in one sentence.
func TestGuestsThatWerePassedOverAreCounted(t *testing.T) {
	p := newPlanner(model.Desired{}, &model.Observed{Guests: map[int]*model.Guest{100: {VMID: 100, Node: "pve1"}, 101: {VMID: 101, Node: "pve1"}, 102: {VMID: 102, Node: "pve2"}}})
	p.passed = map[int]bool{100: true, 101: true, 102: true}
	p.notePassedOver()
	if len(p.notes) != 2 || !strings.Contains(p.notes[0].Text, "VM 100 and 1 more") || strings.Contains(p.notes[1].Text, "more") {
		t.Errorf("%+v", p.notes)
	}
}

// Only the tags of guests that can't be read decide whose they are.
func TestTagsDecideOnlyOnNodesThatAreOffline(t *testing.T) {
	mine, theirs := owner("VirtualMachine", "web"), owner("VirtualMachine", "web")
	theirs.Set = "theirs"
	for _, c := range []struct {
		node  string
		tag   string
		other bool
	}{{"off", model.SetTag(theirs), true}, {"off", model.SetTag(mine), false}, {"on", model.SetTag(theirs), false}, {"off", "", false}} {
		g := &model.Guest{VMID: 100, Node: c.node}
		if c.tag != "" {
			g.Tags = []string{c.tag}
		}
		p := newPlanner(model.Desired{}, &model.Observed{Guests: map[int]*model.Guest{100: g}, Nodes: map[string]*model.Node{"on": {Online: true}, "off": {}}})
		if got := p.otherSet(g, mine); got != c.other {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// First-boot data that were read once are kept under their name, if it is known, and dropped ones aren't kept.
func TestOnlyNamedDataAreKept(t *testing.T) {
	const old = "nfs:iso/" + model.SeedFiles + "100-0123456789ab.iso"
	mark := seedPrefix + "aaaaaaaaaaaaaaaa"
	for name, c := range map[string]struct {
		once, dropped bool
		volume        string
		managed       []string
		keeps         bool // the seed that is kept
		wants         bool // a seed is still wanted
	}{
		"read once":                     {true, false, old, []string{mark}, true, true},
		"under a name that isn't known": {true, false, "", []string{mark}, false, false},
		"which nothing marks":           {true, false, old, nil, false, false},
		"dropped":                       {true, true, old, []string{mark}, false, true},
		"read at each start":            {false, false, old, []string{mark}, false, true},
	} {
		v := testVM("web")
		v.Seed = &model.Seed{Storage: "nfs", Digest: "bbbbbbbbbbbbbbbb", Once: c.once, Dropped: c.dropped}
		ch := &change{v: v, g: &model.Guest{VMID: 100}, have: &model.Config{Options: map[string]string{}, Marker: &model.Marker{Seed: c.volume, Managed: c.managed}}}
		ch.keepSeed()
		if (ch.v.Seed != nil) != c.wants || c.wants && (ch.v.Seed.Volume(100) == old) != c.keeps {
			t.Errorf("%s: %+v", name, ch.v.Seed)
		}
	}
}

// No volume is nobody's first-boot data.
func TestNoVolumeIsNotOurSeed(t *testing.T) {
	c := &change{have: &model.Config{Marker: &model.Marker{Old: []string{"nfs:iso/old.iso"}}}}
	for volume, ours := range map[string]bool{"": false, "nfs:iso/old.iso": true, "nfs:iso/new.iso": false} {
		if got := c.ourSeed(volume); got != ours {
			t.Errorf("%q: %v", volume, got)
		}
	}
}

// Nobody has refused when nobody was asked: that passes by itself.
func TestNoRefusalIsNotForGood(t *testing.T) {
	for _, c := range []struct {
		list refusals
		want model.Reason
	}{
		{nil, model.WaitPlace},
		{refusals{{unfit: never("too small")}}, model.WaitUnfit},
		{refusals{{unfit: never("too small")}, {unfit: now("full")}}, model.WaitPlace},
	} {
		if got := c.list.kind(); got != c.want {
			t.Errorf("%+v: %s", c.list, got)
		}
	}
}

// What isn't known boots from the first SCSI disk.
func TestTheRootSlotOfAnUnknownSource(t *testing.T) {
	config := &model.Config{Options: map[string]string{"boot": "order=virtio0"}, Disks: []model.Disk{{Slot: "virtio0", Volume: "nfs:x"}}}
	for name, c := range map[string]struct {
		s    *source
		want string
	}{"none": {nil, "scsi0"}, "one that wasn't read": {&source{guest: &model.Guest{}}, "scsi0"}, "one that was": {&source{guest: &model.Guest{Config: config}}, "virtio0"}} {
		if got := c.s.rootSlot(); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A copy of a template is a full one if it goes to another storage.
func TestACopyToAnotherStorageIsAFullOne(t *testing.T) {
	w := newWorld()
	for storage, full := range map[string]bool{"": false, "nfs": false, "local-lvm": true} {
		v := testVM("web")
		v.Source.Storage = storage
		if got := newPlanner(desired(v), w.observe(Look{Configs: []int{9000}})).copiedFull(v, w.Guests[9000]); got != full {
			t.Errorf("to %q: %v", storage, got)
		}
	}
}

// A machine may be the copy of a snapshot only if something declares the machine that has it.
func TestACopyOfAnUndeclaredSnapshotWaits(t *testing.T) {
	for _, snapshot := range []string{"before", ""} {
		v := testVM("web")
		v.Source.Copy, v.Source.Snapshot = true, snapshot
		_, _, wait, _ := newPlanner(desired(v), newWorld().observe(Look{Configs: []int{9000}})).sources(v)
		if (wait != nil) != (snapshot != "") {
			t.Errorf("%q: %+v", snapshot, wait)
		}
	}
}

// A snapshot of a machine by its VMID is of the machine that is declared, if its owner is.
func TestASnapshotByVMIDIsOfTheDeclaredMachine(t *testing.T) {
	v := testVM("web")
	v.Options["cores"] = "7"
	for _, same := range []bool{true, false} {
		has := v.Owner
		if !same {
			has.UID = "earlier"
		}
		p := newPlanner(desired(v), &model.Observed{Guests: map[int]*model.Guest{200: {VMID: 200, Config: &model.Config{Marker: &model.Marker{Owner: has}}}}})
		s := testSnapshot("snap")
		s.VM, s.VMID = model.Key{}, 200
		var o Object
		got, ok := p.machineOf(&o, s)
		if !ok || (got.Options["cores"] == "7") != same || got.Owner != has {
			t.Errorf("the same owner %v: %v, %+v", same, ok, got)
		}
	}
}

// Only a template of the name that an image stands for can be one that the image leaves out.
func TestOnlyTemplatesOfTheNameAreExcluded(t *testing.T) {
	i := model.Image{Template: "debian", Pin: model.Pin{Nodes: []string{"pve1"}}}
	for name, c := range map[string]struct {
		i    model.Image
		g    *model.Guest
		want bool
	}{
		"on another node":      {i, &model.Guest{Template: true, Name: "debian", Node: "pve2"}, true},
		"selected":             {i, &model.Guest{Template: true, Name: "debian", Node: "pve1"}, false},
		"no template":          {i, &model.Guest{Name: "debian", Node: "pve2"}, false},
		"another name":         {i, &model.Guest{Template: true, Name: "other", Node: "pve2"}, false},
		"an image without one": {model.Image{Pin: i.Pin}, &model.Guest{Template: true, Node: "pve2"}, false},
	} {
		if got := excluded(c.i, c.g); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// That copies are to be full is noted for a linked clone that is there, not for one that is just made.
func TestOnlyAnOldLinkedCloneIsNoted(t *testing.T) {
	for name, c := range map[string]struct {
		full, fresh bool
		volume      string
		notes       int
	}{
		"a linked clone":          {true, false, "nfs:9000/base-9000-disk-0.qcow2/100/vm-100-disk-0.qcow2", 1},
		"one that is just made":   {true, true, "nfs:9000/base-9000-disk-0.qcow2/100/vm-100-disk-0.qcow2", 0},
		"a full clone":            {true, false, "nfs:100/vm-100-disk-0.qcow2", 0},
		"linked ones are as well": {false, false, "nfs:9000/base-9000-disk-0.qcow2/100/vm-100-disk-0.qcow2", 0},
	} {
		v := testVM("web")
		v.Source.Full = c.full
		p := newPlanner(desired(v), newWorld().observe(Look{}))
		ch := &change{p: p, o: &Object{}, v: v, g: &model.Guest{VMID: 100}, have: &model.Config{
			Options: map[string]string{"boot": "order=scsi0"}, Marker: &model.Marker{Fresh: c.fresh}, Disks: []model.Disk{{Slot: "scsi0", Volume: c.volume}},
		}}
		ch.noteMade()
		if len(ch.o.Notes) != c.notes {
			t.Errorf("%s: %+v", name, ch.o.Notes)
		}
	}
}
