package plan

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// spreadStages are how far images are that nodes have a template each of: from nothing at all to machines on all nodes, and what
// people change then.
func spreadStages(base situation) []situation {
	stages := []situation{base}
	after := func(name string, do func(w *world, d *model.Desired)) {
		stages = append(stages, situation{base.name + ", " + name, func(t *testing.T, w *world, d *model.Desired) {
			base.do(t, w, d)
			do(w, d)
		}})
	}
	settled := func(name string, do func(w *world, d *model.Desired)) {
		stages = append(stages, situation{base.name + ", " + name, func(t *testing.T, w *world, d *model.Desired) {
			base.do(t, w, d)
			w.settle(t, d)
			do(w, d)
		}})
	}
	another := func(w *world, d *model.Desired) {
		if d.Images[0].URL == "" {
			w.Guests[9000].Config.Options["vmgenid"] = "another"
		}
		d.Images[0].Checksum = "bb"
	}
	for n := 1; n <= 3; n++ {
		after(fmt.Sprintf("after %d turns", n), func(w *world, d *model.Desired) { w.turns(d, n) })
	}
	settled("made", func(*world, *model.Desired) {})
	settled("made, and there are more machines", func(_ *world, d *model.Desired) {
		for i, node := range all3 {
			v := deep(d.VMs[0])
			v.Owner.Name, v.Name, v.NICs[0].MAC, v.Place.Nodes = "more-"+itoa(i), "more-"+itoa(i), "", []string{node}
			d.VMs = append(d.VMs, v)
		}
	})
	settled("made, and there is another one in its place", func(w *world, d *model.Desired) {
		another(w, d)
		v := deep(d.VMs[0])
		v.Owner.Name, v.Name, v.NICs[0].MAC = "more", "more", ""
		d.VMs = append(d.VMs, v)
	})
	after("begun, and there is another one in its place", func(w *world, d *model.Desired) {
		w.turns(d, 2)
		another(w, d)
	})
	stages = append(stages, situation{base.name + ", made for a full copy, and there is another one in its place", func(t *testing.T, w *world, d *model.Desired) {
		base.do(t, w, d)
		d.VMs[0].Source.Full = true
		w.settle(t, d)
		another(w, d)
	}})
	stages = append(stages, situation{base.name + ", made for a full copy, and another one has taken its place", func(t *testing.T, w *world, d *model.Desired) {
		base.do(t, w, d)
		d.VMs[0].Source.Full = true
		w.settle(t, d)
		another(w, d)
		for range 6 {
			if p, _ := w.planLooks(*d); slices.ContainsFunc(p.steps(), func(s Step) bool { return model.FactsOf(s.Action).Destroys }) {
				return
			}
			w.turns(d, 1)
		}
		t.Error("nothing is destroyed")
	}})
	stages = append(stages, situation{base.name + ", made for many, and the image goes", func(t *testing.T, w *world, d *model.Desired) {
		base.do(t, w, d)
		for i := range 4 {
			v := deep(d.VMs[0])
			v.Owner.Name, v.Name, v.NICs[0].MAC = "more-"+itoa(i), "more-"+itoa(i), ""
			v.Place.Nodes = []string{all3[1+i%2]}
			d.VMs = append(d.VMs, v)
		}
		w.settle(t, d)
		d.Images[0].Deleted = true
	}})
	settled("made, and the image goes", func(_ *world, d *model.Desired) { d.Images[0].Deleted = true })
	settled("made, and all goes", func(_ *world, d *model.Desired) { d.Delete() })
	return stages
}

// troubles is a list of situations that need no test.
type troubles []situation

func (l *troubles) add(name string, do func(w *world, d *model.Desired)) {
	*l = append(*l, situation{name, func(_ *testing.T, w *world, d *model.Desired) { do(w, d) }})
}

// spreadTroubles are what may be in the way of such an image.
func spreadTroubles() (list troubles) {
	add := list.add
	for _, node := range []string{"pve1", "pve2"} {
		add(node+" is offline", func(w *world, _ *model.Desired) { w.Nodes[node].Online = false })
		add(node+" has left the cluster", func(w *world, _ *model.Desired) { delete(w.Nodes, node) })
	}
	copies := func(w *world) (guests []*model.Guest) {
		for _, id := range slices.Sorted(maps.Keys(w.Guests)) {
			if id >= 6000 && id < 7000 {
				guests = append(guests, w.Guests[id])
			}
		}
		return guests
	}
	each := func(name string, do func(w *world, g *model.Guest)) {
		add(name, func(w *world, _ *model.Desired) {
			for _, g := range copies(w) {
				do(w, g)
			}
		})
	}
	each("its copies are locked", func(_ *world, g *model.Guest) { g.Lock = "backup" })
	each("its copies aren't templates", func(_ *world, g *model.Guest) { g.Template = false })
	each("its copies are half made", func(_ *world, g *model.Guest) {
		for i := range g.Config.Disks {
			g.Config.Disks[i].Volume = fmt.Sprintf("local-lvm:vm-%d-disk-%d", g.VMID, i)
		}
	})
	each("its copies were moved", func(_ *world, g *model.Guest) { g.Node = "pve3" })
	each("its copies are being destroyed", func(w *world, g *model.Guest) {
		w.tasks = append(w.tasks, model.Task{UPID: "UPID:d", Node: g.Node, Type: "qmdestroy", VMID: g.VMID})
	})
	each("its copies are being made templates", func(w *world, g *model.Guest) {
		w.tasks = append(w.tasks, model.Task{UPID: "UPID:t", Node: g.Node, Type: "qmtemplate", VMID: g.VMID})
	})
	each("its copies have lost their notes", func(_ *world, g *model.Guest) { g.Config.Marker = nil })
	each("its copies have lost their tags", func(_ *world, g *model.Guest) { g.Tags, g.Config.Tags = nil, nil })
	each("its copies aren't named yet", func(_ *world, g *model.Guest) { g.Name = "" })
	each("its copies aren't named yet and have no tags", func(_ *world, g *model.Guest) { g.Name, g.Tags = "", nil })
	each("its copies are of another set", func(_ *world, g *model.Guest) {
		m := *g.Config.Marker
		m.Owner.Set = "theirs"
		g.Config.Marker = &m
	})
	each("its copies are protected", func(_ *world, g *model.Guest) { g.Config.Options["protection"] = "1" })
	each("its copies are containers", func(_ *world, g *model.Guest) { g.Container = true })
	each("disks without a VM hang on its copies", func(w *world, g *model.Guest) {
		w.seeing(func(o *model.Observed) {
			if o.Volumes != nil {
				o.Volumes["local-lvm"] = append(o.Volumes["local-lvm"], model.Volume{ID: fmt.Sprintf("local-lvm:base-%d-disk-0/vm-777-disk-0", g.VMID), Node: g.Node, VMID: 777})
			}
		})
	})
	each("a guest of somebody else's hangs on its copies", func(w *world, g *model.Guest) {
		their := w.plain(777, "theirs", g.Node)
		their.Config.Disks[0].Storage, their.Config.Disks[0].Volume = "local-lvm", fmt.Sprintf("local-lvm:base-%d-disk-0/vm-777-disk-0", g.VMID)
	})
	for _, f := range []model.Failure{{Hard: true}, {Full: true}, {Unread: true, Hard: true}, {}} {
		f.What, f.Text = "make it", "no"
		add(fmt.Sprintf("it failed on pve2 (hard %t, full %t, unread %t)", f.Hard, f.Full, f.Unread), func(w *world, d *model.Desired) {
			w.fails = map[Key]model.Failure{d.Images[0].Copy("pve2").Object().Key: f}
		})
		add(fmt.Sprintf("it failed on pve2 (hard %t, full %t, unread %t), where the machine is bound to", f.Hard, f.Full, f.Unread), func(w *world, d *model.Desired) {
			of := d.Images[0].Copy("pve2").Object().Key
			w.fails = map[Key]model.Failure{of: f}
			w.seeing(func(o *model.Observed) {
				o.Bound = map[Key]model.Bound{d.VMs[0].Owner.Key: {Node: "pve2", Template: of}}
			})
		})
	}
	for name, change := range inOrder(map[string]func(*model.Image){
		"it isn't to be copied":                 func(i *model.Image) { i.NoCopies = true },
		"it is implied":                         func(i *model.Image) { i.Implied = true },
		"it is of another namespace":            func(i *model.Image) { i.Lent = true },
		"it is held":                            func(i *model.Image) { i.Hold = model.Hold{Reason: "Paused", Text: "it is paused"} },
		"all nodes are to have it":              func(i *model.Image) { i.Ahead = []string{model.AllNodes} },
		"pve3 is to have it":                    func(i *model.Image) { i.Ahead = []string{"pve3"} },
		"a node is to have it that isn't there": func(i *model.Image) { i.Ahead = []string{"pve9"} },
		"others ask for it":                     func(i *model.Image) { i.Asked = []string{"pve1", "pve2", "pve3", "pve9"} },
		"it goes to a shared storage":           func(i *model.Image) { i.Storage = "nfs" },
		"it goes to a storage that isn't there": func(i *model.Image) { i.Storage = "gone" },
		"it goes by its VMID":                   func(i *model.Image) { i.Template, i.URL, i.VMID = "", "", 9000 },
		"it is another image":                   func(i *model.Image) { i.Template, i.URL, i.VMID = "debian-12-template", "", 0 },
	}) {
		add(name, func(_ *world, d *model.Desired) { change(&d.Images[0]) })
	}
	add("all nodes are to have it, and one is off", func(w *world, d *model.Desired) {
		d.Images[0].Ahead, w.Nodes["pve3"].Online = []string{model.AllNodes}, false
	})
	add("nodes are to have it that aren't able to", func(w *world, d *model.Desired) {
		d.Images[0].Ahead = []string{"pve2", "pve3"}
		for _, s := range w.Storages {
			delete(s.OnNode, "pve3")
		}
	})
	add("it is pruned, and the set has all VMIDs", func(_ *world, d *model.Desired) {
		d.Images, d.VMs, d.Prune, d.Range = d.Images[1:], nil, true, model.Range{First: 5000, Last: 6999}
	})
	add("its templates are pruned, and the machines aren't", func(_ *world, d *model.Desired) {
		d.Images, d.Prune, d.Range = d.Images[1:], true, model.Range{First: 5000, Last: 6999}
	})
	unread := func(w *world, first, last int) {
		w.seeing(func(o *model.Observed) {
			for id, g := range o.Guests {
				if id >= first && id <= last {
					g.Config = nil
				}
			}
		})
	}
	add("its copies can't be read", func(w *world, _ *model.Desired) { unread(w, 6000, 6999) })
	add("machines can't be read", func(w *world, _ *model.Desired) { unread(w, 5000, 5999) })
	add("machines can't be read, and the lists are enough", func(w *world, d *model.Desired) { unread(w, 5000, 5999); d.Quick = true })
	add("machines can't be read, and their node is offline", func(w *world, _ *model.Desired) {
		unread(w, 5000, 5999)
		w.Nodes["pve2"].Online = false
	})
	each("a template hangs on its copies", func(w *world, g *model.Guest) {
		w.seeing(func(o *model.Observed) {
			if o.Volumes != nil {
				o.Volumes["local-lvm"] = append(o.Volumes["local-lvm"], model.Volume{ID: fmt.Sprintf("local-lvm:base-%d-disk-0/base-9001-disk-0", g.VMID), Node: g.Node, VMID: 9001})
			}
		})
	})
	each("its copies are of another door", func(_ *world, g *model.Guest) {
		m := *g.Config.Marker
		m.Owner.Door = "cluster"
		g.Config.Marker = &m
	})
	add("a machine is being made", func(w *world, _ *model.Desired) {
		w.tasks = append(w.tasks, model.Task{UPID: "UPID:c", Node: "pve1", Type: "qmclone", VMID: 9000})
	})
	add("somebody's guest has no name yet", func(w *world, _ *model.Desired) {
		w.plain(6700, "", "pve2")
		w.Guests[6700].Lock = "create"
	})
	add("a VMID is hidden", func(w *world, d *model.Desired) {
		w.hidden = map[int]bool{}
		for _, i := range d.Images {
			for _, node := range append([]string{""}, all3...) {
				for id := range versioned(i.Copy(node)).Candidates(i.Range) {
					w.hidden[id] = true
					break
				}
			}
		}
	})
	add("only the lists were read", func(_ *world, d *model.Desired) { d.Quick = true })
	add("the machine may go anywhere", func(_ *world, d *model.Desired) { d.VMs[0].Place.Nodes = nil })
	add("the machine is to be a full copy", func(_ *world, d *model.Desired) { d.VMs[0].Source.Full = true })
	add("machines may be replaced", func(_ *world, d *model.Desired) { d.Allow.Replace = true })
	add("it is pruned", func(_ *world, d *model.Desired) { d.Images, d.VMs, d.Prune = d.Images[1:], nil, true })
	return list
}

// templateTroubles are what may be in the way of copies of a template that people made.
func templateTroubles() (list troubles) {
	add := list.add
	add("its template is locked", func(w *world, _ *model.Desired) { w.Guests[9000].Lock = "backup" })
	add("its template is gone", func(w *world, _ *model.Desired) { delete(w.Guests, 9000) })
	add("its template isn't one any more", func(w *world, _ *model.Desired) { w.Guests[9000].Template = false })
	for _, option := range []string{
		"ivshmem size=1", "hostpci0 0000:01:00.0", "hostpci0 mapping=gpu", "parallel0 /dev/usb/lp0", "serial0 socket", "serial0 /dev/ttyS0", "usb0 host=1234:5678",
		"usb0 host=spice", "usb0 spice", "usb0 mapping=stick", "cores 8",
	} {
		var key, value string
		fmt.Sscan(option, &key, &value)
		add("its template has "+key+" "+value, func(w *world, _ *model.Desired) { w.Guests[9000].Config.Options[key] = value })
	}
	for name, d := range inOrder(map[string]model.Disk{
		"an empty drive":                        {Slot: "ide2", Volume: "none", CDROM: true},
		"a drive without anything":              {Slot: "ide2", CDROM: true},
		"an ISO image on a shared storage":      {Slot: "ide2", Volume: "nfs:iso/first.iso", Storage: "nfs", CDROM: true},
		"an ISO image on a local storage":       {Slot: "ide2", Volume: "files:iso/first.iso", Storage: "files", CDROM: true},
		"a cloud-init drive on a local storage": {Slot: "ide2", Volume: "files:vm-9000-cloudinit", Storage: "files", CDROM: true, CloudInit: true},
		"a disk on a storage of one node":       {Slot: "scsi1", Volume: "one:base-9000-disk-1", Storage: "one", Size: 1 << 30},
		"a disk on a storage that was added":    {Slot: "scsi1", Volume: "late:base-9000-disk-1", Storage: "late", Size: 1 << 30},
		"a disk on a storage that isn't seen":   {Slot: "scsi1", Volume: "hidden:base-9000-disk-1", Storage: "hidden", Size: 1 << 30},
		"a disk on ZFS over iSCSI":              {Slot: "scsi1", Volume: "san:base-9000-disk-1", Storage: "san", Size: 1 << 30},
		"a disk on a storage that is full":      {Slot: "scsi1", Volume: "full:base-9000-disk-1", Storage: "full", Size: 2 << 30},
		"a disk that just fits":                 {Slot: "scsi1", Volume: "full:base-9000-disk-1", Storage: "full", Size: 1 << 30},
		"a disk that just fits on thin storage": {Slot: "scsi1", Volume: "thin:base-9000-disk-1", Storage: "thin", Size: 2 << 30},
		"a disk on thin storage without room":   {Slot: "scsi1", Volume: "none-left:base-9000-disk-1", Storage: "none-left", Size: 2 << 30},
		"a disk on a storage of unknown room":   {Slot: "scsi1", Volume: "unknown:base-9000-disk-1", Storage: "unknown", Size: 2 << 30},
	}) {
		add("its template has "+name, func(w *world, _ *model.Desired) {
			w.storage("files", "dir", false, 100, "iso", all3...)
			w.storage("one", "dir", false, 100, "images", "pve1")
			w.storage("late", "dir", false, 100, "images", "pve1").Late = map[string]bool{"pve2": true}
			w.storage("san", "iscsi", false, 100, "images", all3...)
			w.storage("full", "lvm", false, 1, "images", all3...)
			w.storage("thin", "lvmthin", false, 1, "images", all3...)
			for _, n := range all3 {
				w.storage("none-left", "lvmthin", false, 1, "images", all3...).OnNode[n] = model.Room{Total: 1 << 30, Used: 1 << 30}
			}
			w.storage("unknown", "lvm", false, 0, "images", all3...)
			w.Guests[9000].Config.Disks = append(w.Guests[9000].Config.Disks, d)
		})
	}
	for _, priv := range []string{"VM.Allocate", "VM.Clone", "VM.Migrate", "VM.Config.Options"} {
		add("the credentials lack "+priv, func(w *world, _ *model.Desired) {
			w.without("/vms", slices.DeleteFunc([]string{"VM.Audit", "VM.Allocate", "VM.Clone", "VM.Migrate", "VM.Config.Options"}, func(s string) bool { return s == priv })...)
		})
	}
	add("a second template has its name, on pve2", func(w *world, _ *model.Desired) { w.template(9100, "ubuntu-22-template", "pve2", "local-lvm") })
	add("a second template has its name, on pve2, and isn't one yet", func(w *world, _ *model.Desired) {
		w.template(9100, "ubuntu-22-template", "pve2", "local-lvm")
		w.Guests[9100].Template = false
	})
	add("a second template has its name, on pve1", func(w *world, _ *model.Desired) { w.template(9100, "ubuntu-22-template", "pve1", "local-lvm") })
	add("a second template has its name, on pve3, on shared disks", func(w *world, _ *model.Desired) { w.template(9100, "ubuntu-22-template", "pve3", "nfs") })
	return list
}

// fetchTroubles are what may be in the way of fetching an image.
func fetchTroubles() (list troubles) {
	add := list.add
	for name, said := range inOrder(map[string]model.URLState{
		"says that there is nothing":         {Missing: "404 Not Found"},
		"isn't reached":                      {Unreachable: "connection refused"},
		"has something else":                 {Wrong: "it is a web page"},
		"sends elsewhere":                    {Elsewhere: "mirror.example.org", Format: "qcow2"},
		"sends elsewhere, without TLS":       {Elsewhere: "mirror.example.org", Plain: true},
		"has 1 GiB":                          {Size: 1 << 30, Format: "qcow2"},
		"has 1 GiB, for a disk of 20 GiB":    {Size: 1 << 30, Format: "qcow2", Disk: 20 << 30},
		"has 100 GiB":                        {Size: 100 << 30, Format: "raw"},
		"has 100 GiB, for a disk of 200 GiB": {Size: 100 << 30, Format: "qcow2", Disk: 200 << 30},
		"has a disk of another format":       {Format: "vmdk"},
	}) {
		seen := func(w *world) {
			w.seeing(func(o *model.Observed) {
				for key := range o.URLs {
					o.URLs[key] = said
				}
			})
		}
		add("the server "+name, func(w *world, _ *model.Desired) { seen(w) })
		add("the server "+name+", and there is no checksum", func(w *world, d *model.Desired) { d.Images[0].Checksum = ""; seen(w) })
		add("the server "+name+", and disks go to LVM", func(w *world, d *model.Desired) {
			w.storage("thick", "lvm", false, 100, "images", all3...)
			d.Images[0].Storage = "thick"
			seen(w)
		})
		add("the server "+name+", and its name doesn't say the format", func(w *world, d *model.Desired) {
			d.Images[0].URL = "https://example.com/cloud.img?token=secret"
			seen(w)
		})
		add("the server "+name+", and it is packed", func(w *world, d *model.Desired) { d.Images[0].URL = "https://example.com/cloud.raw.xz"; seen(w) })
		add("the server "+name+", it is packed and there is no checksum", func(w *world, d *model.Desired) {
			d.Images[0].URL, d.Images[0].Checksum = "https://example.com/cloud.raw.xz", ""
			seen(w)
		})
	}
	add("it is packed, and files may not be uploaded", func(w *world, d *model.Desired) {
		d.Images[0].URL = "https://example.com/cloud.raw.xz"
		w.seeing(func(o *model.Observed) {
			for key := range o.URLs {
				o.URLs[key] = model.URLState{Format: "raw", Size: 1 << 30}
			}
		})
		w.without("/storage/nfs", mayAllocate, mayFetch)
		w.without("/storage/files", mayFetch)
	})
	add("it isn't known what is at the URL", func(w *world, d *model.Desired) {
		d.Images[0].URL = "https://example.com/cloud.img"
		w.seeing(func(o *model.Observed) { clear(o.URLs) })
	})
	tasked := func(kind, node string) func(w *world, d *model.Desired) {
		return func(w *world, d *model.Desired) {
			w.tasks = append(w.tasks, model.Task{UPID: "UPID:f", Node: node, Type: kind, ID: fileStem(d.Images[0]) + "qcow2"})
		}
	}
	for _, node := range all3 {
		add("it is being fetched by "+node, tasked("download", node))
	}
	add("something is being uploaded", tasked("imgcopy", "pve1"))
	add("something is being uploaded, and it is packed", func(w *world, d *model.Desired) {
		tasked("imgcopy", "pve1")(w, d)
		d.Images[0].URL = "https://example.com/cloud.raw.xz"
	})
	for _, node := range all3 {
		for _, storage := range []string{"nfs", "files"} {
			add("its file is on "+storage+" of "+node, func(w *world, d *model.Desired) {
				volume := storage + ":import/" + fileStem(d.Images[0]) + "qcow2"
				w.Files[volume] = model.File{Volume: volume, Node: node, Content: "import"}
			})
			add("an earlier file of it is on "+storage+" of "+node, func(w *world, d *model.Desired) {
				volume := storage + ":import/" + filePrefix(d.Images[0]) + "0123456789abcdef.qcow2"
				w.Files[volume] = model.File{Volume: volume, Node: node, Content: "import"}
			})
		}
	}
	for name, change := range inOrder(map[string]func(s *model.Storage){
		"isn't there on pve2":             func(s *model.Storage) { delete(s.OnNode, "pve2") },
		"was just added to pve2":          func(s *model.Storage) { delete(s.OnNode, "pve2"); s.Late = map[string]bool{"pve2": true} },
		"is full":                         func(s *model.Storage) { fill(s, 0) },
		"has room for one file":           func(s *model.Storage) { fill(s, 1<<30) },
		"says nothing of its room":        func(s *model.Storage) { clearRooms(s) },
		"takes nothing":                   func(s *model.Storage) { s.Content = map[string]bool{"backup": true} },
		"doesn't say what it takes":       func(s *model.Storage) { s.Content = nil },
		"is shared, which it wasn't, too": func(s *model.Storage) { s.Shared = !s.Shared },
	}) {
		for _, storage := range []string{"nfs", "files", "local-lvm"} {
			add(storage+" "+name, func(w *world, _ *model.Desired) {
				s := deep(*w.Storages[storage])
				change(&s)
				w.Storages[storage] = &s
				w.seeing(func(o *model.Observed) {
					for key := range o.URLs {
						o.URLs[key] = model.URLState{Format: "qcow2", Size: 1 << 30, Disk: 4 << 30}
					}
				})
			})
		}
	}
	add("another image is fetched onto the same storage", func(w *world, d *model.Desired) {
		other := fetched("another")
		other.Storage, other.Ahead = d.Images[0].Storage, []string{"pve2"}
		d.Images = append(d.Images, other)
		w.seeing(func(o *model.Observed) {
			for key := range o.URLs {
				o.URLs[key] = model.URLState{Format: "qcow2", Size: 60 << 30}
			}
		})
		for _, name := range []string{"nfs", "files"} {
			s := deep(*w.Storages[name])
			fill(&s, 100<<30)
			w.Storages[name] = &s
		}
	})
	return list
}

// fill leaves that much room on a storage.
func fill(s *model.Storage, free int64) {
	for node := range s.OnNode {
		s.OnNode[node] = model.Room{Total: 1000 << 30, Used: 1000<<30 - free}
	}
}

func clearRooms(s *model.Storage) {
	for node := range s.OnNode {
		s.OnNode[node] = model.Room{}
	}
}

// TestImagesOnEachNodeOfTemplates: a template that people made on local disks has a copy on each node that needs one.
func TestImagesOnEachNodeOfTemplates(t *testing.T) {
	matrix(t, "spread-templates", spreadStages(situation{"a template on local disks", func(_ *testing.T, w *world, d *model.Desired) {
		w.template(9000, "ubuntu-22-template", "pve1", "local-lvm")
		d.VMs[0].Place.Nodes = []string{"pve2"}
	}}), append(spreadTroubles(), templateTroubles()...))
}

// TestImagesOnEachNodeThatAreFetched: an image that is fetched onto local disks is a template on each node that needs one. The file is
// fetched once where a shared storage takes it, and by each node elsewhere.
func TestImagesOnEachNodeThatAreFetched(t *testing.T) {
	base := func(change func(w *world, i *model.Image)) func(*testing.T, *world, *model.Desired) {
		return func(_ *testing.T, w *world, d *model.Desired) {
			i := fetched(testImage.Owner.Name)
			i.Storage = "local-lvm"
			w.storage("files", "dir", false, 100, "import", all3...)
			change(w, &i)
			d.Images[0], d.VMs[0].Place.Nodes = i, []string{"pve2"}
		}
	}
	few := regexp.MustCompile(`storage$|after 1|more machines$|full copy|goes$`)
	for name, change := range inOrder(map[string]func(w *world, i *model.Image){
		"shared": func(w *world, _ *model.Image) { w.Storages["files"].Content = map[string]bool{"iso": true} },
		"local": func(w *world, _ *model.Image) {
			w.Storages["nfs"].Content = map[string]bool{"images": true, "iso": true}
		},
	}) {
		stages := spreadStages(situation{"fetched onto " + name + " storage", base(change)})
		if name == "shared" { // much is as it is with local ones
			stages = slices.DeleteFunc(stages, func(s situation) bool { return !few.MatchString(s.name) })
		}
		matrix(t, "spread-fetched-"+name, stages, append(spreadTroubles(), fetchTroubles()...))
	}
}
