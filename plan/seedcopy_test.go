package plan

import (
	"maps"
	"slices"
	"strings"
	"testing"

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
			c := w.Guests[9000].Config
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
		there("data that are lost", func(w W, d D, g *model.Guest) { d.VMs[0].Seed.Lost = true; delete(w.Files, g.Config.Marker.Seed) }),
		there("to start, and the file is gone", func(w W, d D, g *model.Guest) { g.Status = model.StatusStopped; delete(w.Files, g.Config.Marker.Seed) }),
		there("off, and the file is gone", func(w W, d D, g *model.Guest) {
			g.Status, d.VMs[0].Power = model.StatusStopped, model.PowerOff
			delete(w.Files, g.Config.Marker.Seed)
		}),
		there("an old file is there", func(w W, d D, g *model.Guest) {
			old := "nfs:iso/proxplane-1-bbbbbbbbbbbb.iso"
			g.Config.Marker.Old = []string{old, old}
			w.Files[old] = model.File{Volume: old, Node: "pve1", Content: "iso"}
		}),
		there("an old file isn't there", func(w W, d D, g *model.Guest) { g.Config.Marker.Old = []string{"nfs:iso/proxplane-1-bbbbbbbbbbbb.iso"} }),
		there("an old file may be under way", func(w W, d D, g *model.Guest) {
			g.Config.Marker.Old = []string{"nfs:iso/proxplane-1-bbbbbbbbbbbb.iso", "nfs:iso/proxplane-1-cccccccccccc.iso"}
			w.tasks = []model.Task{{UPID: "UPID:c", Type: "imgcopy"}}
		}),
		there("an old file is in a drive", func(w W, d D, g *model.Guest) {
			old := "nfs:iso/proxplane-1-bbbbbbbbbbbb.iso"
			g.Config.Marker.Old = []string{old}
			w.Files[old] = model.File{Volume: old, Node: "pve1", Content: "iso"}
			g.Config.Disks = append(g.Config.Disks, model.Disk{Slot: "ide1", Volume: old, Storage: "nfs", CDROM: true})
		}),
		there("an old file is in a drive until the restart", func(w W, d D, g *model.Guest) {
			old := "nfs:iso/proxplane-1-bbbbbbbbbbbb.iso"
			g.Config.Marker.Old = []string{old}
			w.Files[old] = model.File{Volume: old, Node: "pve1", Content: "iso"}
			g.Config.Running = was(g.Config)
			g.Config.Running.Disks = append(g.Config.Running.Disks, model.Disk{Slot: "ide1", Volume: old, Storage: "nfs", CDROM: true})
		}),
		there("to go, with files", func(w W, d D, g *model.Guest) {
			old := "nfs:iso/proxplane-1-bbbbbbbbbbbb.iso"
			g.Config.Marker.Old = []string{old}
			w.Files[old] = model.File{Volume: old, Node: "pve1", Content: "iso"}
			d.VMs[0].Deleted = true
		}),
		there("to be let go, with files", func(w W, d D, g *model.Guest) {
			old := "nfs:iso/proxplane-1-bbbbbbbbbbbb.iso"
			g.Config.Marker.Old = []string{old}
			w.Files[old] = model.File{Volume: old, Node: "pve1", Content: "iso"}
			d.VMs[0].Deleted, d.VMs[0].Retain = true, true
		}),
		there("the file is on the node that it has left", func(w W, d D, g *model.Guest) {
			w.Storages["nfs"].Shared = false
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
		begun("cloned, and somebody has started it", 1, func(w W, _ D, g *model.Guest) { w.Start(g) }),
		begun("uploaded", 2, func(W, D, *model.Guest) {}),
		begun("uploaded, and somebody has started it", 2, func(w W, _ D, g *model.Guest) { w.Start(g) }),
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
			c := w.Guests[9000].Config
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
			w.Guests[9000].Config.Options["machine"] = "virt"
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
			w.Nodes["pve3"].Online = false
			delete(w.Storages["local"].OnNode, "pve2")
			w.turns(d, 1)
		}},
		{"snippets, half of them are there", func(t T, w W, d D) {
			snippets(w, d)
			w.turns(d, 2)
			for _, volume := range slices.Sorted(maps.Keys(w.Snippets))[:1] {
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
		copied("its marker knows the file and not the data, and its source has none any more", plain, func(_ W, d D, c *model.VM, g *model.Guest) {
			g.Config.Marker.Managed = slices.DeleteFunc(g.Config.Marker.Managed, func(m string) bool { return strings.HasPrefix(m, seedPrefix) })
			d.VMs[0].Seed, c.Seed = nil, nil
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
