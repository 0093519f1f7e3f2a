package plan

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
)

// TestFirstBootDataAndCopies: first-boot data in drives, as snippets and by the hook, of machines and of their copies.
func TestFirstBootDataAndCopies(t *testing.T) {
	type T = *testing.T
	type W = *world
	type D = *model.Desired
	seed := func() *model.Seed { return &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"} }
	snippets := func(w W, d D) {
		w.storage("local", "dir", false, 100, "snippets", all3...)
		d.VMs[0] = snippetVM("web", "aaaaaaaaaaaaaaaa", false)
	}
	// copied has a machine and a copy of it, which has its first-boot data from there.
	copied := func(name string, source func(*model.VM), change func(w W, d D, c *model.VM, g *model.Guest)) situation {
		return situation{"a copy: " + name, func(t T, w W, d D) {
			w.storage("local", "dir", false, 100, "snippets", all3...)
			d.VMs[0].Seed = seed()
			source(&d.VMs[0])
			c := copyOf(d.VMs[0], "copy")
			c.Seed, c.Own, c.Hook = d.VMs[0].Seed, maps.Clone(d.VMs[0].Own), d.VMs[0].Hook
			if c.Own != nil {
				c.Inherited, c.Managed = append(c.Inherited, "cicustom"), append(c.Managed, "cicustom")
			}
			d.VMs = append(d.VMs, c)
			w.settle(t, d)
			change(w, d, &d.VMs[1], w.guest("copy"))
		}}
	}
	plain := func(*model.VM) {}
	apart := func(v *model.VM) {
		v.Seed.Apart = true
		v.Hook = model.Text{{Fixed: "```proxplane\nseed: nfs:iso/"}, {Own: model.OwnSeed}, {Fixed: ".iso\n```"}}
	}
	asSnippets := func(v *model.VM) {
		s := snippetVM("web", "aaaaaaaaaaaaaaaa", false)
		v.Seed, v.Own, v.Managed = s.Seed, s.Own, append(v.Managed, "cicustom")
	}
	begun := func(name string, turns int, change func(w W, d D, g *model.Guest)) situation {
		return situation{"begun: " + name, func(t T, w W, d D) {
			c := w.guests[9000].Config
			c.Disks = append(c.Disks, model.Disk{Slot: "ide2", Volume: "nfs:vm-9000-cloudinit", Storage: "nfs", CDROM: true, CloudInit: true})
			d.VMs[0].Seed = seed()
			w.turns(d, turns)
			change(w, d, w.guest("web"))
		}}
	}
	there := func(name string, change func(w W, d D, g *model.Guest)) situation {
		return situation{name, func(t T, w W, d D) { d.VMs[0].Seed = seed(); w.settle(t, d); change(w, d, w.guest("web")) }}
	}
	situations(t, "first-boot", []situation{
		there("plain", func(W, D, *model.Guest) {}),
		there("other data", func(_ W, d D, _ *model.Guest) { d.VMs[0].Seed.Digest = "bbbbbbbbbbbbbbbb" }),
		there("other data, which are done again", func(_ W, d D, _ *model.Guest) { d.VMs[0].Seed.Digest, d.VMs[0].Seed.Rerun = "bbbbbbbbbbbbbbbb", true }),
		there("other data, which are done again, of one that is off", func(_ W, d D, g *model.Guest) {
			d.VMs[0].Seed.Digest, d.VMs[0].Seed.Rerun, d.VMs[0].Power, g.Status = "bbbbbbbbbbbbbbbb", true, model.PowerOff, model.StatusStopped
		}),
		there("no data any more", func(_ W, d D, _ *model.Guest) { d.VMs[0].Seed = nil }),
		there("no data any more, but a user", func(_ W, d D, _ *model.Guest) {
			d.VMs[0].Seed, d.VMs[0].Options["ciuser"], d.VMs[0].Managed = nil, "me", []string{"ciuser"}
		}),
		there("data that are lost", func(w W, d D, g *model.Guest) { d.VMs[0].Seed.Lost = true; delete(w.files, g.Config.Marker.Seed) }),
		there("to start, and the file is gone", func(w W, d D, g *model.Guest) { g.Status = model.StatusStopped; delete(w.files, g.Config.Marker.Seed) }),
		there("off, and the file is gone", func(w W, d D, g *model.Guest) {
			g.Status, d.VMs[0].Power = model.StatusStopped, model.PowerOff
			delete(w.files, g.Config.Marker.Seed)
		}),
		there("an old file is there", func(w W, d D, g *model.Guest) {
			old := "nfs:iso/proxplane-1-bbbbbbbbbbbb.iso"
			g.Config.Marker.Old = []string{old, old}
			w.files[old] = model.File{Volume: old, Node: "pve1", Content: "iso"}
		}),
		there("an old file isn't there", func(w W, d D, g *model.Guest) { g.Config.Marker.Old = []string{"nfs:iso/proxplane-1-bbbbbbbbbbbb.iso"} }),
		there("an old file may be under way", func(w W, d D, g *model.Guest) {
			g.Config.Marker.Old = []string{"nfs:iso/proxplane-1-bbbbbbbbbbbb.iso", "nfs:iso/proxplane-1-cccccccccccc.iso"}
			w.tasks = []model.Task{{UPID: "UPID:c", Type: "imgcopy"}}
		}),
		there("an old file is in a drive", func(w W, d D, g *model.Guest) {
			old := "nfs:iso/proxplane-1-bbbbbbbbbbbb.iso"
			g.Config.Marker.Old = []string{old}
			w.files[old] = model.File{Volume: old, Node: "pve1", Content: "iso"}
			g.Config.Disks = append(g.Config.Disks, model.Disk{Slot: "ide1", Volume: old, Storage: "nfs", CDROM: true})
		}),
		there("an old file is in a drive until the restart", func(w W, d D, g *model.Guest) {
			old := "nfs:iso/proxplane-1-bbbbbbbbbbbb.iso"
			g.Config.Marker.Old = []string{old}
			w.files[old] = model.File{Volume: old, Node: "pve1", Content: "iso"}
			g.Config.Running = was(g.Config)
			g.Config.Running.Disks = append(g.Config.Running.Disks, model.Disk{Slot: "ide1", Volume: old, Storage: "nfs", CDROM: true})
		}),
		there("to go, with files", func(w W, d D, g *model.Guest) {
			old := "nfs:iso/proxplane-1-bbbbbbbbbbbb.iso"
			g.Config.Marker.Old = []string{old}
			w.files[old] = model.File{Volume: old, Node: "pve1", Content: "iso"}
			d.VMs[0].Deleted = true
		}),
		there("to be let go, with files", func(w W, d D, g *model.Guest) {
			old := "nfs:iso/proxplane-1-bbbbbbbbbbbb.iso"
			g.Config.Marker.Old = []string{old}
			w.files[old] = model.File{Volume: old, Node: "pve1", Content: "iso"}
			d.VMs[0].Deleted, d.VMs[0].Retain = true, true
		}),
		there("the file is on the node that it has left", func(w W, d D, g *model.Guest) {
			w.stores["nfs"].Shared = false
			g.Status, g.Node = model.StatusStopped, "pve2"
		}),
		there("the drive is taken by a disk of the same name", func(w W, d D, g *model.Guest) {
			d.VMs[0].Seed = nil
			g.Config.Marker.Seed = ""
			for i, one := range g.Config.Disks {
				if one.CDROM {
					g.Config.Disks[i] = model.Disk{Slot: one.Slot, Volume: "nfs:5600/proxplane-5600-abc.raw", Storage: "nfs", Size: 1 << 30}
				}
			}
		}),
		there("a drive with data of another machine", func(w W, d D, g *model.Guest) {
			d.VMs[0].Seed = nil
			g.Config.Marker.Seed = ""
			for i, one := range g.Config.Disks {
				if one.CDROM {
					g.Config.Disks[i].Volume = "nfs:iso/proxplane-1-bbbbbbbbbbbb.iso"
				}
			}
		}),
		begun("cloned", 1, func(W, D, *model.Guest) {}),
		begun("cloned, and somebody has started it", 1, func(w W, _ D, g *model.Guest) { w.start(g) }),
		begun("uploaded", 2, func(W, D, *model.Guest) {}),
		begun("uploaded, and somebody has started it", 2, func(w W, _ D, g *model.Guest) { w.start(g) }),
		begun("configured", 3, func(W, D, *model.Guest) {}),
		begun("cloned, and no drive of its bus is free", 1, func(_ W, _ D, g *model.Guest) {
			for _, slot := range []string{"ide0", "ide1", "ide3"} {
				g.Config.Disks = append(g.Config.Disks, model.Disk{Slot: slot, Volume: "nfs:iso/first.iso", Storage: "nfs", CDROM: true})
			}
		}),
		begun("cloned, and an empty drive of its bus is free", 1, func(_ W, _ D, g *model.Guest) {
			g.Config.Disks = append(g.Config.Disks, model.Disk{Slot: "ide0", Volume: "none", CDROM: true}, model.Disk{Slot: "ide1", Volume: "nfs:iso/first.iso", CDROM: true})
		}),
		{"cloned, no drive is free anywhere", func(t T, w W, d D) {
			c := w.guests[9000].Config
			for _, slot := range ideDrives {
				c.Disks = append(c.Disks, model.Disk{Slot: slot, Volume: "nfs:iso/first.iso", Storage: "nfs", CDROM: true})
			}
			d.VMs[0].Seed = seed()
			w.turns(d, 1)
		}},
		{"cloned, drives are to be where the manifest's are", func(t T, w W, d D) {
			d.VMs[0].Seed = seed()
			d.VMs[0].Disks = append(d.VMs[0].Disks, model.Disk{Slot: "ide2", Volume: "nfs:iso/first.iso", CDROM: true}, model.Disk{Slot: "ide0", Volume: "none", CDROM: true})
			w.turns(d, 1)
		}},
		{"cloned, on a q35 with virtio", func(t T, w W, d D) {
			d.VMs[0].Seed, d.VMs[0].Options["machine"], d.VMs[0].Options["scsihw"] = seed(), "q35", "virtio-scsi-single"
			w.turns(d, 1)
		}},
		{"cloned, on a q35 with another controller", func(t T, w W, d D) {
			d.VMs[0].Seed, d.VMs[0].Options["machine"] = seed(), "q35"
			w.turns(d, 1)
		}},
		{"cloned, on ARM", func(t T, w W, d D) {
			w.guests[9000].Config.Options["machine"] = "virt"
			d.VMs[0].Seed = seed()
			w.turns(d, 1)
		}},
		{"cloned, to have a user from Proxmox' own drive", func(t T, w W, d D) {
			d.VMs[0].Options["ciuser"], d.VMs[0].Managed = "me", []string{"ciuser"}
			w.turns(d, 1)
		}},
		{"cloned, to have a user from Proxmox' own drive, whose storage isn't known", func(t T, w W, d D) {
			d.VMs[0].Options["ciuser"], d.VMs[0].Managed = "me", []string{"ciuser"}
			w.turns(d, 1)
			w.guest("web").Config.Disks = nil
		}},
		{"snippets", func(t T, w W, d D) { snippets(w, d) }},
		{"snippets, on two nodes, one of which is off", func(t T, w W, d D) {
			snippets(w, d)
			w.nodes["pve3"].Online = false
			delete(w.stores["local"].OnNode, "pve2")
			w.turns(d, 1)
		}},
		{"snippets, half of them are there", func(t T, w W, d D) {
			snippets(w, d)
			w.turns(d, 2)
			for _, volume := range slices.Sorted(maps.Keys(w.snips))[:1] {
				w.snippet(volume, "pve1", "pve2", "pve3")
			}
		}},
		{"snippets, on a storage that isn't known", func(t T, w W, d D) { d.VMs[0] = snippetVM("web", "aaaaaaaaaaaaaaaa", false); w.turns(d, 1) }},
		{"snippets that are there", func(t T, w W, d D) { snippets(w, d); w.settle(t, d) }},
		{"snippets that are there, and others are wanted", func(t T, w W, d D) {
			snippets(w, d)
			w.settle(t, d)
			d.VMs[0].Seed.Digest = "bbbbbbbbbbbbbbbb"
		}},
		{"snippets that are read once, and others are wanted", func(t T, w W, d D) {
			snippets(w, d)
			d.VMs[0].Seed.Once = true
			w.settle(t, d)
			d.VMs[0].Seed.Digest = "bbbbbbbbbbbbbbbb"
		}},
		{"data that are read once, of a machine that hasn't any", func(t T, w W, d D) {
			w.settle(t, d)
			d.VMs[0].Seed = seed()
			d.VMs[0].Seed.Once = true
			w.guest("web").Config.Marker.Managed = append(w.guest("web").Config.Marker.Managed, seedPrefix+"s.bbbb")
		}},
		{"snippets that the manifest names itself", func(t T, w W, d D) {
			w.settle(t, d)
			d.VMs[0].Options["cicustom"], d.VMs[0].Managed = "user=local:snippets/mine.yaml", []string{"cicustom"}
		}},
		{"snippets that are there, and an old one, which is named", func(t T, w W, d D) {
			snippets(w, d)
			w.settle(t, d)
			g := w.guest("web")
			g.Config.Marker.Old = []string{g.Config.Marker.Seed, "local:snippets/proxplane-1-bbbb"}
			w.snippet("local:snippets/proxplane-1-bbbb-user.yaml", "pve1", "pve2")
		}},
		copied("plain", plain, func(W, D, *model.VM, *model.Guest) {}),
		copied("its marker knows the file and not the data", plain, func(_ W, _ D, c *model.VM, g *model.Guest) {
			g.Config.Marker.Managed = slices.DeleteFunc(g.Config.Marker.Managed, func(m string) bool { return len(m) > 5 && m[:5] == seedPrefix })
		}),
		copied("its marker knows the data and not the file", plain, func(_ W, _ D, c *model.VM, g *model.Guest) { g.Config.Marker.Seed = "" }),
		copied("its marker knows a file of another kind", plain, func(_ W, _ D, c *model.VM, g *model.Guest) { g.Config.Marker.Seed = "nfs:import/x" }),
		copied("its source has other data", plain, func(_ W, d D, c *model.VM, g *model.Guest) {
			other := seed()
			other.Digest = "bbbbbbbbbbbbbbbb"
			d.VMs[0].Seed, c.Seed = other, other
		}),
		copied("its source has none any more", plain, func(_ W, d D, c *model.VM, g *model.Guest) { d.VMs[0].Seed, c.Seed = nil, nil }),
		copied("by the hook", apart, func(W, D, *model.VM, *model.Guest) {}),
		copied("by the hook, and its text is another one", apart, func(_ W, _ D, c *model.VM, g *model.Guest) { c.Description = "mine" }),
		copied("by the hook, and its source has other data", apart, func(_ W, d D, c *model.VM, g *model.Guest) {
			other := *d.VMs[0].Seed
			other.Digest = "bbbbbbbbbbbbbbbb"
			c.Seed = &other
		}),
		copied("as snippets", asSnippets, func(W, D, *model.VM, *model.Guest) {}),
		copied("as snippets, and its source has others", asSnippets, func(_ W, d D, c *model.VM, g *model.Guest) {
			other := *d.VMs[0].Seed
			other.Digest = "bbbbbbbbbbbbbbbb"
			c.Seed = &other
		}),
		copied("an option that it had of its own comes from its source now", plain, func(_ W, _ D, c *model.VM, g *model.Guest) {
			g.Config.Options["onboot"], g.Config.Options["bios"] = "1", "ovmf"
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, "onboot", model.KeptMark("bios"))
			c.Inherited = append(c.Inherited, "onboot", "bios")
		}),
		copied("options that it had of its own and nobody names any more", plain, func(_ W, _ D, c *model.VM, g *model.Guest) {
			g.Config.Options["onboot"], g.Config.Options["bios"] = "1", "ovmf"
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, "onboot", model.KeptMark("bios"))
		}),
		copied("an interface that it had of its own", plain, func(_ W, _ D, c *model.VM, g *model.Guest) {
			g.Config.NICs = append(g.Config.NICs, model.NIC{Slot: "net4", Model: "virtio", Bridge: "vmbr1"})
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, "nic:net4")
		}),
		copied("an interface that it had of its own, and all are its own now", plain, func(_ W, _ D, c *model.VM, g *model.Guest) {
			g.Config.NICs = append(g.Config.NICs, model.NIC{Slot: "net4", Model: "virtio", Bridge: "vmbr1"})
			g.Config.Marker.Managed = append(g.Config.Marker.Managed, "nic:net4")
			c.Inherited = slices.DeleteFunc(c.Inherited, func(s string) bool { return s == model.InheritedNICs })
		}),
		copied("of a snapshot, without a source in the manifests", plain, func(_ W, d D, c *model.VM, g *model.Guest) {
			v := copyOf(d.VMs[0], "second")
			v.Source = model.Source{Image: Key{Kind: "Template", Name: "web"}, Snapshot: "golden", Copy: true}
			d.VMs = append(d.VMs, v)
		}),
		copied("of a machine that is locked", plain, func(w W, d D, c *model.VM, g *model.Guest) {
			v := copyOf(d.VMs[0], "second")
			v.Seed = nil
			d.VMs = append(d.VMs, v)
			w.guest("web").Lock = "backup"
		}),
		copied("of a machine whose agent is silent", plain, func(w W, d D, c *model.VM, g *model.Guest) {
			v := copyOf(d.VMs[0], "second")
			v.Seed = nil
			d.VMs = append(d.VMs, v)
			w.guest("web").Addresses, w.guest("web").Agent = nil, model.AgentDown
		}),
		copied("of a machine whose restart isn't agreed to", plain, func(w W, d D, c *model.VM, g *model.Guest) {
			v := copyOf(d.VMs[0], "second")
			v.Seed = nil
			d.VMs = append(d.VMs, v)
			d.VMs[0].Options = map[string]string{"cores": "4", "memory": "4096", "bios": "ovmf"}
		}),
	})
}

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
			w.guests[777].Tags = []string{model.Tag, model.StateTag(owner("VirtualMachine", "x"), "abc")}
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
		{"a snapshot of a machine that isn't in the manifests", func(_ T, w W, d D) {
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
			dir := w.dirs["data"]
			delete(dir.Paths, "pve3")
		}),
		shared("the mapping is somebody's, and lacks a node", func(w W, d D) {
			dir := w.dirs["data"]
			delete(dir.Paths, "pve3")
			dir.Made = false
			w.dirs["data"] = dir
		}),
		shared("the mapping is gone", func(w W, d D) { delete(w.dirs, "data") }),
		shared("the mapping is gone, and the machine is off", func(w W, d D) { delete(w.dirs, "data"); w.guest("web").Status = model.StatusStopped }),
		shared("the mapping is gone, and couldn't be made", func(w W, d D) {
			delete(w.dirs, "data")
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
			w.dirs["data"] = model.Dir{Paths: map[string]string{"pve1": "/srv/data"}}
		}},
	})
}
