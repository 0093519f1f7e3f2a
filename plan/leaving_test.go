package plan

import (
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
)

// TestWhatIsLeftBehind: disks that tasks of ours have left, groups that shrink, what is pruned, directory mappings.
func TestWhatIsLeftBehind(t *testing.T) {
	type T = *testing.T
	type W = *world
	type D = *model.Desired
	at := time.Unix(1_800_000_000, 0)
	left := func(name string, l model.Left, change func(t T, w W, d D)) situation {
		return situation{"left: " + name, func(t T, w W, d D) {
			w.without("/storage/nfs", "Datastore.Allocate", mayAllocate)
			change(t, w, d)
			w.seeing(func(o *model.Observed) { o.Left = append(o.Left, l) })
		}}
	}
	web := testVM("web").Owner
	found := func(volumes ...string) *model.Found { return &model.Found{There: volumes} }
	plain := func(T, W, D) {}
	settled := func(t T, w W, d D) { w.settle(t, d) }
	goes := func(t T, w W, d D) { d.VMs[0].Deleted = true }
	group := func(name string, count int, change func(w W, d D)) situation {
		return situation{"group: " + name, func(t T, w W, d D) {
			*d = members("web", 3)
			for i := range d.VMs {
				d.VMs[i].NICs[0].MAC = ""
			}
			w.settle(t, d)
			d.VMs, d.Groups[0].Count = d.VMs[:count], count
			change(w, d)
		}}
	}
	pruned := func(name string, change func(w W, d D, g *model.Guest)) situation {
		return situation{"pruned: " + name, func(t T, w W, d D) {
			w.settle(t, d)
			g := w.guest("web")
			d.VMs, d.Prune = nil, true
			change(w, d, g)
		}}
	}
	shared := func(name string, change func(w W, d D)) situation {
		return situation{"shared: " + name, func(t T, w W, d D) {
			*d = sharing([]model.Share{testShare("data", "/srv/data")}, sharingVM("web", "data"))
			w.settle(t, d)
			change(w, d)
		}}
	}
	situations(t, "leaving", []situation{
		left("by the machine, which is made anew", model.Left{Task: "t", Owner: web, VMID: 5600, Node: "pve1", Volumes: []string{"nfs:a"}, Found: found("nfs:a")}, plain),
		left("by the machine, which is there", model.Left{Task: "t", Owner: web, VMID: 5600, Node: "pve1", Volumes: []string{"nfs:a"}, Moved: true, Found: found("nfs:a")}, settled),
		left("by the machine, which goes", model.Left{Task: "t", Owner: web, VMID: 5600, Node: "pve1", Volumes: []string{"nfs:a"}, Found: found("nfs:a", "nfs:b")}, goes),
		left("by a copy that failed", model.Left{Task: "t", Owner: web, VMID: 5600, Node: "pve1", Since: at, Found: found("nfs:a")}, plain),
		left("by somebody, under its VMID", model.Left{Task: "t", VMID: 5600, Node: "pve1", Volumes: []string{"nfs:a"}, Found: found("nfs:a")}, plain),
		left("by somebody, under another VMID", model.Left{Task: "t", VMID: 5601, Node: "pve1", Volumes: []string{"nfs:a"}, Found: found("nfs:a")}, plain),
		left("by an object that isn't planned", model.Left{Task: "t", Owner: owner("VirtualMachine", "other"), VMID: 5601, Node: "pve1", Volumes: []string{"nfs:a"}, Found: found("nfs:a")}, plain),
		left("nothing that is there", model.Left{Task: "t", VMID: 5601, Node: "pve1", Volumes: []string{"nfs:a"}, Found: found()}, plain),
		left("somebody uses it", model.Left{Task: "t", VMID: 5601, Node: "pve1", Volumes: []string{"nfs:a"}, Found: &model.Found{There: []string{"nfs:a"}, Users: map[string][]int{"nfs:a": {1}}}}, plain),
		left("nobody has looked", model.Left{Task: "t", Owner: web, VMID: 5600, Node: "pve1", Volumes: []string{"nfs:a"}}, plain),
		left("nobody has looked, of no object", model.Left{Task: "t", VMID: 5601, Node: "pve1", Volumes: []string{"nfs:a"}}, plain),
		left("it can't be read", model.Left{Task: "t", Owner: web, VMID: 5600, Node: "pve1", Volumes: []string{"nfs:a"}, Next: at.Add(time.Minute), Trouble: "no"}, plain),
		left("it can't be read, of a machine that waits", model.Left{Task: "t", Owner: web, VMID: 5600, Node: "pve1", Volumes: []string{"nfs:a"}, Next: at.Add(time.Minute), Trouble: "no"}, func(_ T, w W, d D) {
			d.VMs[0].Source.Image.Name = "nowhere"
		}),
		left("it is to be read again", model.Left{Task: "t", Owner: web, VMID: 5600, Node: "pve1", Volumes: []string{"nfs:a"}, Next: at, Trouble: "no"}, plain),
		left("the machine is locked", model.Left{Task: "t", Owner: web, VMID: 5600, Node: "pve1", Volumes: []string{"nfs:a"}, Moved: true, Found: found("nfs:a")}, func(t T, w W, d D) {
			w.settle(t, d)
			w.guest("web").Lock = "backup"
		}),
		left("the machine waits for a source", model.Left{Task: "t", Owner: web, VMID: 5600, Node: "pve1", Volumes: []string{"nfs:a"}, Found: found("nfs:a")}, func(_ T, w W, d D) {
			d.VMs[0].Source.Image.Name = "nowhere"
		}),
		left("the machine has failed", model.Left{Task: "t", Owner: web, VMID: 5600, Node: "pve1", Volumes: []string{"nfs:a"}, Moved: true, Found: found("nfs:a")}, func(t T, w W, d D) {
			w.settle(t, d)
			d.VMs[0].Tags = []string{"x"}
			w.fails = map[Key]model.Failure{web.Key: {What: "start", Text: "no", Hard: true}}
		}),
		left("the credentials may not remove it", model.Left{Task: "t", Owner: web, VMID: 5600, Node: "pve1", Volumes: []string{"nfs:a"}, Found: found("nfs:a")}, func(_ T, w W, d D) {
			w.without("/storage/nfs", mayAllocate)
		}),
		left("the credentials may remove it, and it is an orphan", model.Left{Task: "t", VMID: 5600, Node: "pve1", Volumes: []string{"nfs:a"}, Found: found("nfs:a")}, func(_ T, w W, d D) {
			w.seeing(func(o *model.Observed) {
				if o.Volumes != nil {
					o.Volumes["nfs"] = append(o.Volumes["nfs"], model.Volume{ID: "nfs:a", Node: "pve1", VMID: 5600}, model.Volume{ID: "nfs:b", Node: "pve1", VMID: 5600})
				}
			})
		}),
		{"left: nobody has looked at tasks that failed", func(_ T, w W, d D) { w.seeing(func(o *model.Observed) { o.Unclean = true }) }},
		{"left: nobody has looked at tasks that failed, and all is there", func(t T, w W, d D) {
			w.settle(t, d)
			w.seeing(func(o *model.Observed) { o.Unclean = true })
		}},
		{"left: nobody has looked at tasks that failed, by a glance", func(t T, w W, d D) {
			w.settle(t, d)
			d.Quick = true
			w.seeing(func(o *model.Observed) { o.Unclean = true })
		}},
		group("as many", 3, func(W, D) {}),
		group("fewer", 2, func(W, D) {}),
		group("fewer, which is agreed to", 1, func(_ W, d D) { d.Groups[0].ScaleDown = true }),
		group("fewer, and one is locked", 1, func(w W, d D) { d.Groups[0].ScaleDown = true; w.guest("web-2").Lock = "backup" }),
		group("fewer, and one has become an object of its own", 1, func(w W, d D) {
			d.Groups[0].ScaleDown = true
			v := testVM("web-2")
			v.NICs[0].MAC = ""
			d.VMs = append(d.VMs, v)
		}),
		group("fewer, and one is of another group", 1, func(w W, d D) { d.Groups[0].ScaleDown = true; w.guest("web-2").Config.Marker.Group = "" }),
		group("fewer, and one has lost its notes", 1, func(w W, d D) { d.Groups[0].ScaleDown = true; w.guest("web-2").Config.Marker = nil }),
		group("fewer, and one has lost its tags", 1, func(w W, d D) {
			d.Groups[0].ScaleDown = true
			g := w.guest("web-2")
			g.Tags, g.Config.Tags = nil, nil
		}),
		group("fewer, and others have names like theirs", 1, func(w W, d D) {
			d.Groups[0].ScaleDown = true
			w.plain(777, "web-4", "pve1").Template = true
			w.plain(778, "web-5", "pve1").Container = true
			w.plain(779, "web-6", "pve1")
		}),
		group("fewer, and one says that it is of it under a VMID of others", 2, func(w W, d D) {
			d.Groups[0].ScaleDown = true
			w.twin(w.guest("web-3"), 777)
		}),
		group("fewer, and one says that it is of it, signed", 2, func(w W, d D) {
			d.Groups[0].ScaleDown = true
			w.twin(w.guest("web-3"), 777).Config.Signed = model.Signed
		}),
		group("fewer, and all goes", 1, func(_ W, d D) { d.Groups[0].Deleted, d.VMs[0].Deleted = true, true }),
		group("fewer, and it is pruned", 1, func(_ W, d D) { d.Groups[0].ScaleDown, d.Prune = true, true }),
		pruned("plain", func(W, D, *model.Guest) {}),
		pruned("by another door", func(_ W, d D, _ *model.Guest) { d.Door = "machines" }),
		pruned("by the same door", func(_ W, d D, _ *model.Guest) { d.Door = "vm" }),
		pruned("a template with its tag", func(_ W, _ D, g *model.Guest) { g.Template, g.Status = true, model.StatusStopped }),
		pruned("a template that something hangs on", func(w W, _ D, g *model.Guest) {
			g.Template, g.Status = true, model.StatusStopped
			w.plain(777, "x", "pve1").Config.Disks[0].Volume = "nfs:base-5600-disk-0/vm-777-disk-0"
			w.Guests[777].Tags = []string{model.Tag, model.StateTag(owner("VirtualMachine", "x"), "abc")}
		}),
		pruned("without its tag, and off", func(_ W, _ D, g *model.Guest) { g.Tags, g.Config.Tags, g.Status = nil, nil, model.StatusStopped }),
		pruned("without its tag, and running", func(_ W, _ D, g *model.Guest) { g.Tags, g.Config.Tags = nil, nil }),
		pruned("with our tag alone, and running", func(_ W, _ D, g *model.Guest) { g.Tags, g.Config.Tags = []string{model.Tag}, []string{model.Tag} }),
		pruned("a container without tags, and a template", func(w W, _ D, g *model.Guest) {
			g.Tags, g.Config.Tags, g.Status, g.Container = nil, nil, model.StatusStopped, true
		}),
		pruned("half made", func(_ W, _ D, g *model.Guest) { g.Config.Half, g.Config.Marker = true, nil }),
		pruned("its object is there under another name", func(w W, d D, g *model.Guest) {
			v := testVM("web")
			v.Name = "renamed"
			d.VMs = []model.VM{v}
		}),
		pruned("a fetched image that is named, with its template", func(w W, d D, g *model.Guest) {
			d.Images = append(d.Images, fetched("cloud"))
			w.turns(d, 6)
		}),
		pruned("snapshots of others, and some that are kept", func(w W, d D, g *model.Guest) {
			d.VMs = []model.VM{testVM("web")}
			g.Snapshots = []model.SnapshotInfo{takenFor("a", "default"), takenFor("b", "default"), takenFor("c", "elsewhere")}
			s := model.Snapshot{Owner: owner("VMSnapshot", "a"), VM: d.VMs[0].Owner.Key, Name: "a", Keep: 2}
			d.Snapshots = []model.Snapshot{s}
		}),
		pruned("snapshots, of which the one that keeps them goes", func(w W, d D, g *model.Guest) {
			d.VMs = []model.VM{testVM("web")}
			g.Snapshots = []model.SnapshotInfo{takenFor("a", "default"), takenFor("b", "default")}
			s := model.Snapshot{Owner: owner("VMSnapshot", "a"), VM: d.VMs[0].Owner.Key, Name: "a", Keep: 2, Deleted: true}
			d.Snapshots, d.Allow.Data = []model.Snapshot{s}, true
		}),
		pruned("a snapshot of another door", func(w W, d D, g *model.Guest) {
			d.VMs = []model.VM{testVM("web")}
			info := takenFor("a", "default")
			o := owner("VMSnapshot", "a")
			o.Door = "machines"
			info.Description = model.Describe("", model.Marker{Owner: o})
			g.Snapshots = []model.SnapshotInfo{info}
		}),
		{"a snapshot of a machine that isn't declared", func(_ T, w W, d D) {
			d.Snapshots = []model.Snapshot{{Owner: owner("VMSnapshot", "a"), VM: owner("VirtualMachine", "none").Key, Name: "a"}, {Owner: owner("VMSnapshot", "b"), VM: owner("VirtualMachine", "none").Key, Name: "b", Deleted: true}}
		}},
		{"a snapshot with memory of a machine that doesn't run", func(t T, w W, d D) {
			w.settle(t, d)
			w.guest("web").HAState, d.VMs[0].HA = "started", &model.HA{}
			w.settle(t, d)
			w.guest("web").Status = model.StatusPaused
			d.Snapshots = []model.Snapshot{{Owner: owner("VMSnapshot", "a"), VM: d.VMs[0].Owner.Key, Name: "a", Memory: true}}
		}},
		{"a snapshot with memory of a machine that is to be off", func(t T, w W, d D) {
			d.VMs[0].Power = model.PowerOff
			w.settle(t, d)
			d.Snapshots = []model.Snapshot{{Owner: owner("VMSnapshot", "a"), VM: d.VMs[0].Owner.Key, Name: "a", Memory: true}}
		}},
		{"snapshots whose parents go in a circle", func(t T, w W, d D) {
			w.settle(t, d)
			for _, one := range []struct{ name, parent string }{{"a", "b"}, {"b", "a"}, {"c", "b"}} {
				info := takenFor(one.name, "default")
				info.Parent = one.parent
				w.guest("web").Snapshots = append(w.guest("web").Snapshots, info)
			}
			d.Snapshots = []model.Snapshot{{Owner: owner("VMSnapshot", "a"), VM: d.VMs[0].Owner.Key, Name: "a", Keep: 1}}
		}},
		shared("plain", func(W, D) {}),
		shared("it isn't wanted any more", func(_ W, d D) { d.VMs[0] = testVM("web"); d.Shares[0].Deleted = true }),
		shared("it isn't wanted any more, and the machine is off", func(w W, d D) {
			d.VMs[0] = testVM("web")
			d.VMs[0].Power, w.guest("web").Status = model.PowerOff, model.StatusStopped
			d.Shares = nil
		}),
		shared("it isn't wanted any more, which is pending", func(w W, d D) {
			d.VMs[0] = testVM("web")
			c := w.guest("web").Config
			c.Running, c.Pending = was(c), map[string]*string{"virtiofs0": nil}
			delete(c.Options, "virtiofs0")
			d.Shares = nil
		}),
		shared("it isn't wanted any more, and something else is pending", func(w W, d D) {
			d.VMs[0] = testVM("web")
			c := w.guest("web").Config
			c.Running, c.Pending = was(c), map[string]*string{"cores": nil}
			delete(c.Options, "virtiofs0")
			d.Shares = nil
		}),
		shared("another directory", func(_ W, d D) { d.Shares[0].Path = "/srv/other" }),
		shared("another directory, and whether others use it isn't visible", func(w W, d D) { d.Shares[0].Path = "/srv/other"; w.without("/vms") }),
		shared("another directory, and a foreign machine uses it", func(w W, d D) {
			d.Shares[0].Path = "/srv/other"
			w.plain(777, "x", "pve1").Config.Options["virtiofs0"] = "dirid=data,cache=auto"
		}),
		shared("another directory, which a second machine waits for", func(w W, d D) {
			d.Shares[0].Path = "/srv/other"
			v := sharingVM("second", "data")
			v.NICs[0].MAC = ""
			d.VMs = append(d.VMs, v)
		}),
		shared("a node more", func(w W, d D) {
			dir := w.Dirs["data"]
			delete(dir.Paths, "pve3")
		}),
		shared("the mapping is somebody's, and lacks a node", func(w W, d D) {
			dir := w.Dirs["data"]
			delete(dir.Paths, "pve3")
			dir.Made = false
			w.Dirs["data"] = dir
		}),
		shared("the mapping is gone", func(w W, d D) { delete(w.Dirs, "data") }),
		shared("the mapping is gone, and the machine is off", func(w W, d D) { delete(w.Dirs, "data"); w.guest("web").Status = model.StatusStopped }),
		shared("the mapping is gone, and couldn't be made", func(w W, d D) {
			delete(w.Dirs, "data")
			w.guest("web").Status = model.StatusStopped
			w.fails = map[Key]model.Failure{model.ShareKey("data"): {What: "make it", Text: "no", Hard: true}}
		}),
		shared("the directory is bad, and the machine is off", func(w W, d D) {
			w.guest("web").Status = model.StatusStopped
			w.bad["pve1:/srv/data"] = "it isn't there"
		}),
		shared("the directory is bad while it runs", func(w W, d D) { w.bad["pve1:/srv/data"] = "it isn't there" }),
		shared("one more mapping, while it runs", func(w W, d D) {
			d.VMs[0] = sharingVM("web", "data", "more")
			d.Shares = append(d.Shares, testShare("more", "/srv/more"))
		}),
		shared("all goes", func(w W, d D) { d.Delete() }),
		shared("all goes, with an option of somebody's", func(w W, d D) { d.Delete(); w.guest("web").Config.Options["virtiofs3"] = "dirid=theirs" }),
		shared("all goes, while another machine uses it", func(w W, d D) {
			d.Delete()
			w.plain(777, "x", "pve1").Config.Options["virtiofs0"] = "data"
		}),
		shared("all goes on a release without mappings", func(w W, d D) {
			d.Delete()
			w.seeing(func(o *model.Observed) { o.Release, o.Minor = 8, 3 })
		}),
		{"shared: a mapping that is new, and a machine", func(_ T, w W, d D) {
			*d = sharing([]model.Share{testShare("data", "/srv/data", "pve2")}, sharingVM("web", "data"))
		}},
		{"shared: a mapping that is there, of which a machine is foreseen", func(_ T, w W, d D) {
			*d = sharing([]model.Share{testShare("data", "/srv/data")}, sharingVM("web", "data"))
			w.Dirs["data"] = model.Dir{Paths: map[string]string{"pve1": "/srv/data"}}
		}},
	})
}
