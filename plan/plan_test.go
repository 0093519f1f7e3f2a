package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

var testAddress = netip.MustParsePrefix("192.168.77.50/24")

func owner(kind, name string) model.Owner {
	return model.Owner{Door: "vm", Set: "default", Key: model.Key{Kind: kind, Name: name}}
}

var testImage = model.Image{Owner: owner("VMImage", "ubuntu-22"), Template: "ubuntu-22-template", Range: model.Range{First: 6000, Last: 6999}}

func testVM(name string) model.VM {
	return model.VM{
		Owner: owner("VirtualMachine", name), Name: name, Range: model.Range{First: 5000, Last: 5999},
		Source:  model.Source{Image: testImage.Owner.Key},
		Options: map[string]string{"cores": "4", "memory": "4096"},
		Disks:   []model.Disk{{Slot: model.RootSlot, Name: "root", Size: 40 << 30}},
		NICs:    []model.NIC{{Slot: "net0", Name: "lan", Model: "virtio", MAC: "02:00:00:AA:BB:CC", Bridge: "vmbr0"}},
		Power:   model.PowerOn, WaitAddress: true,
	}
}

func desired(vms ...model.VM) model.Desired {
	other := testImage
	other.Owner.Name = "other"
	return model.Desired{Set: "default", Range: model.Range{First: 5000, Last: 5999}, VMs: vms, Images: []model.Image{testImage, other}}
}

// converge does the next steps of all objects until nothing is left to do.
func converge(t interface {
	Helper()
	Fatalf(string, ...any)
}, w *world, want model.Desired) Plan {
	t.Helper()
	w.trace(t)
	for range 60 {
		p := w.plan(want)
		if list := unsaid(p); len(list) > 0 {
			t.Fatalf("%s", strings.Join(list, "\n"))
		}
		did := false
		for _, o := range p.Objects {
			for _, s := range o.Next() {
				w.Do(s.Action)
				did = true
			}
		}
		if !did {
			return p
		}
	}
	t.Fatalf("no end after 60 turns; the last plan:\n%s", w.plan(want))
	return Plan{}
}

func TestAConvergedGuestGivesAnEmptyPlan(t *testing.T) {
	w := newWorld()
	want := desired(testVM("web"))
	if p := converge(t, w, want); !p.Ready() {
		t.Fatalf("not up to date:\n%s", p)
	}
	// The list of guests alone is enough to see it, for who is in a hurry.
	want.Quick = true
	p := For(want, w.observe(Look{}))
	if !p.Ready() || !p.Look().Empty() {
		t.Errorf("a look at the list isn't enough:\n%s", p)
	}
	if got := strings.Join(w.Log, " "); strings.Count(got, "Clone") != 1 {
		t.Errorf("actions: %s", got)
	}
}

func TestForeignGuestsAreNeverTouched(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	first := 0
	for id := range v.Owner.Candidates(v.Range) {
		first = id
		break
	}
	w.template(first, "somebody-elses", "pve2", "nfs")
	w.Guests[first].Template = false
	before := fmt.Sprint(*w.Guests[first], *w.Guests[first].Config)
	if p := converge(t, w, desired(v)); !p.Ready() {
		t.Fatalf("not up to date:\n%s", p)
	}
	if fmt.Sprint(*w.Guests[first], *w.Guests[first].Config) != before {
		t.Error("the foreign guest was changed")
	}
	v.Deleted = true
	converge(t, w, desired(v))
	if w.Guests[first] == nil || len(w.Guests) != 2 {
		t.Errorf("after the deletion there are %d guests", len(w.Guests))
	}
	fixed := testVM("db")
	fixed.VMID = first
	p := converge(t, w, desired(fixed))
	if o := p.Objects[2]; o.Wait == nil || o.Wait.Reason != model.WaitForeign {
		t.Errorf("a VMID that is taken:\n%s", p)
	}
	fixed.Deleted = true
	converge(t, w, desired(fixed))
	if w.Guests[first] == nil {
		t.Error("a foreign guest under our VMID was destroyed")
	}
}

func TestEffectsThatHurtAreRefusedUntilAllowed(t *testing.T) {
	for _, c := range []struct {
		reason  string
		change  func(*model.VM)
		allow   model.Allow
		refused string
	}{
		{"more cores need a restart", func(v *model.VM) { v.Options["cores"] = "8" }, model.Allow{Restart: true}, "restart VM"},
		{"another image means another guest", func(v *model.VM) { v.Source.Image.Name = "other" }, model.Allow{Replace: true}, "replace VM"},
		{"a disk that goes loses data", func(v *model.VM) { v.Disks = v.Disks[:1] }, model.Allow{Data: true}, "remove scsi1"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld()
			v := testVM("web")
			v.Disks = append(v.Disks, model.Disk{Slot: "scsi1", Name: "data", Size: 10 << 30, Storage: "nfs"})
			converge(t, w, desired(v))
			c.change(&v)
			p := converge(t, w, desired(v))
			if len(p.Objects[2].Refused) != 1 || !strings.HasPrefix(p.Objects[2].Refused[0].What, c.refused) || p.Objects[2].Refused[0].Allow == "" {
				t.Fatalf("want a refusal of %q:\n%s", c.refused, p)
			}
			v.Update = c.allow
			if p := converge(t, w, desired(v)); !p.Ready() {
				t.Errorf("allowed, and yet:\n%s", p)
			}
		})
	}
}

// Proxmox removes no disk that a snapshot has, and fails every further change of the config once it was asked to.
func TestADiskThatSnapshotsHaveStays(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.Disks = append(v.Disks, model.Disk{Slot: "scsi1", Name: "data", Size: 10 << 30, Storage: "nfs"})
	id := converge(t, w, desired(v)).Objects[2].VMID
	w.Guests[id].Snapshots = []model.SnapshotInfo{{Name: "before"}}
	v.Disks, v.Update, v.Tags = v.Disks[:1], model.Allow{Data: true}, append(v.Tags, "new")
	p := converge(t, w, desired(v))
	if o := p.Objects[2]; len(o.Refused) != 1 || o.Refused[0].What != "remove scsi1" || !strings.Contains(o.Refused[0].Why, "delete before first") {
		t.Fatalf("want a refusal that names the snapshot:\n%s", p)
	}
	if _, there := w.Guests[id].Config.DiskAt("scsi1"); !there {
		t.Error("the disk was removed")
	}
	if !slices.Contains(w.Guests[id].Config.Tags, "new") {
		t.Errorf("the rest wasn't done: %v", w.Guests[id].Config.Tags)
	}
	w.Guests[id].Snapshots = []model.SnapshotInfo{}
	converge(t, w, desired(v))
	if _, there := w.Guests[id].Config.DiskAt("scsi1"); there {
		t.Error("the disk stays when the snapshot has gone")
	}
}

func TestShrinkingADiskIsRefusedWhateverIsAllowed(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	converge(t, w, desired(v))
	v.Disks[0].Size = 20 << 30
	v.Update = model.Allow{Restart: true, Replace: true, Data: true}
	p := converge(t, w, desired(v))
	if len(p.Objects[2].Refused) != 1 || !strings.Contains(p.Objects[2].Refused[0].Why, "40 GiB → 20 GiB") {
		t.Errorf("want a refusal:\n%s", p)
	}
}

func TestDisksAreKnownByTheirSerialNumber(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	for i, name := range []string{"logs", "data", "media"} {
		v.Disks = append(v.Disks, model.Disk{Slot: fmt.Sprintf("scsi%d", i+1), Name: name, Size: 10 << 30, Storage: "nfs", Options: map[string]string{"serial": name}})
	}
	id := converge(t, w, desired(v)).Objects[2].VMID
	before := map[string]string{}
	for _, d := range w.Guests[id].Config.Disks {
		before[d.Options["serial"]] = d.Volume
	}
	// The first of three goes; the manifest's slots move up.
	v.Disks = slices.Delete(slices.Clone(v.Disks), 1, 2)
	v.Disks[1].Slot, v.Disks[2].Slot = "scsi1", "scsi2"
	v.Update.Data = true
	if p := converge(t, w, desired(v)); !p.Ready() {
		t.Fatalf("plan:\n%s", p)
	}
	left := map[string]string{}
	for _, d := range w.Guests[id].Config.Disks {
		left[d.Options["serial"]] = d.Volume
	}
	if len(left) != 3 || left["data"] != before["data"] || left["media"] != before["media"] {
		t.Errorf("left %v of %v", left, before)
	}
}

func TestPinnedMachineVersionsAreNoChange(t *testing.T) {
	w := newWorld()
	v := testVM("win")
	v.Options["machine"] = "q35"
	id := converge(t, w, desired(v)).Objects[2].VMID
	w.Guests[id].Config.Options["machine"] = "pc-q35-9.2+pve1"
	have := w.observe(Look{Configs: []int{id, 9000}})
	if o := For(desired(v), have).Objects[2]; len(o.Steps) > 0 {
		t.Errorf("plan:\n%s", o)
	}
}

func TestFirstBootDataCanMoveToProxmoxOwnOptions(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"}
	id := converge(t, w, desired(v)).Objects[2].VMID
	v.Seed = nil
	v.Options["ciuser"] = "admin"
	if p := converge(t, w, desired(v)); !p.Ready() || len(w.Files) != 0 {
		t.Fatalf("files %v, plan:\n%s", w.Files, p)
	}
	drives := 0
	for _, d := range w.Guests[id].Config.Disks {
		if d.CDROM {
			drives++
			if !d.CloudInit {
				t.Errorf("the old drive is still there: %+v", d)
			}
		}
	}
	if drives != 1 {
		t.Errorf("%d CD-ROM drives", drives)
	}
}

func TestATagChangeIsLive(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	converge(t, w, desired(v))
	v.Tags = []string{"prod"}
	p := w.plan(desired(v))
	if len(p.Objects[2].Steps) != 1 || p.Objects[2].Steps[0].Effect != Live {
		t.Errorf("plan:\n%s", p)
	}
	w.Guests[p.Objects[2].VMID].Config.Tags = append(w.Guests[p.Objects[2].VMID].Config.Tags, "by-hand")
	converge(t, w, desired(v))
	if tags := w.Guests[p.Objects[2].VMID].Tags; !slices.Contains(tags, "prod") || !slices.Contains(tags, "by-hand") {
		t.Errorf("tags %v", tags)
	}
}

func TestLocksAndTasksAreWaitedFor(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	p := converge(t, w, desired(v))
	id := p.Objects[2].VMID
	v.Options["cores"] = "6"
	w.Guests[id].Lock = "backup"
	if o := w.plan(desired(v)).Objects[2]; o.Wait == nil || o.Wait.Reason != model.WaitLock || len(o.Steps) > 0 {
		t.Errorf("a locked guest:\n%s", o)
	}
	w.Guests[id].Lock = ""
	have := w.observe(Look{Configs: []int{id, 9000}})
	have.Tasks = []model.Task{{UPID: "UPID:x", Type: "vzdump", VMID: id}}
	if o := For(desired(v), have).Objects[2]; o.Wait == nil || o.Wait.Task != "UPID:x" {
		t.Errorf("a guest with a task:\n%s", o)
	}
}

func TestImagesFromAURLAreMadeOnceAndReplacedInOrder(t *testing.T) {
	w := newWorld()
	img := model.Image{
		Owner: owner("VMImage", "cloud"), URL: "http://images/cloud.qcow2", Checksum: "aa", ChecksumAlgorithm: "sha256",
		Storage: "nfs", Options: map[string]string{"boot": "order=scsi0"}, Range: model.Range{First: 6000, Last: 6999},
	}
	v := testVM("web")
	v.Source = model.Source{Image: img.Owner.Key}
	v.Disks = nil
	want := model.Desired{Set: "default", Images: []model.Image{img}, VMs: []model.VM{v}}
	if p := converge(t, w, want); !p.Ready() || len(w.Files) > 0 {
		t.Fatalf("files %v, plan:\n%s", w.Files, p)
	}
	guests := len(w.Guests)
	img.Checksum = "bb"
	want.Images = []model.Image{img}
	converge(t, w, want)
	if len(w.Guests) != guests+1 {
		t.Errorf("%d guests: the old template must stay while a guest is its linked clone, beside the new one", len(w.Guests))
	}
}

func TestSeedsComeAndGoWithTheGuest(t *testing.T) {
	w := newWorld()
	v := testVM("web")
	v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"}
	if p := converge(t, w, desired(v)); !p.Ready() || len(w.Files) != 1 {
		t.Fatalf("files %v, plan:\n%s", w.Files, p)
	}
	v.Seed = &model.Seed{Storage: "nfs", Digest: "bbbbbbbbbbbbbbbb"}
	if p := converge(t, w, desired(v)); !p.Ready() || len(w.Files) != 1 {
		t.Fatalf("after a change: files %v, plan:\n%s", w.Files, p)
	}
	v.Deleted = true
	if converge(t, w, desired(v)); len(w.Files) != 0 || len(w.Guests) != 1 {
		t.Errorf("left behind: %v, %d guests", w.Files, len(w.Guests))
	}
}

func TestPruneRemovesOnlyWhatTheSetMade(t *testing.T) {
	w := newWorld()
	other := testVM("other")
	other.Owner.Set = "another"
	converge(t, w, model.Desired{Set: "another", VMs: []model.VM{other}, Images: []model.Image{testImage}})
	converge(t, w, desired(testVM("a"), testVM("b")))
	want := desired(testVM("a"))
	want.Prune = true
	converge(t, w, want)
	var names []string
	for _, g := range w.Guests {
		names = append(names, g.Name)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "a other ubuntu-22-template" {
		t.Errorf("left: %s", got)
	}
}

func TestPlacementKeepsTheRules(t *testing.T) {
	w := newWorld()
	var vms []model.VM
	for i := range 3 {
		v := testVM(fmt.Sprintf("db-%d", i))
		v.Labels = map[string]string{"vm.type": "database"}
		v.Place.AntiAffinity = []model.Selector{{Key: "vm.type", Operator: "In", Values: []string{"database"}}}
		vms = append(vms, v)
	}
	p := w.plan(desired(vms...))
	nodes := map[string]bool{}
	for _, o := range p.Objects[2:] {
		nodes[o.Node] = true
	}
	if len(nodes) != 3 {
		t.Errorf("three that avoid each other are on %v:\n%s", nodes, p)
	}
	fourth := testVM("db-4")
	fourth.Labels, fourth.Place = vms[0].Labels, vms[0].Place
	p = w.plan(desired(append(vms, fourth)...))
	if o := p.Objects[5]; o.Wait == nil || o.Wait.Reason != model.WaitPlace || !strings.Contains(o.Wait.Text, "anti-affinity") {
		t.Errorf("the fourth:\n%s", o)
	}
	big := testVM("big")
	big.Options["memory"] = "200000"
	if o := w.plan(desired(big)).Objects[2]; o.Wait == nil || !strings.Contains(o.Wait.Text, "memory") {
		t.Errorf("too big:\n%s", o)
	}
}

func TestGuestsUnderHAAreKeptApartByARule(t *testing.T) {
	w := newWorld()
	var vms []model.VM
	for i := range 3 {
		v := testVM(fmt.Sprintf("db-%d", i))
		v.HA, v.Labels = &model.HA{}, map[string]string{"vm.type": "database"}
		v.Place.AntiAffinity = []model.Selector{{Key: "vm.type", Operator: "In", Values: []string{"database"}}}
		vms = append(vms, v)
	}
	if p := converge(t, w, desired(vms...)); !p.Ready() {
		t.Fatalf("plan:\n%s", p)
	}
	if len(w.Rules) != 1 {
		t.Fatalf("rules: %v", w.Rules)
	}
	for name, sids := range w.Rules {
		if len(sids) != 3 {
			t.Errorf("rule %s is about %v", name, sids)
		}
	}
}
