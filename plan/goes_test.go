package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// goingCase changes a world with a guest that has snapshots, first-boot data and a share, and with a fetched image.
type goingCase struct {
	name string
	do   func(s *goingWorld)
}

type goingWorld struct {
	want model.Desired
	have *model.Observed
	web  *model.Guest
	made *model.Guest // the template of the fetched image
}

func (s *goingWorld) task(kind, id string, vmid int) {
	s.have.Tasks = append(s.have.Tasks, model.Task{UPID: "UPID:" + kind, Node: "pve1", Type: kind, ID: id, VMID: vmid})
}

func (s *goingWorld) snap(info model.SnapshotInfo) { s.web.Snapshots = append(s.web.Snapshots, info) }

func takenFor(name, set string) model.SnapshotInfo {
	o := owner("VMSnapshot", name)
	o.Set = set
	return model.SnapshotInfo{Name: name, Parent: "before", Description: model.Describe("", model.Marker{Owner: o}), Time: 7}
}

func goingCases() []goingCase {
	pruned := func(s *goingWorld) {
		s.want.VMs, s.want.Snapshots, s.want.Images, s.want.Shares, s.want.Prune = nil, nil, nil, nil, true
	}
	gone := func(s *goingWorld) { s.want.Delete() }
	without := func(s *goingWorld) { s.want.Snapshots, s.want.Prune = nil, true }
	both := func(a, b func(*goingWorld)) func(*goingWorld) { return func(s *goingWorld) { a(s); b(s) } }
	all := func(f func(*goingWorld)) []func(*goingWorld) {
		return []func(*goingWorld){f, both(gone, f), both(pruned, f), both(without, f)}
	}
	var list []goingCase
	add := func(name string, f func(*goingWorld)) {
		for i, one := range all(f) {
			list = append(list, goingCase{name + []string{"", ", and all goes", ", and nothing is named any more", ", and snapshots aren't named any more"}[i], one})
		}
	}
	add("plain", func(*goingWorld) {})
	add("a snapshot of others", func(s *goingWorld) { s.snap(model.SnapshotInfo{Name: "theirs", Parent: "before", Time: 9}) })
	add("a snapshot of another set", func(s *goingWorld) { s.snap(takenFor("elsewhere", "elsewhere")) })
	add("a snapshot of ours that nobody names", func(s *goingWorld) { s.snap(takenFor("old", "default")) })
	add("older snapshots of ours, of which one is kept", func(s *goingWorld) {
		for i := range s.want.Snapshots {
			s.want.Snapshots[i].Keep = 1
		}
		s.snap(takenFor("old", "default"))
		s.snap(takenFor("older", "default"))
		s.snap(takenFor("elsewhere", "elsewhere"))
		s.snap(model.SnapshotInfo{Name: "theirs", Time: 1})
		for i := range s.web.Snapshots {
			s.web.Snapshots[i].Time = int64(9 - i)
		}
	})
	add("snapshots of one second", func(s *goingWorld) {
		for i := range s.want.Snapshots {
			s.want.Snapshots[i].Keep = 2
		}
		a, b, c := takenFor("a", "default"), takenFor("b", "default"), takenFor("c", "default")
		b.Parent, c.Parent = "a", "b"
		for _, one := range []model.SnapshotInfo{c, a, b} {
			one.Time = s.web.Snapshots[0].Time
			s.snap(one)
		}
	})
	add("a snapshot that a guest is to be made from", func(s *goingWorld) {
		s.snap(takenFor("old", "default"))
		v := testVM("copy")
		v.Source = model.Source{VM: testVM("web").Owner.Key, Snapshot: "old", Full: true}
		s.want.VMs = append(s.want.VMs, v)
	})
	add("a snapshot that a guest was to be made from", func(s *goingWorld) {
		s.snap(takenFor("old", "default"))
		v := testVM("copy")
		v.Source, v.Deleted = model.Source{VM: testVM("web").Owner.Key, Snapshot: "old", Full: true}, true
		s.want.VMs = append(s.want.VMs, v)
	})
	add("a snapshot that is to go and was taken by others", func(s *goingWorld) {
		s.web.Snapshots[0].Description = "theirs"
		for i := range s.want.Snapshots {
			s.want.Snapshots[i].Deleted = true
		}
	})
	add("a snapshot that is to go, of a guest that stays", func(s *goingWorld) {
		for i := range s.want.Snapshots {
			s.want.Snapshots[i].Deleted = true
		}
	})
	add("a snapshot by another object of the name", func(s *goingWorld) {
		o := owner("VMSnapshot", "before")
		o.UID = "gone"
		s.web.Snapshots[0].Description = model.Describe("as it was", model.Marker{Owner: o})
	})
	add("a snapshot that was rolled back to", func(s *goingWorld) {
		for i := range s.want.Snapshots {
			s.want.Snapshots[i].Revert = "1"
		}
		s.web.Snapshots[0].Description = model.Describe("as it was", model.Marker{Owner: owner("VMSnapshot", "before"), Version: "1"})
	})
	add("a snapshot to roll back to, and data may go", func(s *goingWorld) {
		for i := range s.want.Snapshots {
			s.want.Snapshots[i].Revert = "1"
		}
		s.want.Allow.Data = true
	})
	add("a snapshot with memory of a guest that is off", func(s *goingWorld) {
		s.web.Status, s.web.Snapshots = model.StatusStopped, []model.SnapshotInfo{}
		for i := range s.want.Snapshots {
			s.want.Snapshots[i].Memory = true
		}
	})
	add("snapshots aren't read", func(s *goingWorld) { s.web.Snapshots = nil })
	add("the guest isn't read", func(s *goingWorld) { s.web.Config = nil })
	add("the guest isn't there", func(s *goingWorld) { delete(s.have.Guests, s.web.VMID); s.have.Index() })
	add("the guest is another's by now", func(s *goingWorld) { s.web.Config.Marker.Owner.Set = "elsewhere" })
	add("the guest is locked", func(s *goingWorld) { s.web.Lock = "backup" })
	add("files aren't read", func(s *goingWorld) { s.have.Files = nil })
	add("the file is gone", func(s *goingWorld) { s.have.Files = map[string]model.File{} })
	add("the file is gone, and one is uploaded", func(s *goingWorld) { s.have.Files = map[string]model.File{}; s.task("imgcopy", "", 0) })
	add("older files are left", func(s *goingWorld) {
		s.web.Config.Marker.Old = []string{"nfs:iso/proxplane-1-old.iso", "nfs:iso/proxplane-1-gone.iso", "nfs:iso/proxplane-1-held.iso"}
		for _, name := range []string{"old", "held"} {
			volume := "nfs:iso/proxplane-1-" + name + ".iso"
			s.have.Files[volume] = model.File{Volume: volume, Node: "pve1", Content: "iso", Also: []string{"pve2"}}
		}
		s.web.Config.Disks = append(s.web.Config.Disks, model.Disk{Slot: "sata5", Volume: "nfs:iso/proxplane-1-held.iso", CDROM: true})
	})
	add("an older file is in the drive until the restart", func(s *goingWorld) {
		volume := "nfs:iso/proxplane-1-old.iso"
		s.web.Config.Marker.Old, s.have.Files[volume] = []string{volume}, model.File{Volume: volume, Node: "pve1", Content: "iso"}
		s.web.Config.Running = was(s.web.Config)
		s.web.Config.Running.Disks = append(s.web.Config.Running.Disks, model.Disk{Slot: "sata5", Volume: volume, CDROM: true})
	})
	add("nobody uses the share", func(s *goingWorld) { delete(s.web.Config.Options, "virtiofs0") })
	add("somebody else uses the share", func(s *goingWorld) {
		delete(s.web.Config.Options, "virtiofs0")
		s.have.Guests[777] = &model.Guest{VMID: 777, Name: "x", Node: "pve1", Status: model.StatusRunning, Config: &model.Config{Options: map[string]string{"virtiofs3": "dirid=data"}}}
	})
	add("somebody else uses another share", func(s *goingWorld) {
		delete(s.web.Config.Options, "virtiofs0")
		s.have.Guests[777] = &model.Guest{VMID: 777, Name: "x", Node: "pve1", Status: model.StatusRunning, Config: &model.Config{Options: map[string]string{"virtiofs3": "dirid=other", "args": "dirid=data"}}}
	})
	add("the share is somebody else's", func(s *goingWorld) { d := s.have.Dirs["data"]; d.Maker = "elsewhere"; s.have.Dirs["data"] = d })
	add("the share was made by hand", func(s *goingWorld) { d := s.have.Dirs["data"]; d.Made = false; s.have.Dirs["data"] = d })
	add("the share isn't there", func(s *goingWorld) { s.have.Dirs = map[string]model.Dir{} })
	add("the share isn't there, and couldn't be made", func(s *goingWorld) {
		s.have.Dirs, s.have.Failed = map[string]model.Dir{}, map[Key]model.Failure{model.ShareKey("data"): {What: "make it", Text: "no", Hard: true}}
	})
	add("shares aren't read", func(s *goingWorld) { s.have.Dirs = nil })
	add("the share is another directory", func(s *goingWorld) {
		d := s.have.Dirs["data"]
		d.Paths = map[string]string{"pve1": "/srv/other", "pve2": "/srv/data"}
		s.have.Dirs["data"] = d
	})
	add("the share has nothing for a node", func(s *goingWorld) {
		d := s.have.Dirs["data"]
		d.Paths = map[string]string{"pve1": "/srv/data"}
		s.have.Dirs["data"] = d
	})
	add("not all guests are visible", func(s *goingWorld) {
		s.have.Rights["/vms"] = map[string]bool{"VM.Console": true}
		delete(s.web.Config.Options, "virtiofs0")
	})
	add("a release without shares", func(s *goingWorld) { s.have.Release, s.have.Minor = 8, 2 })
	add("the template has a linked clone", func(s *goingWorld) {
		s.have.Guests[777] = &model.Guest{VMID: 777, Name: "x", Node: "pve1", Config: &model.Config{Options: map[string]string{}, Disks: []model.Disk{{Slot: "scsi0", Volume: fmt.Sprintf("nfs:base-%d-disk-0/vm-777-disk-0", s.made.VMID)}}}}
	})
	add("whether the template has linked clones isn't known", func(s *goingWorld) {
		s.have.Guests[777] = &model.Guest{VMID: 777, Name: "x", Node: "pve1", Tags: []string{model.Tag, model.StateTag(owner("VirtualMachine", "x"), "abc")}}
	})
	add("a disk without a guest hangs on the template", func(s *goingWorld) {
		s.have.Volumes["nfs"] = append(s.have.Volumes["nfs"], model.Volume{ID: fmt.Sprintf("nfs:base-%d-disk-0/vm-778-disk-0", s.made.VMID), Node: "pve1", VMID: 778})
	})
	add("disks aren't listed", func(s *goingWorld) { s.have.Volumes = nil })
	add("the template isn't read", func(s *goingWorld) { s.made.Config = nil })
	add("the template is locked", func(s *goingWorld) { s.made.Lock = "clone" })
	add("the template isn't one yet", func(s *goingWorld) { s.made.Template = false })
	add("the template isn't there", func(s *goingWorld) { delete(s.have.Guests, s.made.VMID); s.have.Index() })
	add("the template isn't there, and is fetched", func(s *goingWorld) {
		delete(s.have.Guests, s.made.VMID)
		s.have.Index()
		if len(s.want.Images) > 0 {
			s.task("download", fileStem(s.want.Images[len(s.want.Images)-1])+"qcow2", 0)
		}
	})
	add("the template isn't there, and another file is fetched", func(s *goingWorld) {
		delete(s.have.Guests, s.made.VMID)
		s.have.Index()
		s.task("download", "other.qcow2", 0)
		s.task("imgdel", "x", 0)
	})
	add("the template's file is left", func(s *goingWorld) {
		if len(s.want.Images) > 0 {
			volume := "nfs:import/" + fileStem(s.want.Images[len(s.want.Images)-1]) + "qcow2"
			s.have.Files[volume] = model.File{Volume: volume, Node: "pve1", Content: "import", Also: []string{"pve3"}}
		}
	})
	add("the template is another set's", func(s *goingWorld) { s.made.Config.Marker.Owner.Set = "elsewhere" })
	add("the image has changed", func(s *goingWorld) {
		if len(s.want.Images) > 0 {
			s.want.Images[len(s.want.Images)-1].Checksum = "bb"
		}
	})
	return list
}

// TestWhatGoesWithItsObjectAndWhatStays: snapshots, first-boot data, directory mappings and templates, as they are, when all is to go,
// and when nothing is named any more.
func TestWhatGoesWithItsObjectAndWhatStays(t *testing.T) {
	var b strings.Builder
	seen := map[string]string{}
	base := newGoingWorld(t)
	for _, c := range goingCases() {
		s := base.copy()
		c.do(s)
		var text strings.Builder
		tell(&text, For(s.want, s.have), nil)
		if as, before := seen[text.String()]; before {
			fmt.Fprintf(&b, "# %s: as %s\n", c.name, as)
			continue
		}
		seen[text.String()] = c.name
		fmt.Fprintf(&b, "# %s\n%s", c.name, text.String())
	}
	golden.Compare(t, "lives/goes.golden", b.String())
}

func (s *goingWorld) copy() *goingWorld {
	have := *s.have
	have.Nodes, have.Storages, have.Guests, have.Files, have.Volumes = deep(have.Nodes), deep(have.Storages), deep(have.Guests), deep(have.Files), deep(have.Volumes)
	have.Snippets, have.Dirs, have.HA, have.Rules, have.Rights = deep(have.Snippets), deep(have.Dirs), deep(have.HA), deep(have.Rules), deep(have.Rights)
	have.Index()
	return &goingWorld{want: deep(s.want), have: &have, web: have.Guests[s.web.VMID], made: have.Guests[s.made.VMID]}
}

func newGoingWorld(t *testing.T) *goingWorld {
	w := wishWorld()
	v := sharingVM("web", "data")
	v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"}
	want := everyWish()
	want.VMs = []model.VM{v}
	want.Shares = []model.Share{testShare("data", "/srv/data")}
	p := converge(quiet{t}, w, want)
	look := Look{Files: true, Snippets: true, Dirs: true, HA: true, Volumes: true, Rights: []string{"/vms"}, Bridges: []string{"pve1", "pve2", "pve3"}}
	for id := range w.Guests {
		look.Configs, look.Snapshots, look.Agents, look.Status = append(look.Configs, id), append(look.Snapshots, id), append(look.Agents, id), append(look.Status, id)
	}
	have := w.observe(look)
	return &goingWorld{want: want, have: have, web: have.Guests[p.object(t, "web").VMID], made: have.Guests[p.object(t, "fetched").VMID]}
}
