package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// TestWhatBecomesOfMachinesThatAreThere: moves, HA, anti-affinity, limits of nodes, power and looks by a glance.
func TestWhatBecomesOfMachinesThatAreThere(t *testing.T) {
	type T = *testing.T
	type W = *world
	type D = *model.Desired
	there := func(name string, change func(t T, w W, d D, g *model.Guest)) situation {
		return situation{name, func(t T, w W, d D) { w.settle(t, d); change(t, w, d, w.guest("web")) }}
	}
	glance := func(name string, change func(w W, v *model.VM, g *model.Guest)) situation {
		return there("a glance: "+name, func(_ T, w W, d D, g *model.Guest) {
			d.Quick = true
			change(w, &d.VMs[0], g)
		})
	}
	// dbs are machines that avoid each other, under HA.
	dbs := func(d D, n int) {
		d.VMs = databases(n)
		for i := range d.VMs {
			d.VMs[i].HA = &model.HA{}
		}
	}
	apart := func(name string, n int, change func(t T, w W, d D)) situation {
		return situation{"apart: " + name, func(t T, w W, d D) { dbs(d, n); w.settle(t, d); change(t, w, d) }}
	}
	moving := func(name string, change func(w W, d D, g *model.Guest)) situation {
		return there("to move: "+name, func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Place.Nodes, d.Allow.Move = []string{"pve2"}, true
			change(w, d, g)
		})
	}
	local := func(w W, g *model.Guest, kind, format, volume string) *model.Disk {
		w.storage("here", kind, false, 50, "images", all3...)
		d := &g.Config.Disks[0]
		d.Storage, d.Volume, d.Format = "here", "here:"+volume, format
		return d
	}
	snapped := func(g *model.Guest) { g.Snapshots = []model.SnapshotInfo{{Name: "x"}, {Name: "y"}} }
	disks := func(name string, change func(w W, v *model.VM, g *model.Guest)) situation {
		return there("disks to move: "+name, func(_ T, w W, d D, g *model.Guest) { change(w, &d.VMs[0], g) })
	}
	situations(t, "there", []situation{
		there("plain", func(T, W, D, *model.Guest) {}),

		glance("plain", func(W, *model.VM, *model.Guest) {}),
		glance("a template by now", func(_ W, _ *model.VM, g *model.Guest) { g.Template = true }),
		glance("locked", func(_ W, _ *model.VM, g *model.Guest) { g.Lock = "backup" }),
		glance("of another name", func(_ W, _ *model.VM, g *model.Guest) { g.Name = "x" }),
		glance("of a named VMID", func(_ W, v *model.VM, g *model.Guest) { v.VMID = g.VMID }),
		glance("of another VMID that is named", func(_ W, v *model.VM, g *model.Guest) { v.VMID = 5999 }),
		glance("with another fingerprint", func(_ W, v *model.VM, g *model.Guest) { v.Tags = []string{"x"} }),
		glance("on another node than may be", func(_ W, v *model.VM, g *model.Guest) { v.Place.Nodes = []string{"pve3"} }),
		glance("in no pool, and none is wanted", func(_ W, v *model.VM, g *model.Guest) { g.Pool = "theirs" }),
		glance("under HA by others", func(_ W, v *model.VM, g *model.Guest) { g.HAState = "started" }),
		glance("of unknown state", func(_ W, v *model.VM, g *model.Guest) { g.Status = model.StatusUnknown }),
		glance("stopped", func(_ W, v *model.VM, g *model.Guest) { g.Status = model.StatusStopped }),
		glance("of any state", func(_ W, v *model.VM, g *model.Guest) { v.Power, g.Status = "", model.StatusUnknown }),
		glance("with other memory", func(_ W, v *model.VM, g *model.Guest) { g.Memory-- }),
		glance("with other CPUs", func(_ W, v *model.VM, g *model.Guest) { g.CPUs-- }),
		glance("with all the CPUs of its node", func(w W, v *model.VM, g *model.Guest) { g.CPUs, w.Nodes["pve1"].CPUs = 3, 3 }),
		glance("with CPUs of a node that isn't known", func(w W, v *model.VM, g *model.Guest) { g.CPUs, g.Node = 3, "pve9" }),
		glance("with a smaller disk", func(_ W, v *model.VM, g *model.Guest) { g.Disk-- }),
		glance("with a larger disk", func(_ W, v *model.VM, g *model.Guest) { g.Disk++ }),
		glance("its state may be old", func(w W, v *model.VM, g *model.Guest) {}),
		{"a glance: under HA and apart", func(t T, w W, d D) { dbs(d, 2); w.settle(t, d); d.Quick = true }},
		{"a glance: under HA and not in the rule", func(t T, w W, d D) {
			dbs(d, 2)
			w.settle(t, d)
			d.Quick, w.Rules = true, map[string][]string{}
		}},
		{"a glance: under HA and apart, before there were rules", func(t T, w W, d D) {
			w.seeing(func(o *model.Observed) { o.Release = 8 })
			dbs(d, 2)
			w.settle(t, d)
			d.Quick = true
		}},
		{"a glance: avoids others without HA", func(t T, w W, d D) { d.VMs = databases(2); w.settle(t, d); d.Quick = true }},
		{"a glance: to go", func(t T, w W, d D) { w.settle(t, d); d.Quick, d.VMs[0].Deleted = true, true }},

		apart("one more that isn't there yet", 2, func(_ T, w W, d D) { dbs(d, 3) }),
		apart("one isn't under HA any more", 3, func(_ T, w W, d D) { d.VMs[1].HA = nil }),
		apart("one was taken out of HA by hand", 3, func(_ T, w W, d D) { w.guest("db-1").HAState = "" }),
		apart("one goes", 3, func(_ T, w W, d D) { d.VMs[0].Deleted = true }),
		apart("the rule is gone", 3, func(_ T, w W, d D) { w.Rules = map[string][]string{} }),
		apart("the rule is gone, in another order", 3, func(_ T, w W, d D) {
			w.Rules = map[string][]string{}
			slices.Reverse(d.VMs)
		}),
		apart("the rule lacks the last", 3, func(_ T, w W, d D) {
			for name := range w.Rules {
				w.Rules[name] = []string{"vm:1", sid(w.guest("db-1").VMID), sid(w.guest("db-0").VMID)}
			}
		}),
		apart("one doesn't avoid them any more, and is under HA", 3, func(_ T, w W, d D) { d.VMs[0].Place.AntiAffinity = nil; w.Rules = map[string][]string{} }),
		apart("one has another label", 3, func(_ T, w W, d D) {
			d.VMs[0].Labels = map[string]string{"vm.type": "front"}
			w.Rules = map[string][]string{}
		}),
		apart("one isn't to be under HA, and others have put it there", 3, func(_ T, w W, d D) {
			d.VMs[0].HA = nil
			g := w.guest("db-0")
			g.Config.Marker.Managed = nil
			w.Rules = map[string][]string{}
		}),
		apart("before there were rules", 3, func(_ T, w W, d D) {
			w.seeing(func(o *model.Observed) { o.Release = 8 })
			w.Rules = map[string][]string{}
		}),
		{"apart: avoids others that don't have its label", func(t T, w W, d D) {
			v := databases(1)[0]
			d.VMs[0].Labels, d.VMs[0].Place.AntiAffinity = map[string]string{"vm.type": "front"}, v.Place.AntiAffinity
			d.VMs[0].Place.Nodes, v.Place.Nodes = []string{"pve1"}, []string{"pve1"}
			d.VMs = []model.VM{v, d.VMs[0]}
		}},
		{"apart: two share a node by hand", func(t T, w W, d D) {
			d.VMs = databases(3)
			w.settle(t, d)
			w.guest("db-1").Node, w.guest("db-2").Node = w.guest("db-0").Node, w.guest("db-0").Node
			d.Allow.Move = true
		}},
		{"apart: two share a node by hand, and one goes", func(t T, w W, d D) {
			d.VMs = databases(2)
			w.settle(t, d)
			w.guest("db-1").Node = w.guest("db-0").Node
			d.Allow.Move, d.VMs[0].Deleted = true, true
		}},
		{"apart: two of one name share a node", func(t T, w W, d D) {
			d.VMs = databases(2)
			w.settle(t, d)
			w.guest("db-1").Node = w.guest("db-0").Node
			d.VMs[1].Name, d.Allow.Move = "db-0", true
		}},
		{"apart: one more where all nodes are taken", func(t T, w W, d D) {
			d.VMs = databases(3)
			w.settle(t, d)
			d.VMs = databases(4)
		}},
		{"apart: one more while others are being made", func(t T, w W, d D) {
			d.VMs = databases(3)
			w.seeing(func(o *model.Observed) {
				o.Placed = map[int]model.Placement{4711: {Owner: owner("VirtualMachine", "db-0"), Node: "pve1", Memory: 1 << 30}, 4712: {Owner: owner("VirtualMachine", "gone"), Node: "pve2", Memory: 1 << 30}}
			})
		}},
		{"at most one a node, while others are being made", func(t T, w W, d D) {
			d.VMs[0].Place.MaxPerNode = 1
			w.plain(777, "x", "pve3")
			w.seeing(func(o *model.Observed) {
				o.Placed = map[int]model.Placement{4711: {Owner: owner("VirtualMachine", "x"), Node: "pve1", Memory: 1 << 30}, 777: {Owner: owner("VirtualMachine", "y"), Node: "pve3", Memory: 70 << 30}}
			})
		}},
		{"at most two a node, while one of them is listed already", func(t T, w W, d D) {
			d.VMs[0].Place.MaxPerNode, d.VMs[0].Place.Nodes = 2, []string{"pve3"}
			w.plain(777, "x", "pve3")
			w.seeing(func(o *model.Observed) {
				o.Placed = map[int]model.Placement{777: {Owner: owner("VirtualMachine", "y"), Node: "pve3", Memory: 1 << 30}}
			})
		}},

		moving("plain", func(W, D, *model.Guest) {}),
		moving("not agreed to", func(_ W, d D, _ *model.Guest) { d.Allow.Move = false }),
		moving("two of them", func(w W, d D, _ *model.Guest) {
			d.VMs[0].Place.Nodes = []string{"pve2", "pve3"}
			v := testVM("second")
			v.NICs[0].MAC = ""
			d.VMs = append(d.VMs, v)
			w.turns(d, 6)
			w.guest("web").Node, w.guest("second").Node = "pve1", "pve1"
			d.VMs[1].Place.Nodes, d.VMs[1].Place.MaxPerNode = []string{"pve2", "pve3"}, 1
		}),
		moving("off", func(_ W, d D, g *model.Guest) { g.Status, d.VMs[0].Power = model.StatusStopped, model.PowerOff }),
		moving("off, where memory is short", func(w W, d D, g *model.Guest) {
			g.Status, d.VMs[0].Power, w.Nodes["pve2"].Used = model.StatusStopped, model.PowerOff, 63<<30
		}),
		moving("where memory is short", func(w W, d D, g *model.Guest) { w.Nodes["pve2"].Used = 63 << 30 }),
		moving("where memory is just enough", func(w W, d D, g *model.Guest) { w.Nodes["pve2"].Used = 60 << 30 }),
		moving("where some memory is to stay free", func(w W, d D, g *model.Guest) { w.Nodes["pve2"].Used, d.VMs[0].Place.MinFree = 58<<30, 4<<30 }),
		moving("where memory isn't known", func(w W, d D, g *model.Guest) { w.Nodes["pve2"].Memory = 0 }),
		moving("where there are as many as may be", func(w W, d D, g *model.Guest) { d.VMs[0].Place.MaxPerNode = 1; w.plain(777, "x", "pve2") }),
		moving("where there are fewer than may be", func(w W, d D, g *model.Guest) { d.VMs[0].Place.MaxPerNode = 2; w.plain(777, "x", "pve2") }),
		moving("where CPUs are too few", func(w W, d D, g *model.Guest) { w.Nodes["pve2"].CPUs = 3 }),
		moving("to a node that is off", func(w W, d D, g *model.Guest) { w.Nodes["pve2"].Online = false }),
		moving("to a node that isn't known", func(w W, d D, g *model.Guest) { d.VMs[0].Place.Nodes = []string{"pve9"} }),
		moving("where its script isn't", func(w W, d D, g *model.Guest) {
			w.storage("local", "dir", false, 100, "snippets", all3...)
			w.snippet("local:snippets/x.sh", "pve1")
			d.VMs[0].Scripts = []string{"local:snippets/x.sh"}
			w.seeing(func(o *model.Observed) { o.Snippets = w.Snippets })
		}),
		moving("one of two nodes", func(w W, d D, g *model.Guest) {
			d.VMs[0].Place.Nodes = []string{"pve2", "pve3"}
			w.Nodes["pve2"].Used = 1 << 30
		}),
		moving("the only node is where it is", func(w W, d D, g *model.Guest) {
			for _, n := range all3[1:] {
				delete(w.Nodes, n)
			}
			d.VMs[0].Place.Nodes = nil
			d.VMs[0].Labels = map[string]string{"vm.type": "database"}
			d.VMs[0].Place.AntiAffinity = databases(1)[0].Place.AntiAffinity
			v := databases(1)[0]
			v.Name, v.Owner.Name = "aaa", "aaa"
			twin := w.twin(g, 5001)
			twin.Config.Marker = &model.Marker{Owner: v.Owner, VMID: 5001, Source: "vmimage/ubuntu-22"}
			twin.Name, twin.Config.Signed = "aaa", model.Signed
			twin.Tags = []string{model.Tag, model.StateTag(v.Owner, "abc")}
			twin.Config.Tags = twin.Tags
			d.VMs = append(d.VMs, v)
		}),
		moving("a storage that the node hasn't", func(w W, d D, g *model.Guest) {
			local(w, g, "dir", "raw", "vm-1-disk-0")
			delete(w.Storages["here"].OnNode, "pve2")
		}),
		moving("a storage that isn't visible", func(w W, d D, g *model.Guest) {
			local(w, g, "dir", "raw", "vm-1-disk-0").Storage = "hidden"
			g.Config.Disks[0].Volume = "hidden:vm-1-disk-0"
		}),
		moving("a local disk", func(w W, d D, g *model.Guest) { local(w, g, "dir", "raw", "5000/vm-1-disk-0.raw") }),
		moving("a local disk where there is no room", func(w W, d D, g *model.Guest) {
			local(w, g, "lvm", "raw", "vm-1-disk-0")
			w.Storages["here"].OnNode["pve2"] = model.Room{Total: 39 << 30}
		}),
		moving("a local disk where there is just enough room", func(w W, d D, g *model.Guest) {
			local(w, g, "lvm", "raw", "vm-1-disk-0")
			w.Storages["here"].OnNode["pve2"] = model.Room{Total: 40 << 30}
		}),
		moving("a thin local disk where there is no room", func(w W, d D, g *model.Guest) {
			local(w, g, "dir", "raw", "vm-1-disk-0")
			w.Storages["here"].OnNode["pve2"] = model.Room{Total: 39 << 30}
		}),
		moving("a local disk that hangs on a template", func(w W, d D, g *model.Guest) {
			local(w, g, "dir", "raw", "9000/base-9000-disk-0.raw/5000/vm-1-disk-0.raw")
		}),
		moving("a local disk in the directory of a template", func(w W, d D, g *model.Guest) { local(w, g, "dir", "raw", "/base-9000-disk-0") }),
		moving("a drive with a local medium", func(w W, d D, g *model.Guest) {
			w.storage("here", "dir", false, 50, "iso", all3...)
			g.Config.Disks = append(g.Config.Disks, model.Disk{Slot: "ide0", Volume: "here:iso/x.iso", Storage: "here", CDROM: true})
		}),
		moving("an empty drive", func(w W, d D, g *model.Guest) {
			w.storage("here", "dir", false, 50, "iso", "pve1")
			g.Config.Disks = append(g.Config.Disks, model.Disk{Slot: "ide0", Volume: "none", Storage: "here", CDROM: true})
		}),
		moving("a local cloud-init drive", func(w W, d D, g *model.Guest) {
			w.storage("here", "dir", false, 50, "images", all3...)
			g.Config.Disks = append(g.Config.Disks, model.Disk{Slot: "ide0", Volume: "here:vm-1-cloudinit", Storage: "here", CDROM: true, CloudInit: true})
			snapped(g)
		}),
		moving("a local cloud-init drive of one that is off", func(w W, d D, g *model.Guest) {
			w.storage("here", "dir", false, 50, "images", all3...)
			g.Config.Disks = append(g.Config.Disks, model.Disk{Slot: "ide0", Volume: "here:vm-1-cloudinit", Storage: "here", CDROM: true, CloudInit: true})
			snapped(g)
			g.Status, d.VMs[0].Power = model.StatusStopped, model.PowerOff
		}),
		moving("an unused volume that is local", func(w W, d D, g *model.Guest) {
			w.storage("here", "dir", false, 50, "images", "pve1")
			g.Config.Unused = []model.Disk{{Slot: "unused0", Volume: "here:vm-1-disk-5", Storage: "here"}}
		}),
		moving("local disks with snapshots, running", func(w W, d D, g *model.Guest) { local(w, g, "zfspool", "raw", "vm-1-disk-0"); snapped(g) }),
	}, func() (list []situation) {
		for _, c := range []struct{ kind, format string }{{"zfspool", "raw"}, {"btrfs", "raw"}, {"btrfs", "qcow2"}, {"btrfs", "vmdk"}, {"dir", "qcow2"}, {"dir", "raw"}, {"lvmthin", "raw"}} {
			list = append(list, moving(fmt.Sprintf("a local disk with snapshots in %s on %s, off", c.format, c.kind), func(w W, d D, g *model.Guest) {
				local(w, g, c.kind, c.format, "vm-1-disk-0")
				snapped(g)
				g.Status, d.VMs[0].Power = model.StatusStopped, model.PowerOff
			}))
		}
		return list
	}(), []situation{
		moving("the HA manager is at it", func(w W, d D, g *model.Guest) { g.HAState, d.VMs[0].HA = model.HAMigrate, &model.HA{} }),
		moving("the HA manager is at it while it is off", func(w W, d D, g *model.Guest) { g.HAState, d.VMs[0].HA = model.HARelocate, &model.HA{} }),
		there("limits: a node with more than may be", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Place.MaxPerNode = 1
			w.plain(777, "x", "pve1")
		}),
		there("limits: a node with as many as may be", func(_ T, w W, d D, g *model.Guest) { d.VMs[0].Place.MaxPerNode = 1 }),
		there("limits: a node with less memory than is to stay free", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Place.MinFree, w.Nodes["pve1"].Used = 4<<30, 61<<30
		}),
		there("limits: a node with just the memory that is to stay free", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Place.MinFree, w.Nodes["pve1"].Used = 4<<30, 60<<30
		}),
		there("limits: a node that uses more than it has", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Place.MinFree, w.Nodes["pve1"].Used = 4<<30, 70<<30
		}),
		there("limits: a node whose memory isn't known", func(_ T, w W, d D, g *model.Guest) { d.VMs[0].Place.MinFree, w.Nodes["pve1"].Memory = 4<<30, 0 }),
		there("limits: a node whose use of memory isn't known", func(_ T, w W, d D, g *model.Guest) { d.VMs[0].Place.MinFree, w.Nodes["pve1"].Used = 65<<30, 0 }),

		disks("onto a thick storage without room", func(w W, v *model.VM, g *model.Guest) {
			w.storage("thick", "lvm", true, 39, "images", all3...)
			v.Disks[0].Storage = "thick"
		}),
		disks("onto a thick storage with just enough room", func(w W, v *model.VM, g *model.Guest) {
			w.storage("thick", "lvm", true, 40, "images", all3...)
			v.Disks[0].Storage, v.Disks[0].Format = "thick", "qcow2"
		}),
		disks("onto a thin storage without room", func(w W, v *model.VM, g *model.Guest) {
			w.storage("thin", "dir", true, 39, "images", all3...)
			v.Disks[0].Storage, v.Disks[0].Format = "thin", "qcow2"
		}),
		disks("onto a storage that its node hasn't", func(w W, v *model.VM, g *model.Guest) {
			w.storage("far", "dir", false, 100, "images", "pve3")
			v.Disks[0].Storage = "far"
		}),
		disks("onto a storage that takes none", func(w W, v *model.VM, g *model.Guest) {
			w.storage("isos", "dir", true, 100, "iso", all3...)
			v.Disks[0].Storage = "isos"
		}),
		disks("with snapshots", func(w W, v *model.VM, g *model.Guest) { v.Disks[0].Storage = "local-lvm"; snapped(g) }),
		disks("to another format where it is", func(w W, v *model.VM, g *model.Guest) {
			g.Config.Disks[0].Format, v.Disks[0].Format = "qcow2", "raw"
		}),
		disks("to another format where it is, with snapshots", func(w W, v *model.VM, g *model.Guest) {
			g.Config.Disks[0].Format, v.Disks[0].Format = "qcow2", "raw"
			snapped(g)
		}),
		disks("to a format that block devices don't have", func(w W, v *model.VM, g *model.Guest) {
			d := &g.Config.Disks[0]
			d.Storage, d.Volume, d.Format, v.Disks[0].Format = "local-lvm", "local-lvm:vm-1-disk-0", "raw", "qcow2"
		}),
		disks("to another format on a storage that isn't visible", func(w W, v *model.VM, g *model.Guest) {
			d := &g.Config.Disks[0]
			d.Storage, d.Volume, d.Format, v.Disks[0].Format = "hidden", "hidden:vm-1-disk-0", "raw", "qcow2"
		}),
		disks("with its firmware", func(w W, v *model.VM, g *model.Guest) {
			for i, slot := range []string{"efidisk0", "tpmstate0"} {
				v.Disks = append(v.Disks, model.Disk{Slot: slot})
				g.Config.Disks = append(g.Config.Disks, model.Disk{Slot: slot, Volume: fmt.Sprintf("nfs:vm-1-disk-%d", i+1), Storage: "nfs", Size: 4 << 20})
			}
			v.Disks[0].Storage = "local-lvm"
		}),
		disks("with its firmware, of one that is off", func(w W, v *model.VM, g *model.Guest) {
			for i, slot := range []string{"efidisk0", "tpmstate0"} {
				v.Disks = append(v.Disks, model.Disk{Slot: slot})
				g.Config.Disks = append(g.Config.Disks, model.Disk{Slot: slot, Volume: fmt.Sprintf("nfs:vm-1-disk-%d", i+1), Storage: "nfs", Size: 4 << 20})
			}
			g.Status, v.Power = model.StatusStopped, model.PowerOff
			v.Disks[0].Storage = "local-lvm"
			g.Config.Disks[1].Storage, g.Config.Disks[1].Volume = "local-lvm", "local-lvm:vm-1-disk-1"
		}),
		disks("but not the root disk, with its firmware", func(w W, v *model.VM, g *model.Guest) {
			v.Disks = append(v.Disks, model.Disk{Slot: "efidisk0"}, model.Disk{Slot: "scsi1", Storage: "local-lvm", Size: 1 << 30})
			g.Config.Disks = append(g.Config.Disks, model.Disk{Slot: "efidisk0", Volume: "nfs:vm-1-disk-1", Storage: "nfs", Size: 4 << 20},
				model.Disk{Slot: "scsi1", Volume: "nfs:vm-1-disk-2", Storage: "nfs", Size: 1 << 30})
		}),
		disks("a drive in the place of a disk", func(w W, v *model.VM, g *model.Guest) {
			v.Disks = append(v.Disks, model.Disk{Slot: "ide0", Storage: "local-lvm", Size: 1 << 30}, model.Disk{Slot: "ide1", Volume: "nfs:iso/first.iso", CDROM: true, Storage: "local-lvm"},
				model.Disk{Slot: "sata0", Volume: "nfs:vm-1-disk-9", Storage: "local-lvm"}, model.Disk{Slot: "sata1", Storage: "local-lvm", Size: 1 << 30})
			g.Config.Disks = append(g.Config.Disks, model.Disk{Slot: "ide0", Volume: "nfs:iso/first.iso", Storage: "nfs", CDROM: true},
				model.Disk{Slot: "ide1", Volume: "nfs:iso/first.iso", Storage: "nfs", CDROM: true}, model.Disk{Slot: "sata0", Volume: "nfs:vm-1-disk-9", Storage: "nfs"},
				model.Disk{Slot: "sata1", Volume: "/dev/sdx"})
		}),

		there("to start, while one of its name isn't read", func(_ T, w W, d D, g *model.Guest) {
			g.Status = model.StatusStopped
			w.plain(777, "web", "pve2").Status = model.StatusRunning
			w.plain(778, "web", "pve2")
			c := w.plain(779, "web", "pve2")
			c.Status, c.Container = model.StatusRunning, true
		}),
		there("to start, while one runs with its MAC address", func(_ T, w W, d D, g *model.Guest) {
			g.Status = model.StatusStopped
			other := w.plain(777, "web", "pve2")
			other.Status, other.Config.NICs[0].MAC = model.StatusRunning, g.Config.NICs[0].MAC
		}),
		there("to start, while one with its MAC address is off", func(_ T, w W, d D, g *model.Guest) {
			g.Status = model.StatusStopped
			w.plain(777, "web", "pve2").Config.NICs[0].MAC = g.Config.NICs[0].MAC
		}),
		there("running, and nobody has seen it run", func(_ T, w W, d D, g *model.Guest) {
			g.Unseen, g.Addresses, d.VMs[0].WaitAddress = true, nil, false
		}),
		there("running without an agent, and nobody has seen it run", func(_ T, w W, d D, g *model.Guest) {
			g.Unseen, g.Addresses = true, nil
			g.Config.Options["agent"] = "0"
		}),
		there("running without an address", func(_ T, w W, d D, g *model.Guest) { g.Addresses = nil }),
		there("running, and its agent hasn't been asked", func(_ T, w W, d D, g *model.Guest) { g.Addresses, g.Agent = nil, model.AgentUnasked }),
		there("may be as it is, runs, and a restart is due", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Power, d.VMs[0].Options["bios"], d.Allow.Restart = "", "ovmf", true
		}),
		there("may be as it is, is off, and is changed", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Power, d.VMs[0].Options["bios"], d.Allow.Restart, g.Status = "", "ovmf", true, model.StatusStopped
		}),
		there("may be as it is, and the HA manager has given up", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Power, d.VMs[0].HA, g.HAState = "", &model.HA{}, model.HAError
		}),
		there("may be as it is, and the HA manager is clearing its error", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Power, d.VMs[0].HA, g.HAState = "", &model.HA{}, model.HAClearing
		}),
		there("to be off, is off, and the HA manager has given up", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Power, d.VMs[0].HA, g.HAState, g.Status = model.PowerOff, &model.HA{}, model.HAError, model.StatusStopped
		}),
		there("to be off, is off, and the HA manager is clearing its error", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Power, d.VMs[0].HA, g.HAState, g.Status = model.PowerOff, &model.HA{}, model.HAClearing, model.StatusStopped
		}),
		there("to be off, with a restart due", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Power, d.VMs[0].Options["bios"] = model.PowerOff, "ovmf"
		}),
		there("to be shut down, which it has ignored", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Power = model.PowerOffGraceful
			w.seeing(func(o *model.Observed) { o.Ignored = map[Key]bool{d.VMs[0].Owner.Key: true} })
		}),
		there("to be shut down, which it has ignored, and may be stopped", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Power, d.Allow.Stop = model.PowerOffGraceful, true
			w.seeing(func(o *model.Observed) { o.Ignored = map[Key]bool{d.VMs[0].Owner.Key: true} })
		}),
		there("to be restarted, which it has ignored, and may be stopped", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Options["bios"], d.Allow.Restart, d.Allow.Stop = "ovmf", true, true
			w.seeing(func(o *model.Observed) { o.Ignored = map[Key]bool{d.VMs[0].Owner.Key: true} })
		}),
		there("to be restarted, which it has ignored", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Options["bios"], d.Allow.Restart = "ovmf", true
			w.seeing(func(o *model.Observed) { o.Ignored = map[Key]bool{d.VMs[0].Owner.Key: true} })
		}),
		there("under HA with other limits, on a release with groups", func(_ T, w W, d D, g *model.Guest) {
			w.seeing(func(o *model.Observed) {
				o.Release = 8
				if o.HA != nil {
					o.HA = map[string]map[string]string{sid(g.VMID): {"group": "slow"}}
				}
			})
			g.HAState, d.VMs[0].HA = "started", &model.HA{Group: "fast", MaxRestart: 1, MaxRelocate: 2}
		}),
		there("under HA in its group, on a release with groups", func(_ T, w W, d D, g *model.Guest) {
			w.seeing(func(o *model.Observed) {
				o.Release = 8
				if o.HA != nil {
					o.HA = map[string]map[string]string{sid(g.VMID): {"group": "fast", "max_restart": "2"}}
				}
			})
			g.HAState, d.VMs[0].HA = "started", &model.HA{Group: "fast", MaxRestart: 1}
		}),
		there("under HA, and what HA was told of it isn't known", func(_ T, w W, d D, g *model.Guest) {
			g.HAState, d.VMs[0].HA = "started", &model.HA{Group: "fast", MaxRestart: 3}
		}),
		there("to go under HA with a group, on a release with groups", func(_ T, w W, d D, g *model.Guest) {
			w.seeing(func(o *model.Observed) { o.Release = 8 })
			d.VMs[0].HA = &model.HA{Group: "fast"}
		}),
		there("another pool that isn't there", func(_ T, w W, d D, g *model.Guest) {
			w.seeing(func(o *model.Observed) { o.Pools = map[string]bool{"team": true} })
			d.VMs[0].Pool = "none"
		}),
		there("the same pool, which isn't visible", func(_ T, w W, d D, g *model.Guest) {
			w.seeing(func(o *model.Observed) { o.Pools = map[string]bool{} })
			d.VMs[0].Pool, g.Pool = "none", "none"
		}),
		there("a further disk on a storage that isn't there", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Disks = append(d.VMs[0].Disks, model.Disk{Slot: "scsi1", Storage: "nowhere", Size: 1 << 30})
		}),
		there("further disks on two storages, one of which isn't visible", func(_ T, w W, d D, g *model.Guest) {
			w.without("/storage/nowhere")
			d.VMs[0].Disks = append(d.VMs[0].Disks, model.Disk{Slot: "scsi1", Storage: "nowhere", Size: 1 << 30}, model.Disk{Slot: "scsi2", Storage: "nowhere", Size: 1 << 30})
		}),
		there("a further interface on a bridge that isn't there", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].NICs = append(d.VMs[0].NICs, model.NIC{Slot: "net1", Model: "virtio", Bridge: "vmbr77"})
		}),
		there("its bridge isn't there any more", func(_ T, w W, d D, g *model.Guest) {
			g.Config.NICs[0].Bridge, d.VMs[0].NICs[0].Bridge = "vmbr77", "vmbr77"
		}),
		there("a device by a mapping that isn't there", func(_ T, w W, d D, g *model.Guest) { d.VMs[0].Options["hostpci0"] = "mapping=none" }),
		there("the device that it has, by a mapping that isn't there any more", func(_ T, w W, d D, g *model.Guest) {
			d.VMs[0].Options["hostpci0"], g.Config.Options["hostpci0"] = "mapping=none", "mapping=none"
		}),
	})
}
