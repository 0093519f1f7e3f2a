package plan

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// Single conditions about nodes, storages and images, which whole plans rarely meet: see edges_test.go and corners_test.go.

func planned(have *model.Observed) *planner { return newPlanner(model.Desired{}, have) }

// What isn't in the cluster, or doesn't answer, gets nothing and gives nothing.
func TestUnknownNodesAndStoragesAreRefused(t *testing.T) {
	nodes := map[string]*model.Node{"on": {Online: true}, "off": {}}
	p := planned(&model.Observed{Nodes: nodes, Storages: map[string]*model.Storage{
		"nfs":   {Name: "nfs", Type: "nfs", Shared: true, OnNode: map[string]model.Room{"on": {Total: 10, Used: 4}, "new": {}}},
		"local": {Name: "local", Type: "dir", OnNode: map[string]model.Room{"on": {Total: 10}}},
		"thick": {Name: "thick", Type: "lvm", OnNode: map[string]model.Room{"on": {Total: 100, Used: 40}, "new": {}}},
	}})
	var look Look
	for _, from := range []string{"on", "off", "unknown"} {
		template := &model.Guest{VMID: 9000, Node: from, Template: true, Lock: "backup", Config: &model.Config{}}
		for _, to := range []string{"on", "off", "unknown"} {
			why := p.copySite(template, to, &look)
			if to != "on" && why.reason != "offline" || to == "on" && from != "on" && !strings.Contains(why.reason, "which has template 9000, is offline") || to == "on" && from == "on" && !strings.Contains(why.reason, "is locked") {
				t.Errorf("from %s to %s: %q", from, to, why.reason)
			}
		}
	}
	for _, node := range []string{"off", "unknown"} {
		if _, why := p.imageSite(fetched("img"), node, &look); why.reason != "offline" {
			t.Errorf("a fetched image on node %s: %q", node, why.reason)
		}
	}
	for storage, is := range map[string]bool{"": true, "nfs": true, "local": false, "unknown": false} {
		if p.everywhere(storage) != is {
			t.Errorf("storage %q is everywhere: %t", storage, !is)
		}
	}
	for storage, free := range map[string]int64{"nfs": 6, "unknown": 0} {
		if got := p.freeOn(storage, "on"); got != free {
			t.Errorf("storage %s has %d free", storage, got)
		}
	}
	if got := p.freeOn("nfs", "new"); got != 0 {
		t.Errorf("%d are free where no figure is known", got)
	}
	if text := tooManyCPUs(4, nil); text != "" {
		t.Error(text)
	}
	if n := cpusFrom(model.VM{Options: map[string]string{"cores": "4"}}, &source{guest: &model.Guest{}}); n != 4 {
		t.Errorf("%d CPUs of a guest whose source wasn't read", n)
	}
}

// The disk of an image fits exactly; what isn't known about a storage is no reason against it.
func TestTheRoomForTheDiskOfAnImage(t *testing.T) {
	i := fetched("img")
	p := planned(&model.Observed{
		Nodes: map[string]*model.Node{"on": {Online: true}, "new": {Online: true}},
		URLs:  map[string]model.URLState{model.URLKey("", i.URL): {Disk: 60}},
		Storages: map[string]*model.Storage{
			"thick": {Name: "thick", Type: "lvm", OnNode: map[string]model.Room{"on": {Total: 100, Used: 40}, "new": {}}},
			"full":  {Name: "full", Type: "lvm", OnNode: map[string]model.Room{"on": {Total: 100, Used: 41}}},
			"thin":  {Name: "thin", Type: "dir", OnNode: map[string]model.Room{"on": {Total: 100, Used: 99}}},
		},
	})
	for _, c := range []struct {
		storage, node string
		fits          bool
	}{{"thick", "on", true}, {"thick", "new", true}, {"full", "on", false}, {"thin", "on", true}, {"unknown", "on", true}} {
		var look Look
		if why := p.roomForDisk(i, c.node, imageSite{storage: c.storage, fetch: c.storage}, &look); why.no() == c.fits || !look.Empty() {
			t.Errorf("storage %s on %s: %q, %+v", c.storage, c.node, why.reason, look)
		}
	}
}

// A group without nodes is no limit, and nodes that are all preferred alike are no choice.
func TestALimitHasNodes(t *testing.T) {
	v := testVM("web")
	v.HA = &model.HA{Group: "fast"}
	for name, c := range map[string]struct {
		nodes map[string]int
		limit bool
		left  int
	}{
		"none": {map[string]int{}, false, 2},
		"one":  {map[string]int{"a": 1}, true, 1},
		"both": {map[string]int{"a": 1, "b": 1}, true, 2},
	} {
		p := planned(&model.Observed{HALimits: map[string]model.HALimit{"fast": {Nodes: c.nodes}}})
		if _, _, ok := p.limitOf(v); ok != c.limit {
			t.Errorf("%s: %t", name, ok)
		}
		if left, why := p.preferred(v, []spot{{node: "a"}, {node: "b"}}); len(left) != c.left || (why != nil) != (c.left < 2) {
			t.Errorf("%s: %d are left, %q", name, len(left), why)
		}
	}
}

// A guest that has claimed addresses has more to be done when it is made, and isn't called up to date.
func TestANewGuestWithLeasesIsUnfinished(t *testing.T) {
	v := testVM("web")
	v.Source = model.Source{Blank: true}
	p := planned(&model.Observed{})
	if got := p.firstStamp(v); got == unfinished {
		t.Error("a plain guest is unfinished")
	}
	v.Leases = []model.Lease{{Slot: "net0"}}
	if got := p.firstStamp(v); got != unfinished {
		t.Errorf("a guest with leases has the fingerprint %s", got)
	}
}

// What isn't read yet is read, before anything is decided about it.
func TestWhatIsUnreadIsReadFirst(t *testing.T) {
	p := planned(newWorld().observe(Look{}))
	g := &model.Guest{VMID: 100, Node: "pve1"}
	for name, do := range map[string]func(o *Object){
		"a guest that is to go":         func(o *Object) { p.remove(o, testVM("web"), g) },
		"a copy in the making":          func(o *Object) { p.finishCopy(o, fetched("img").Copy("pve1"), g, nil) },
		"the machine of a snapshot":     func(o *Object) { p.have.Guests[100] = g; p.machineOf(o, model.Snapshot{VMID: 100}) },
		"a server that says what it is": func(o *Object) { p.unfetchable(o, "pve1", "https://example.com/img.qcow2") },
	} {
		var o Object
		if do(&o); o.Look.Empty() || len(o.Steps) > 0 {
			t.Errorf("%s: look %+v, steps %v", name, o.Look, o.Steps)
		}
	}
	for _, secret := range []string{"https://me:secret@example.com/img.qcow2", "https://example.com/img.qcow2?token=secret", "https://%zz/"} {
		var o Object
		if p.unfetchable(&o, "pve1", secret); !o.Look.Empty() {
			t.Errorf("a node is asked about %s", secret)
		}
	}
	o := Object{Look: Look{FirewallOff: true}}
	p.have.FirewallOff = new(bool)
	if p.lookFirewall(&o, nil); !o.Look.FirewallOff {
		t.Error("what was to be read isn't any more")
	}
}

// Addresses of a guest that is half there are those that it was made with.
func TestTheAddressesOfAHalfMadeGuestAreHeld(t *testing.T) {
	address := netip.MustParseAddr("10.0.0.9")
	for name, c := range map[string]struct {
		config *model.Config
		held   int
	}{"unread": {nil, 1}, "half there": {&model.Config{Half: true}, 1}, "there": {&model.Config{}, 0}} {
		p := planned(&model.Observed{
			Guests: map[int]*model.Guest{100: {VMID: 100, Node: "pve1", Config: c.config}},
			Placed: map[int]model.Placement{100: {Node: "pve1", Addresses: []netip.Addr{address}}},
		})
		if got := p.addressesHeld().by[address]; len(got) != c.held {
			t.Errorf("%s: %+v", name, got)
		}
	}
	offline := &model.Observed{Nodes: map[string]*model.Node{"pve1": {}}, Guests: map[int]*model.Guest{100: {VMID: 100, Node: "pve1"}}}
	for vmid, known := range map[int]bool{100: true, 101: false} {
		var o Object
		if got := planned(offline).addressesKnown(&o, vmid); got != known || (o.Wait == nil) != known {
			t.Errorf("for VM %d: %t, %+v", vmid, got, o.Wait)
		}
	}
}

// A copy onto another storage takes its disks there, but for those that are on none.
func TestACopyIsForeseenOnItsStorage(t *testing.T) {
	from := &model.Guest{Config: &model.Config{Disks: []model.Disk{{Slot: "scsi0", Storage: "nfs", Volume: "nfs:vm-0"}, {Slot: "ide2", Volume: "none", CDROM: true}}}}
	g := copyBy(model.Clone{To: model.Target{VMID: 100, Node: "pve1"}, Storage: "local"}, from, model.VM{})
	for slot, storage := range map[string]string{"scsi0": "local", "ide2": ""} {
		if d := disk(g.Config, slot); d == nil || d.Storage != storage {
			t.Errorf("%s: %+v", slot, d)
		}
	}
}

// Linked clones of thin volumes can be moved; a cloud-init drive and a CD-ROM don't matter.
func TestWhichLinkedClonesMove(t *testing.T) {
	p := planned(&model.Observed{Storages: map[string]*model.Storage{"thin": {Type: "lvmthin"}, "zfs": {Type: "zfspool"}}})
	for name, c := range map[string]struct {
		disk model.Disk
		move bool
	}{
		"a thin volume":         {model.Disk{Storage: "thin"}, true},
		"another one":           {model.Disk{Storage: "zfs"}, false},
		"on an unknown storage": {model.Disk{Storage: "unknown"}, false},
		"a cloud-init drive":    {model.Disk{Storage: "zfs", CloudInit: true}, true},
		"a CD-ROM":              {model.Disk{Storage: "zfs", CDROM: true}, true},
	} {
		if got := p.linksMove(&model.Config{Disks: []model.Disk{c.disk}}); got != c.move {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A template of the name is the image's where the pin wants it; one whose config wasn't read may be.
func TestTemplatesThatAPinExcludes(t *testing.T) {
	on := func(storage string) *model.Guest {
		return &model.Guest{Name: "debian", Template: true, Config: &model.Config{Options: map[string]string{"boot": "order=scsi0"}, Disks: []model.Disk{{Slot: "scsi0", Volume: storage + ":base-9000-disk-0"}}}}
	}
	i := model.Image{Template: "debian"}
	i.DiskStorage = "nfs"
	for name, c := range map[string]struct {
		guest *model.Guest
		is    bool
	}{"on the storage": {on("nfs"), false}, "on another one": {on("local"), true}, "unread": {&model.Guest{Name: "debian", Template: true}, false}} {
		if got := excluded(i, c.guest); got != c.is {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A template that is asked for and isn't wanted any more depends on nothing.
func TestACopyThatIsNotWantedDependsOnNothing(t *testing.T) {
	i := fetched("img")
	w := NewWanted(model.Desired{Images: []model.Image{i}})
	c := i.Copy("pve1").Object().Key
	if got := append(w.planned(c), w.Users(c)...); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

// A file of an image has one of the formats that templates are made from.
func TestFilesOfAnImageHaveAFormat(t *testing.T) {
	i := fetched("img")
	for name, is := range map[string]bool{fileStem(i) + "qcow2": true, fileStem(i) + "txt": false, "other.qcow2": false} {
		if fileOf(i, name) != is {
			t.Errorf("%s: %t", name, !is)
		}
	}
}

// A file fits where nothing is known about the room for it, and where the room is just enough.
func TestTheRoomForTheFileOfAnImage(t *testing.T) {
	i := fetched("img")
	p := planned(&model.Observed{
		URLs: map[string]model.URLState{model.URLKey("", i.URL): {Size: 60}},
		Storages: map[string]*model.Storage{
			"enough": {Name: "enough", OnNode: map[string]model.Room{"on": {Total: 100, Used: 40}, "new": {}}},
			"full":   {Name: "full", OnNode: map[string]model.Room{"on": {Total: 100, Used: 41}}},
		},
	})
	for _, c := range []struct {
		storage, node string
		fits          bool
	}{{"enough", "on", true}, {"enough", "new", true}, {"enough", "unknown", true}, {"full", "on", false}, {"unknown", "on", true}} {
		if why := p.roomFor(i, c.node, c.storage); why.no() == c.fits {
			t.Errorf("storage %s on %s: %q", c.storage, c.node, why.reason)
		}
	}
}

// Disks on shared storage are reached from the nodes that have the storage, or get it just now; drives without a medium don't matter.
func TestFromWhereDisksAreReached(t *testing.T) {
	p := planned(&model.Observed{
		Nodes: map[string]*model.Node{"on": {Online: true}, "without": {Online: true}, "late": {Online: true}},
		Storages: map[string]*model.Storage{
			"nfs":   {Name: "nfs", Shared: true, OnNode: map[string]model.Room{"on": {}}, Late: map[string]bool{"late": true}},
			"local": {Name: "local"},
		},
	})
	config := func(storage string) *model.Config {
		return &model.Config{Disks: []model.Disk{{Slot: "scsi0", Storage: storage, Volume: storage + ":vm-0"}, {Slot: "ide0", CDROM: true}, {Slot: "ide2", Volume: "none", CDROM: true}}}
	}
	for storage, is := range map[string]bool{"nfs": true, "local": false, "unknown": false} {
		if p.allShared(config(storage)) != is {
			t.Errorf("storage %s is shared: %t", storage, !is)
		}
	}
	for _, c := range []struct {
		node            string
		shared, reaches bool
	}{{"on", true, true}, {"without", true, false}, {"late", true, true}, {"unknown", true, true}, {"on", false, false}} {
		s := &source{guest: &model.Guest{Config: config("nfs")}, shared: c.shared}
		if p.reaches(s, c.node) != c.reaches {
			t.Errorf("%+v", c)
		}
	}
}

// A guest that is made from nothing has the options that it is made with.
func TestAGuestThatIsMadeFromNothingIsForeseenWithItsOptions(t *testing.T) {
	g := madeBy(model.Create{Target: model.Target{VMID: 100, Node: "pve1"}, Options: map[string]string{"cores": "4"}})
	if g.Config.Options["cores"] != "4" {
		t.Errorf("%v", g.Config.Options)
	}
}

// An image that no machine needs yet is made on a node that can make it.
func TestAnImageGoesWhereItCanBeMade(t *testing.T) {
	have := newWorld().observe(Look{Rights: []string{"/storage/local", "/storage/local-lvm", "/storage/nfs"}})
	i := fetched("img")
	for name, off := range map[string][]string{"all": nil, "not the first": {"pve1"}, "none": {"pve1", "pve2", "pve3"}} {
		for node, n := range have.Nodes {
			n.Online = !slices.Contains(off, node)
		}
		var look Look
		got := planned(have).firstNode(i, &look)
		if have.Nodes[got] == nil != (name == "none") || got != "" && !have.Nodes[got].Online {
			t.Errorf("%s: on %q, to read %+v", name, got, look)
		}
	}
}
