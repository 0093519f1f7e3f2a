package plan

import (
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// TestWhatIsChangedAndHow: interfaces, disks, options, CPUs and marks of machines that are there, or were just made.
func TestWhatIsChangedAndHow(t *testing.T) {
	type T = *testing.T
	type W = *world
	type D = *model.Desired
	type V = *model.VM
	type G = *model.Guest
	there := func(name string, change func(w W, d D, v V, g G)) situation {
		return situation{name, func(t T, w W, d D) { w.settle(t, d); change(w, d, &d.VMs[0], w.guest("web")) }}
	}
	cold := func(name string, change func(n *model.NIC)) situation {
		return there("an interface that can't be plugged: "+name, func(_ W, _ D, v V, g G) {
			g.Config.Options["hotplug"] = "0"
			v.NICs = slices.Clone(v.NICs)
			change(&v.NICs[0])
		})
	}
	pend := func(g G, keys ...string) {
		g.Config.Running, g.Config.Pending = was(g.Config), map[string]*string{}
		for _, k := range keys {
			g.Config.Pending[k] = nil
		}
	}
	second := func(d D, change func(v V)) {
		v := testVM("second")
		v.NICs[0].MAC = ""
		change(&v)
		d.VMs = append(d.VMs, v)
	}
	seed := func() *model.Seed { return &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"} }
	disk := func(slot, storage string) model.Disk {
		return model.Disk{Slot: slot, Volume: storage + ":vm-1-" + slot, Storage: storage, Size: 1 << 30}
	}
	situations(t, "changed", []situation{
		cold("its bridge", func(n *model.NIC) { n.Bridge = "vmbr1" }),
		cold("its VLAN", func(n *model.NIC) { n.VLAN = 7 }),
		cold("its firewall", func(n *model.NIC) { n.Firewall = true }),
		cold("its model", func(n *model.NIC) { n.Model = "e1000" }),
		cold("its MAC address", func(n *model.NIC) { n.MAC = "02:00:00:00:00:09" }),
		cold("its MTU", func(n *model.NIC) { n.MTU = 1400 }),
		cold("its queues", func(n *model.NIC) { n.Options = map[string]string{"queues": "2"} }),
		cold("its rate", func(n *model.NIC) { n.Options = map[string]string{"rate": "2"} }),
		there("an interface whose change is pending goes back to another MAC address", func(_ W, _ D, v V, g G) {
			pend(g, "net0")
			g.Config.Running.NICs[0].MAC, g.Config.NICs[0].Bridge = "02:00:00:00:00:09", "vmbr1"
		}),
		there("an interface whose change is pending goes elsewhere", func(_ W, _ D, v V, g G) {
			pend(g, "net0")
			g.Config.NICs[0].Bridge, v.NICs[0].Bridge = "vmbr1", "vmbr2"
		}),
		{"just cloned, with an interface of the image that nobody names", func(_ T, w W, d D) {
			c := w.Guests[9000].Config
			c.NICs = append(c.NICs, model.NIC{Slot: "net4", Model: "virtio", Bridge: "vmbr1"})
			w.turns(d, 1)
		}},
		{"just cloned, without interfaces of its own", func(_ T, w W, d D) { d.VMs[0].NICs = nil; w.turns(d, 1) }},
		{"just copied, with an interface of the source that nobody names", func(t T, w W, d D) {
			w.settle(t, d)
			g := w.guest("web")
			g.Config.NICs = append(g.Config.NICs, model.NIC{Slot: "net4", Model: "virtio", Bridge: "vmbr1"})
			c := copyOf(d.VMs[0], "copy")
			c.Seed = nil
			d.VMs = append(d.VMs, c)
			w.turns(d, 1)
		}},
		{"just copied, whose source has other first-boot data by now", func(t T, w W, d D) {
			d.VMs[0].Seed = seed()
			w.settle(t, d)
			c := copyOf(d.VMs[0], "copy")
			c.Seed = seed()
			d.VMs = append(d.VMs, c)
			w.turns(d, 1)
			d.VMs[1].Seed.Digest = "bbbbbbbbbbbbbbbb"
		}},
		{"a copy whose own first-boot data aren't wanted any more", func(t T, w W, d D) {
			w.settle(t, d)
			c := copyOf(d.VMs[0], "copy")
			c.Seed, c.Inherited = seed(), []string{model.InheritedNICs}
			d.VMs = append(d.VMs, c)
			w.settle(t, d)
			d.VMs[1].Seed = nil
		}},
		{"a copy of which nobody knows what it was copied from", func(t T, w W, d D) {
			w.settle(t, d)
			c := copyOf(d.VMs[0], "copy")
			c.Seed = nil
			d.VMs = append(d.VMs, c)
			w.settle(t, d)
			w.guest("copy").Config.Marker.Source = ""
		}},
		{"a copy of which nobody says any more what it is copied from", func(t T, w W, d D) {
			w.settle(t, d)
			c := copyOf(d.VMs[0], "copy")
			c.Seed = nil
			d.VMs = append(d.VMs, c)
			w.settle(t, d)
			d.VMs[1].Source = model.Source{Copy: true}
		}},
		{"a copy whose first-boot data have another digest, and are the same", func(t T, w W, d D) {
			d.VMs[0].Seed = seed()
			c := copyOf(d.VMs[0], "copy")
			c.Seed = seed()
			d.VMs = append(d.VMs, c)
			w.settle(t, d)
			d.VMs[1].Seed = &model.Seed{Storage: "nfs", Digest: "bbbbbbbbbbbbbbbb", Also: []string{"aaaaaaaaaaaaaaaa"}}
		}},
		there("its first-boot data have another digest, and are the same", func(_ W, _ D, v V, g G) {
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, seedPrefix+"cccccccccccccccc", passwordPrefix+"dddd")
			g.Config.Marker.Seed = "nfs:iso/proxplane-5600-cccccccccccc.iso"
			v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa", Also: []string{"cccccccccccccccc"}}
			v.Options[model.Password], v.Password = "x", model.Seal{Mark: "eeee", Also: []string{"dddd"}}
		}),
		there("first-boot data that nobody has any more, and the drive is gone", func(w W, _ D, v V, g G) {
			g.Config.Marker.Seed = "nfs:iso/proxplane-5600-aaaaaaaaaaaa.iso"
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, seedPrefix+"aaaaaaaaaaaaaaaa")
			v.Seed = seed()
			v.Seed.Lost = true
		}),
		{"the marker doesn't name the file that the drive holds", func(t T, w W, d D) {
			d.VMs[0].Seed = seed()
			w.settle(t, d)
			w.guest("web").Config.Marker.Seed = ""
		}},
		{"snippets and more cores", func(t T, w W, d D) {
			w.storage("local", "dir", false, 100, "snippets", all3...)
			d.VMs[0] = snippetVM("web", "aaaaaaaaaaaaaaaa", false)
			w.settle(t, d)
			d.VMs[0].Seed.Digest, d.VMs[0].Options["onboot"] = "bbbbbbbbbbbbbbbb", "1"
		}},
		there("another password", func(_ W, _ D, v V, g G) {
			g.Config.Options[model.Password], g.Config.Marker.Managed = "**********", append(g.Config.Marker.Managed, passwordPrefix+"s.aaaa", model.Password)
			v.Options[model.Password], v.Password, v.Managed = "x", model.Seal{Mark: "s.bbbb"}, []string{model.Password}
		}),
		there("an option that waits for a restart, and another one", func(_ W, d D, v V, g G) {
			pend(g, "cores")
			g.Config.Running.Options["cores"], v.Options["bios"], d.Allow.Restart = "1", "ovmf", true
		}),
		{"an implied template that isn't there, and a machine of another image isn't made", func(t T, w W, d D) {
			w.settle(t, d)
			d.Images[0].Implied = true
			delete(w.Guests, 9000)
			second(d, func(v V) { v.Source.Image.Name = "nowhere" })
		}},
		{"somebody's machine of its name was restored", func(t T, w W, d D) {
			w.plain(7000, "web", "pve1")
			w.tasks = []model.Task{{UPID: "UPID:r", Type: "qmrestore", VMID: 7000}}
		}},
		{"a guest is called by its VMID", func(t T, w W, d D) { w.plain(5901, "5901", "pve1") }},
		{"a template whose first disk is Proxmox' own drive", func(t T, w W, d D) {
			c := w.Guests[9000].Config
			c.Disks = append([]model.Disk{{Slot: "ide2", Volume: "nfs:vm-9000-cloudinit", Storage: "nfs", CDROM: true, CloudInit: true}}, c.Disks...)
			d.VMs[0].Seed = seed()
			w.turns(d, 1)
		}},
		{"a copy with as much memory as its source, which isn't there yet", func(t T, w W, d D) {
			second(d, func(v V) {
				v.Source = model.Source{VM: d.VMs[0].Owner.Key}
				delete(v.Options, "memory")
			})
		}},
		{"an image goes that was fetched three times", func(t T, w W, d D) {
			i := fetched("cloud")
			d.Images = append(d.Images, i)
			w.settle(t, d)
			for _, g := range w.Guests {
				if g.Name == "cloud" {
					for _, id := range []int{6900, 6001} {
						w.twin(g, id).Config.Signed = model.Signed
					}
					break
				}
			}
			d.Images[2].Deleted = true
		}},
		{"shared: a machine on a release without mappings", func(t T, w W, d D) {
			*d = sharing([]model.Share{testShare("data", "/srv/data")}, sharingVM("web", "data"))
			w.seeing(func(o *model.Observed) { o.Release, o.Minor = 8, 3 })
		}},
		there("all CPUs are plugged, which goes without saying", func(_ W, _ D, v V, g G) { v.Options["vcpus"], g.Config.Options["vcpus"] = "", "4" }),
		there("not all CPUs are plugged, and it isn't said", func(_ W, _ D, v V, g G) { v.Options["vcpus"], g.Config.Options["vcpus"] = "", "2" }),
		there("all CPUs are plugged, and fewer are wanted", func(_ W, _ D, v V, g G) { v.Options["vcpus"], g.Config.Options["vcpus"] = "2", "4" }),
		there("more CPUs than the node has, to be shut down", func(_ W, _ D, v V, g G) { v.Options["cores"], v.Power = "99", model.PowerOffGraceful }),
		there("more CPUs than the node has, as before, to start", func(_ W, _ D, v V, g G) {
			v.Options["cores"], g.Config.Options["cores"], g.Status = "99", "99", model.StatusStopped
		}),
		there("with a key, and not signed", func(w W, _ D, v V, g G) { w.seeing(func(o *model.Observed) { o.Keyed = true }) }),
		there("with a key, and signed by another one", func(w W, _ D, v V, g G) {
			w.seeing(func(o *model.Observed) { o.Keyed = true })
			g.Config.Signed = model.OtherKey
		}),
		there("with a key, and signed by the one before", func(w W, _ D, v V, g G) {
			w.seeing(func(o *model.Observed) { o.Keyed = true })
			g.Config.Signed = model.Before
		}),
		there("may be as it is, is off, and something of it is pending", func(_ W, d D, v V, g G) {
			pend(g, "cores")
			v.Power, g.Status, d.Allow.Restart = "", model.StatusStopped, true
		}),
		there("a pending option of ours that nobody names", func(_ W, _ D, v V, g G) {
			pend(g, "audio0", "scsi7", "net7")
			g.Config.Disks = append(g.Config.Disks, disk("scsi7", "nfs"))
			g.Config.Running.Options["audio0"] = "x"
		}),
		there("a pending disk of ours", func(_ W, _ D, v V, g G) {
			g.Config.Disks = append(g.Config.Disks, disk("scsi7", "nfs"))
			pend(g, "scsi7")
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, "disk:scsi7")
			v.Disks = append(v.Disks, model.Disk{Slot: "scsi7", Storage: "nfs", Size: 1 << 30})
		}),
		there("CPUs that aren't said any more at the restart", func(_ W, _ D, v V, g G) {
			pend(g, "cores", "memory")
			g.Config.Running.Options["cores"], g.Config.Running.Options["memory"] = "2", "2048"
			g.Config.Options["cores"], g.Config.Options["memory"] = "0", "0"
			v.Options = map[string]string{"cores": "0", "memory": "0"}
		}),
		there("an option of a disk that is pending, and others are wanted", func(_ W, _ D, v V, g G) {
			g.Config.Disks[0].Options = map[string]string{"cache": "none"}
			pend(g, "scsi0")
			g.Config.Running.Disks[0].Options = map[string]string{"cache": "writeback"}
			v.Disks[0].Options = map[string]string{"cache": "directsync"}
		}),
		there("two late options of a disk", func(_ W, _ D, v V, g G) {
			v.Disks[0].Options = map[string]string{"werror": "stop", "backup": "0", "rerror": "stop"}
		}),
		there("the format of the root disk, and firmware elsewhere", func(_ W, _ D, v V, g G) {
			g.Config.Disks[0].Format, v.Disks[0].Format = "qcow2", "raw"
			g.Config.Disks = append(g.Config.Disks, disk("efidisk0", "local-lvm"))
			v.Disks = append(v.Disks, model.Disk{Slot: "efidisk0"})
		}),
		there("firmware was there, and its volume is detached", func(_ W, _ D, v V, g G) {
			v.Disks = append(v.Disks, model.Disk{Slot: "efidisk0", Storage: "nfs"})
			g.Config.Unused = []model.Disk{{Slot: "unused0", Volume: "nfs:vm-1-disk-9"}, {Slot: "unused1", Volume: "nfs:vm-1-cloudinit", CloudInit: true}}
		}),
		there("a new disk, and the volume of another one is detached", func(_ W, _ D, v V, g G) {
			v.Disks = append(v.Disks, model.Disk{Slot: "scsi3", Storage: "nfs", Size: 1 << 30}, model.Disk{Slot: "scsi4", Storage: "nfs", Size: 1 << 30})
			g.Config.Marker.Disks = map[string]string{"scsi3": model.Digest("nfs:vm-1-disk-9"), "scsi4": model.Digest("nfs:vm-1-disk-8")}
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, "disk:scsi3", "disk:scsi4")
			g.Config.Unused = []model.Disk{{Slot: "unused0", Volume: "nfs:vm-1-disk-9"}}
		}),
		there("a drive is wanted where volumes are detached", func(_ W, _ D, v V, g G) {
			v.Disks = append(v.Disks, model.Disk{Slot: "ide0", Volume: "none", CDROM: true}, model.Disk{Slot: "scsi6", Volume: "nfs:vm-1-disk-6", Storage: "nfs"})
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, "disk:ide0", "disk:scsi6")
			g.Config.Unused = []model.Disk{{Slot: "unused0", Volume: "nfs:vm-1-disk-9"}}
		}),
		there("another disk is booted from, which is wanted, too", func(_ W, _ D, v V, g G) {
			g.Config.Disks = append(g.Config.Disks, disk("scsi1", "nfs"))
			v.Disks = append(v.Disks, model.Disk{Slot: "scsi1", Storage: "nfs", Size: 1 << 30})
			g.Config.Options["boot"] = "order=scsi1"
			g.Config.Marker.Disks = nil
		}),
		there("another disk is booted from, which was another slot's", func(_ W, _ D, v V, g G) {
			g.Config.Disks = append(g.Config.Disks, disk("scsi1", "nfs"))
			v.Disks = append(v.Disks, model.Disk{Slot: "scsi2", Storage: "nfs", Size: 1 << 30})
			g.Config.Options["boot"] = "order=scsi1"
			g.Config.Marker.Disks = map[string]string{"scsi2": model.Digest("nfs:vm-1-scsi1")}
		}),
		there("the root disk is detached while it isn't first", func(_ W, _ D, v V, g G) {
			d := take(g.Config, "scsi0")
			g.Config.Unused = []model.Disk{{Slot: "unused0", Volume: d.Volume}}
			g.Config.Options["boot"] = "cdn"
		}),
		there("a disk is pending to go, with other options and another volume", func(_ W, _ D, v V, g G) {
			one := disk("scsi1", "nfs")
			v.Disks = append(v.Disks, model.Disk{Slot: "scsi1", Storage: "nfs", Size: 1 << 30})
			pend(g, "scsi1")
			g.Config.Running.Disks = append(g.Config.Running.Disks, one)
			g.Config.Marker.Disks["scsi1"] = model.Digest("nfs:other")
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, "disk:scsi1")
		}),
		there("a disk without a volume", func(_ W, _ D, v V, g G) {
			v.Disks = append(v.Disks, model.Disk{Slot: "scsi1", Storage: "nfs"})
			g.Config.Disks = append(g.Config.Disks, model.Disk{Slot: "scsi1"})
		}),
		there("disks of the same size, but for what is rounded", func(_ W, _ D, v V, g G) { g.Config.Disks[0].Size = 40<<30 + 1 }),
		there("made of a linked clone, to be a full one", func(_ W, _ D, v V, g G) { v.Source.Full = true }),
		there("a template's own disk, to be a full copy", func(_ W, _ D, v V, g G) {
			v.Source.Full = true
			g.Config.Disks[0].Volume = "nfs:base-5600-disk-0"
		}),
		there("its template isn't selected any more, by storage", func(w W, d D, v V, g G) { d.Images[0].DiskStorage = "local-lvm" }),
		there("its template is selected, by storage", func(w W, d D, v V, g G) { d.Images[0].DiskStorage = "nfs" }),
		there("the image has another VMID now", func(w W, d D, v V, g G) { d.Images[0].Template, d.Images[0].VMID = "", 9001 }),
		there("the image has another VMID now, and it may be replaced", func(w W, d D, v V, g G) {
			d.Images[0].Template, d.Images[0].VMID, v.Update.Replace = "", 9001, true
		}),
		there("the manifest allows stops and moves", func(w W, d D, v V, g G) {
			v.Update = model.Allow{Stop: true, Move: true, Restart: true}
			v.Options["bios"], v.Place.Nodes = "ovmf", []string{"pve2"}
		}),
		there("the manifest allows stops", func(w W, d D, v V, g G) {
			v.Update = model.Allow{Stop: true, Restart: true}
			v.Options["bios"] = "ovmf"
		}),
		there("its agent is silent, and a snapshot is to be taken", func(w W, d D, v V, g G) {
			g.Agent, g.Addresses = model.AgentDown, nil
			d.Snapshots = []model.Snapshot{{Owner: owner("VMSnapshot", "s"), VM: v.Owner.Key, Name: "s"}}
		}),
		there("something of it has failed, and a copy is to be made", func(w W, d D, v V, g G) {
			w.fails = map[Key]model.Failure{v.Owner.Key: {What: "start", Text: "no", Hard: true}}
			second(d, func(c V) { c.Source = model.Source{VM: v.Owner.Key} })
		}),
		{"a copy of a copy that is being changed, in any order", func(t T, w W, d D) {
			second(d, func(c V) { c.Source = model.Source{VM: d.VMs[0].Owner.Key} })
			w.settle(t, d)
			d.VMs[1].Tags = []string{"x"}
			third := testVM("third")
			third.NICs[0].MAC, third.Source = "", model.Source{VM: d.VMs[1].Owner.Key}
			d.VMs = []model.VM{third, d.VMs[1], d.VMs[0]}
		}},
		{"two that are copies of each other", func(t T, w W, d D) {
			second(d, func(c V) { c.Source = model.Source{VM: d.VMs[0].Owner.Key} })
			d.VMs[0].Source = model.Source{VM: d.VMs[1].Owner.Key}
		}},
		{"from nothing, with first-boot data and no pool", func(t T, w W, d D) {
			d.VMs[0].Source, d.VMs[0].Seed, d.VMs[0].Disks[0].Size = model.Source{Blank: true, Full: true}, seed(), 1<<30
		}},
		{"from nothing, under HA with a rule and no pool", func(t T, w W, d D) {
			d.VMs[0].Source, d.VMs[0].HA, d.VMs[0].Disks[0].Size = model.Source{Blank: true}, &model.HA{Group: "fast"}, 1<<30
		}},
		{"with options, tags and options of disks", func(t T, w W, d D) {
			v := &d.VMs[0]
			v.Options["vga"], v.Options["agent"], v.Managed, v.Tags, v.Pool = "std", "1", []string{"vga", "agent"}, []string{"b", "a"}, "team"
			v.Disks[0].Options = map[string]string{"ssd": "1", "cache": "none", "backup": "0", "discard": "on"}
			v.NICs = append(v.NICs, model.NIC{Slot: "net1", Model: "virtio", Bridge: "vmbr1"})
			v.HA, v.Password, v.Options[model.Password] = &model.HA{}, model.Seal{Mark: "s.aaaa"}, "x"
		}},
		{"apart from one that is being made elsewhere", func(t T, w W, d D) {
			d.VMs = databases(3)
			first := 0
			for id := range d.VMs[0].Owner.Candidates(d.VMs[0].Range) {
				first = id
				break
			}
			w.seeing(func(o *model.Observed) {
				o.Placed = map[int]model.Placement{first: {Owner: d.VMs[0].Owner, Node: "pve3", Memory: 1 << 30, Begun: true}}
			})
		}},
		there("a node that uses more than it has, and no memory has to stay free", func(w W, d D, v V, g G) { w.Nodes["pve1"].Used = 70 << 30 }),
		there("to move, with snapshots, a local disk and a cloud-init drive", func(w W, d D, v V, g G) {
			w.storage("here", "dir", false, 50, "images", all3...)
			g.Config.Disks = []model.Disk{{Slot: "ide2", Volume: "here:vm-1-cloudinit", Storage: "here", CDROM: true, CloudInit: true}, {Slot: "scsi0", Volume: "here:1/vm-1-disk-0.qcow2", Storage: "here", Size: 40 << 30, Format: "qcow2"}}
			g.Config.Marker.Disks = nil
			g.Snapshots, g.Status, v.Power = []model.SnapshotInfo{{Name: "x"}}, model.StatusStopped, model.PowerOff
			v.Place.Nodes, d.Allow.Move = []string{"pve2"}, true
		}),
		{"templates in a pool, which nobody asks for", func(t T, w W, d D) { w.Guests[9000].Pool = "images" }},
		{"another template of the name than before, for two by a glance", func(t T, w W, d D) {
			second(d, func(V) {})
			w.settle(t, d)
			delete(w.Guests, 9000)
			w.template(9100, "ubuntu-22-template", "pve1", "nfs")
			third := testVM("third")
			third.NICs[0].MAC = ""
			d.VMs, d.Quick = append(d.VMs, third), true
		}},
		{"another template of the name than before, and a guest says that it is one of them", func(t T, w W, d D) {
			w.settle(t, d)
			w.twin(w.guest("web"), 777)
			delete(w.Guests, 9000)
			w.template(9100, "ubuntu-22-template", "pve1", "nfs")
			second(d, func(V) {})
			d.Quick = true
		}},
		{"another VMID of the image than before", func(t T, w W, d D) {
			d.Images[0].Template, d.Images[0].VMID = "", 9000
			w.settle(t, d)
			d.Images[0].VMID = 9001
			second(d, func(V) {})
		}},
		{"left: its machine goes, and nobody has looked", func(t T, w W, d D) {
			d.VMs[0].Deleted = true
			w.seeing(func(o *model.Observed) {
				o.Left = []model.Left{{Task: "t", Owner: d.VMs[0].Owner, VMID: 5600, Node: "pve1", Volumes: []string{"nfs:a"}}}
			})
		}},
		{"left: tasks that failed, and a machine that is changed", func(t T, w W, d D) {
			w.settle(t, d)
			d.VMs[0].Tags = []string{"x"}
			w.seeing(func(o *model.Observed) { o.Unclean = true })
		}},
		{"left: the removal of something of nobody has failed", func(t T, w W, d D) {
			w.without("/storage/nfs", "Datastore.Allocate", mayAllocate)
			w.fails = map[Key]model.Failure{model.Leftovers: {What: "remove it", Text: "no", Hard: true}}
			w.seeing(func(o *model.Observed) {
				o.Left = []model.Left{{Task: "t", VMID: 5601, Node: "pve1", Volumes: []string{"nfs:a"}, Found: &model.Found{There: []string{"nfs:a"}}}}
			})
		}},
	})
}

// A machine whose config wasn't read yet counts where it most likely is.
func TestAMachineKeepsItsDistanceFromOneThatWasNotReadYet(t *testing.T) {
	w := newWorld()
	vms := databases(2)
	converge(quiet{t}, w, desired(vms[0]))
	vms[1].Place.Nodes = []string{w.guest("db-0").Node}
	vms[0].Tags = []string{"changed"} // so that a glance isn't enough
	p := For(desired(vms...), w.observe(Look{Configs: []int{9000}, Bridges: all3}))
	if o := p.object(t, "db-1"); o.Wait == nil || o.Wait.Reason != model.WaitPlace {
		t.Errorf("it should wait:\n%s", p)
	}
}
