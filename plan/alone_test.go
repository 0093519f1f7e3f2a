package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// What follows are conditions that stories reach only together with others: each is here alone.

// An object that others only look at is planned when it is asked for itself: its part grows.
func TestAPartGrowsByWhatItHasOnlySeen(t *testing.T) {
	want := desired(testVM("web"))
	p := NewWanted(want).part()
	key := want.VMs[0].Owner.Key
	p.see(key)
	if p.grown || !p.want.Seen[key] {
		t.Fatalf("a look has it planned: %+v", p)
	}
	if p.add(key); !p.grown || p.want.Seen[key] {
		t.Errorf("it is still only looked at: %+v", p)
	}
}

// A disk isn't the drive for first-boot data, whatever is on it.
func TestFirstBootDataGoIntoNoDisk(t *testing.T) {
	disk := model.Disk{Slot: "scsi3", Volume: "nfs:iso/" + model.SeedFiles + "100-0123456789ab.iso"}
	drive := disk
	drive.Slot, drive.CDROM = "sata0", true
	v := testVM("web")
	v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"}
	c := &change{v: v, g: &model.Guest{VMID: 200}, have: &model.Config{Options: map[string]string{}, Marker: &model.Marker{}, Disks: []model.Disk{disk, drive}}}
	if slot := c.findDrive(); slot != drive.Slot {
		t.Errorf("they go into %s", slot)
	}
}

// Nobody knows what a copy has whose source wasn't read.
func TestACopyOfWhatIsNotKnownIsNotForeseen(t *testing.T) {
	a := model.Clone{From: model.Target{VMID: 9000, Node: "pve1"}, To: model.Target{VMID: 100, Node: "pve1"}}
	for _, from := range []*model.Guest{nil, {VMID: 9000}} {
		if g := copyBy(a, from, testVM("web")); g != nil {
			t.Errorf("from %+v it is %+v", from, g)
		}
	}
}

// The fingerprint of a guest is the one that follows from what is wanted, under whichever name its
// first-boot data are kept.
func TestTheFingerprintHasNoNamesOfKeptFiles(t *testing.T) {
	for _, hook := range []bool{true, false} {
		v := testVM("web")
		v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa", Apart: hook}
		if hook {
			v.Hook = model.Text{{Own: model.OwnSeed}}
		}
		kept := v
		seed, _ := v.Seed.At("nfs:iso/" + model.SeedFiles + "100-0123456789ab.iso")
		kept.Seed = &seed
		c := &change{v: kept.At(100), g: &model.Guest{VMID: 100}}
		if got, want := c.canonical().Fingerprint(), v.At(100).Fingerprint(); got != want {
			t.Errorf("with the hook %v: %s, not %s", hook, got, want)
		}
	}
}

// A CPU count of 0 is none.
func TestNoVirtualCPUsAreNotSaid(t *testing.T) {
	for _, c := range []struct {
		options map[string]string
		want    int
	}{
		{map[string]string{"vcpus": "0", "cores": "4"}, 4},
		{map[string]string{"vcpus": "3", "cores": "4"}, 3},
	} {
		if got := model.CPUsOf(c.options); got != c.want {
			t.Errorf("%v: %d", c.options, got)
		}
	}
}

// The list of guests is enough to see that a guest is in its rule of HA's.
func TestAGuestInItsRuleIsSeenByLists(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.HA, v.Labels = &model.HA{}, map[string]string{"app": "web"}
	v.Place.AntiAffinity = []model.Selector{{Key: "app", Operator: "In", Values: []string{"web"}}}
	other := v
	other.Owner.Name, other.Name = "other", "other"
	want := desired(v, other)
	converge(t, w, want)
	want.Quick = true
	g := w.guest("web")
	in := For(want, w.observe(Look{HA: true}))
	if o := in.object(t, "web"); slices.Contains(o.Look.Configs, g.VMID) {
		t.Errorf("its config is to be read: %+v", o)
	}
	w.Rules = map[string][]string{}
	out := For(want, w.observe(Look{HA: true}))
	if o := out.object(t, "web"); !slices.Contains(o.Look.Configs, g.VMID) {
		t.Errorf("that it is in no rule isn't noticed: %+v", o)
	}
}

// A quick plan reads no configs, but for what is to go.
func TestAQuickPlanReadsWhatIsToGo(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	converge(t, w, want)
	want.Quick, want.VMs[0].Deleted = true, true
	o := For(want, w.observe(Look{})).object(t, "web")
	if !slices.Contains(o.Look.Configs, w.guest("web").VMID) || len(o.Steps) > 0 {
		t.Errorf("%+v", o)
	}
}

// A container under one of our VMIDs isn't asked whether it runs.
func TestContainersAreNotAskedForTheirPower(t *testing.T) {
	p := &planner{have: &model.Observed{Guests: map[int]*model.Guest{
		100: {VMID: 100, StalePower: true}, 101: {VMID: 101, StalePower: true, Container: true}, 102: {VMID: 102, StalePower: true, Template: true},
	}}}
	if got := p.stale([]int{100, 101, 102, 103}); !slices.Equal(got, []int{100}) {
		t.Errorf("asked are %v", got)
	}
}

// A detached volume that may be the root disk is named, rather than a new disk made.
func TestARootDiskThatWasThereIsNotMadeAnew(t *testing.T) {
	for slot, was := range map[string]bool{model.RootSlot: true, "efidisk0": true, "scsi5": false} {
		c := &change{have: &model.Config{Marker: &model.Marker{}}}
		if got := c.wasThere(model.Disk{Slot: slot, Name: "some"}); got != was {
			t.Errorf("%s was there: %v", slot, got)
		}
	}
}

// What is wanted as snippets is there when the config names just these.
func TestSnippetsAreThereWhenTheConfigNamesThem(t *testing.T) {
	v := testVM("web")
	v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa", Snippets: []string{"user"}}
	v.Options[snippetsOption] = "user=nfs:snippets/a-user.yaml"
	for said, want := range map[string]bool{v.Options[snippetsOption]: true, "user=nfs:snippets/b-user.yaml": false, "": false} {
		c := &change{v: v, g: &model.Guest{VMID: 100}, have: &model.Config{Options: map[string]string{snippetsOption: said}, Marker: &model.Marker{}}}
		if got := c.attached(); got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
}

// A guest that has read its data once keeps them under the name that they are kept under.
func TestDataThatWereReadOnceKeepTheirName(t *testing.T) {
	v := testVM("web")
	v.Seed = &model.Seed{Storage: "nfs", Digest: "bbbbbbbbbbbbbbbb", Once: true}
	old := "nfs:iso/" + model.SeedFiles + "100-0123456789ab.iso"
	c := &change{v: v, g: &model.Guest{VMID: 100}, have: &model.Config{Options: map[string]string{}, Marker: &model.Marker{Seed: old, Managed: []string{seedPrefix + "aaaaaaaaaaaaaaaa"}}}}
	c.keepSeed()
	if got := c.v.Seed.Volume(100); got != old {
		t.Errorf("they are looked for in %s", got)
	}
}

// A mapping that another machine of the manifests shares is wanted, one of another name isn't.
func TestOnlyTheMappingOfThatNameIsWanted(t *testing.T) {
	gone := testShare("gone", "/srv/gone")
	gone.Deleted = true
	p := &planner{want: model.Desired{Shares: []model.Share{testShare("data", "/srv/data"), gone}}}
	for name, want := range map[string]bool{"data": true, "gone": false, "other": false} {
		if got := p.sharesWanted(name); got != want {
			t.Errorf("%s is wanted: %v", name, got)
		}
	}
}

// A machine that is off and whose node lacks its hookscript waits for that.
func TestAGuestThatIsOffWaitsForItsHook(t *testing.T) {
	w := wishWorld()
	v := testVM("web")
	want := desired(v)
	converge(quiet{t}, w, want)
	want.VMs[0].Scripts = []string{"nfs:snippets/" + hookScript}
	w.guest("web").Status = model.StatusStopped
	w.seeing(func(o *model.Observed) { o.Snippets = map[string]model.File{} })
	o := w.planAll(want).object(t, "web")
	if o.Wait == nil || o.Wait.Reason != model.WaitHost || !strings.Contains(o.Wait.Text, "pve1") || len(o.Steps) > 0 {
		t.Errorf("%+v", o)
	}
}

// A disk that is plugged in again undoes a removal only if the running guest still has just that volume.
func TestAnotherVolumeUndoesNoRemoval(t *testing.T) {
	for running, undone := range map[string]bool{"nfs:mine": true, "nfs:other": false} {
		g := &model.Guest{VMID: 100, Node: "pve1", Status: model.StatusRunning}
		have := &model.Config{
			Options: map[string]string{}, Marker: &model.Marker{}, Pending: map[string]*string{"scsi1": nil},
			Running: &model.Config{Disks: []model.Disk{{Slot: "scsi1", Volume: running}}},
		}
		d := model.Disk{Slot: "scsi1", Name: "data"}
		c := &change{g: g, have: have, volume: map[string]string{diskName(d): "nfs:mine"}}
		c.attach(&model.Configure{Set: map[string]string{}}, d, d.Slot)
		if c.undone["scsi1"] != undone {
			t.Errorf("the guest has %s: undone %v", running, c.undone)
		}
	}
}

// An earlier template stays while a machine may be a linked clone of it, also one whose config wasn't read.
func TestATemplateStaysWhileItsClonesAreNotKnown(t *testing.T) {
	w := newWorld()
	image := model.Image{
		Owner: owner("VMImage", "cloud"), URL: "http://images/cloud.qcow2", Checksum: "aa", ChecksumAlgorithm: "sha256",
		Storage: "nfs", Range: model.Range{First: 6000, Last: 6999},
	}
	want := desired(testVM("web"), testVM("other"))
	want.Images = []model.Image{image}
	for i := range want.VMs {
		want.VMs[i].Source.Image = image.Owner.Key
	}
	converge(t, w, want)
	want.Images[0].Checksum = "bb"
	converge(t, w, want)
	var templates []int
	for id, g := range w.Guests {
		if g.Template {
			templates = append(templates, id)
		}
	}
	both := []int{w.guest("web").VMID, w.guest("other").VMID}
	for _, read := range [][]int{both, both[:1], nil} {
		have := w.observe(Look{Files: true, Configs: slices.Concat(templates, read)})
		var o Object
		newPlanner(want, have).removeOld(&o, want.Images[0])
		if len(o.Steps) > 0 || len(o.Earlier) != 1 {
			t.Errorf("with the configs of %v read: %+v", read, o)
		}
	}
}
