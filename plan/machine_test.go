package plan

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
)

// richMachine is a machine with something of everything that a plan decides about.
func richMachine(w *world, d *model.Desired) {
	v := &d.VMs[0]
	v.Disks = append(v.Disks, model.Disk{Slot: "scsi1", Name: "data", Storage: "nfs", Size: 10 << 30}, model.Disk{Slot: "ide0", Name: "iso", Volume: "nfs:iso/first.iso", CDROM: true})
	v.NICs = append(v.NICs, model.NIC{Slot: "net1", Name: "two", Model: "virtio", Bridge: "vmbr1", MAC: "02:00:00:AA:BB:DD"})
	v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"}
	v.Tags, v.Description, v.Pool, v.HA = []string{"blue"}, "a machine", "team", &model.HA{Group: "fast"}
	v.Leases = []model.Lease{{Slot: "net0", Pool: dualPool()}}
	d.Snapshots = []model.Snapshot{{Owner: owner("VMSnapshot", "before"), VM: v.Owner.Key, Name: "before", Description: "as it was", Keep: 1}}
	_ = w
}

func machineStages() (stages []situation) {
	add := func(name string, do func(t *testing.T, w *world, d *model.Desired)) {
		stages = append(stages, situation{name, do})
	}
	made := func(name string, do func(w *world, d *model.Desired)) {
		add(name, func(t *testing.T, w *world, d *model.Desired) { richMachine(w, d); w.settle(t, d); do(w, d) })
	}
	add("new", func(_ *testing.T, w *world, d *model.Desired) { richMachine(w, d) })
	add("new, from nothing", func(_ *testing.T, w *world, d *model.Desired) {
		richMachine(w, d)
		d.VMs[0].Source = model.Source{Blank: true}
	})
	add("cloned", func(_ *testing.T, w *world, d *model.Desired) { richMachine(w, d); w.turns(d, 1) })
	made("made", func(*world, *model.Desired) {})
	made("to have more of everything", func(_ *world, d *model.Desired) {
		v := &d.VMs[0]
		v.Options = map[string]string{"cores": "8", "memory": "8192"}
		v.Disks = slices.Clone(v.Disks)
		v.Disks[0].Size, v.Disks[1].Size = 50<<30, 20<<30
		v.Tags, v.Pool, v.HA, d.Allow.Restart = []string{"red"}, "", nil, true
	})
	made("to be made of another image", func(_ *world, d *model.Desired) {
		d.VMs[0].Source.Image.Name, d.Images[1].Template = "other", "debian-12-template"
		d.Allow = model.Allow{Replace: true, Data: true}
	})
	made("to go", func(_ *world, d *model.Desired) { d.VMs[0].Deleted, d.Allow.Data = true, true })
	made("to be kept when it goes", func(_ *world, d *model.Desired) { d.VMs[0].Deleted, d.VMs[0].Retain = true, true })
	made("not wanted any more", func(_ *world, d *model.Desired) { d.VMs, d.Snapshots, d.Prune, d.Allow.Data = nil, nil, true, true })
	made("to be off", func(_ *world, d *model.Desired) { d.VMs[0].Power, d.VMs[0].Grace = model.PowerOffGraceful, time.Minute })
	return stages
}

// machineTroubles are what may have happened to a machine, and what may be known of it.
func machineTroubles() (list troubles) {
	of := func(name string, change func(w *world, g *model.Guest)) {
		list.add(name, func(w *world, _ *model.Desired) {
			for _, id := range slices.Sorted(maps.Keys(w.Guests)) {
				if g := w.Guests[id]; g.Name == "web" || g.Name == "web-1" {
					change(w, g)
					return
				}
			}
		})
	}
	ofDisk := func(name, slot string, change func(w *world, g *model.Guest)) {
		of(name, func(w *world, g *model.Guest) {
			if _, there := g.Config.DiskAt(slot); there {
				change(w, g)
			}
		})
	}
	for _, lock := range []string{"backup", "clone", "create", "destroyed", "migrate", "rollback", "snapshot", "suspended"} {
		of("it is locked by "+lock, func(_ *world, g *model.Guest) { g.Lock = lock })
		of("it is locked by "+lock+" and half there", func(w *world, g *model.Guest) {
			g.Lock, g.Config.Half = lock, true
			w.seeing(func(o *model.Observed) {
				for _, g := range o.Guests {
					g.Ahead = true
				}
			})
		})
	}
	for _, kind := range []string{"qmstart", "qmstop", "qmclone", "qmdestroy", "qmigrate", "qmrestore", "qmsnapshot", "qmtemplate", "vzdump", "imgcopy"} {
		of("a task works on it: "+kind, func(w *world, g *model.Guest) {
			w.tasks = append(w.tasks, model.Task{UPID: "UPID:" + kind, Node: g.Node, Type: kind, VMID: g.VMID, ID: itoa(g.VMID)})
		})
	}
	for _, status := range []model.Status{model.StatusUnknown, model.StatusPaused, model.StatusStopped, model.StatusRunning} {
		of(fmt.Sprintf("it is %q", status), func(_ *world, g *model.Guest) { g.Status = status })
	}
	for name, aspect := range inOrder(map[string]model.Aspect{"its config": model.AspectConfig, "its power": model.AspectPower, "its pool": model.AspectPool, "its HA": model.AspectHA, "its firewall": model.AspectFirewall, "itself": model.AspectGuest}) {
		of("a request about "+name+" is in flight", func(_ *world, g *model.Guest) { g.InFlight = aspect })
	}
	list.add("a request that makes it is in flight", func(w *world, d *model.Desired) {
		o := owner("VirtualMachine", "web")
		w.seeing(func(have *model.Observed) { have.Coming = map[model.Owner]string{o: "clone VM 5600"} })
	})
	list.add("a request that makes it is in flight, and it is only foreseen", func(w *world, d *model.Desired) {
		o := owner("VirtualMachine", "web")
		w.seeing(func(have *model.Observed) { have.Coming = map[model.Owner]string{o: "clone VM 5600"} })
		d.Foresee = true
	})
	for _, f := range []model.Failure{{Hard: true}, {Full: true}, {Unread: true}, {Unread: true, Guest: 5600}, {Lost: true}, {}} {
		f.What, f.Text = "configure it", "no"
		list.add(fmt.Sprintf("a step failed (hard %t, full %t, unread %t, guest %d, lost %t)", f.Hard, f.Full, f.Unread, f.Guest, f.Lost), func(w *world, _ *model.Desired) {
			w.fails = map[Key]model.Failure{owner("VirtualMachine", "web").Key: f}
		})
	}
	for _, id := range []int{5600, 5601, 4000} {
		for _, ended := range []bool{false, true} {
			list.add(fmt.Sprintf("VM %d was begun for it, and the task has ended: %t", id, ended), func(w *world, _ *model.Desired) {
				t := model.Task{UPID: "UPID:b", Type: "qmclone", VMID: 9000}
				if ended {
					t.Ended = time.Unix(1, 0)
				}
				w.tasks = append(w.tasks, t)
				w.seeing(func(o *model.Observed) {
					o.Begun = map[model.Owner]model.Begun{owner("VirtualMachine", "web"): {VMID: id, Task: t.UPID}}
				})
			})
		}
		for _, name := range []string{"", "theirs"} {
			for _, half := range []bool{false, true} {
				list.add(fmt.Sprintf("VM %d was begun for it, is called %q, and is half there: %t", id, name, half), func(w *world, _ *model.Desired) {
					if w.Guests[id] != nil {
						return
					}
					g := w.plain(id, name, "pve2")
					g.Config.Half = half
					w.seeing(func(o *model.Observed) {
						o.Begun = map[model.Owner]model.Begun{owner("VirtualMachine", "web"): {VMID: id}}
					})
				})
			}
		}
	}
	for _, lock := range []string{"create", "clone"} {
		for _, task := range []bool{false, true} {
			list.add(fmt.Sprintf("two guests were seen with the lock %s, with a task: %t", lock, task), func(w *world, _ *model.Desired) {
				for _, id := range []int{5955, 5950} {
					g := w.plain(id, "", "pve3")
					g.Lock, g.Config.Half = lock, true
					if task {
						w.tasks = append(w.tasks, model.Task{UPID: "UPID:r", Type: "qmcreate", VMID: id})
					}
				}
				w.seeing(func(o *model.Observed) {
					for _, id := range []int{5950, 5955} {
						c := *w.Guests[id].Config
						o.Guests[id].Ahead, o.Guests[id].Config = true, &c
					}
				})
			})
		}
	}
	of("it has lost its notes", func(_ *world, g *model.Guest) { g.Config.Marker = nil })
	of("it loses its notes at the next start", func(_ *world, g *model.Guest) {
		c := *g.Config
		g.Config.Running, g.Config.Marker = &c, nil
	})
	of("it is somebody else's when it restarts", func(_ *world, g *model.Guest) {
		c, m := *g.Config, *g.Config.Marker
		m.Owner.Name = "another"
		g.Config.Running, g.Config.Marker = &c, &m
	})
	of("it is of another set", func(_ *world, g *model.Guest) { g.Config.Marker.Owner.Set = "theirs" })
	of("it is of another door", func(_ *world, g *model.Guest) { g.Config.Marker.Owner.Door = "cluster" })
	of("it has lost its tags", func(_ *world, g *model.Guest) { g.Tags, g.Config.Tags = nil, nil })
	of("it is kept by its marker", func(_ *world, g *model.Guest) { g.Config.Marker.Retain = true })
	of("it is adopted", func(_ *world, g *model.Guest) { g.Config.Marker.Adopted = true })
	of("it is a template", func(_ *world, g *model.Guest) { g.Template = true })
	of("it is called otherwise", func(_ *world, g *model.Guest) { g.Name, g.Config.Options["name"] = "mine", "mine" })
	of("it is in another pool", func(_ *world, g *model.Guest) { g.Pool = "others" })
	of("HA has given it up", func(_ *world, g *model.Guest) { g.HAState = model.HAError })
	of("HA doesn't know it", func(w *world, g *model.Guest) { g.HAState = ""; delete(w.HA, sid(g.VMID)) })
	of("it is protected", func(_ *world, g *model.Guest) { g.Config.Options["protection"] = "1" })
	of("it has another memory", func(_ *world, g *model.Guest) { g.Config.Options["memory"] = "1024" })
	of("it gets another memory when it restarts", func(_ *world, g *model.Guest) {
		c := deep(*g.Config)
		text := "1024"
		g.Config.Running, g.Config.Options["memory"], g.Config.Pending = &c, text, map[string]*string{"memory": &text}
	})
	ofDisk("a disk was detached", "scsi1", func(_ *world, g *model.Guest) { g.Config.Unused = append(g.Config.Unused, take(g.Config, "scsi1")) })
	ofDisk("a disk was taken away", "scsi1", func(_ *world, g *model.Guest) { take(g.Config, "scsi1") })
	ofDisk("its first disk was taken away", "scsi0", func(_ *world, g *model.Guest) { take(g.Config, "scsi0") })
	ofDisk("a disk is larger", "scsi1", func(_ *world, g *model.Guest) { disk(g.Config, "scsi1").Size = 99 << 30 })
	ofDisk("a disk is elsewhere", "scsi1", func(_ *world, g *model.Guest) {
		disk(g.Config, "scsi1").Storage, disk(g.Config, "scsi1").Volume = "local-lvm", "local-lvm:vm-5600-disk-1"
	})
	ofDisk("its drive is empty", "ide0", func(_ *world, g *model.Guest) { disk(g.Config, "ide0").Volume = "none" })
	ofDisk("a disk is in its drive's slot", "ide0", func(_ *world, g *model.Guest) {
		*disk(g.Config, "ide0") = model.Disk{Slot: "ide0", Volume: "nfs:5600/vm-5600-disk-9.qcow2", Storage: "nfs", Size: 1 << 30}
	})
	ofDisk("its first-boot data were taken out", "ide2", func(_ *world, g *model.Guest) { disk(g.Config, "ide2").Volume = "none" })
	of("it has a cloud-init drive", func(_ *world, g *model.Guest) {
		g.Config.Disks = append(g.Config.Disks, model.Disk{Slot: "sata5", Volume: "nfs:vm-5600-cloudinit", Storage: "nfs", CDROM: true, CloudInit: true})
	})
	of("an interface was taken away", func(_ *world, g *model.Guest) { g.Config.NICs = g.Config.NICs[:min(1, len(g.Config.NICs))] })
	of("it has a third interface", func(_ *world, g *model.Guest) {
		g.Config.NICs = append(g.Config.NICs, model.NIC{Slot: "net5", Model: "virtio", MAC: "02:00:00:00:00:05", Bridge: "vmbr0"})
	})
	of("somebody has taken a snapshot", func(_ *world, g *model.Guest) {
		g.Snapshots = append(g.Snapshots, model.SnapshotInfo{Name: "by-hand", Time: 5})
	})
	of("its snapshot is gone", func(_ *world, g *model.Guest) { g.Snapshots = []model.SnapshotInfo{} })
	of("its agent is silent", func(_ *world, g *model.Guest) { g.Agent, g.Addresses = model.AgentDown, nil })
	of("its agent isn't on", func(_ *world, g *model.Guest) { delete(g.Config.Options, "agent") })
	of("its agent has said something else", func(_ *world, g *model.Guest) { g.Addresses = []netip.Prefix{netip.MustParsePrefix("10.9.8.7/24")} })
	of("its node is offline", func(w *world, g *model.Guest) { w.Nodes[g.Node].Online = false })
	of("its node has left the cluster", func(w *world, g *model.Guest) { delete(w.Nodes, g.Node) })
	of("its node is in maintenance", func(w *world, g *model.Guest) { w.Nodes[g.Node].Maintenance = true })
	of("it was moved", func(_ *world, g *model.Guest) { g.Node = "pve3" })
	of("it has a twin", func(w *world, g *model.Guest) { w.twin(g, 5999) })
	of("it has a twin elsewhere that isn't signed", func(w *world, g *model.Guest) { w.twin(g, 4000).Config.Marker.VMID = 5600 })
	of("it is gone", func(w *world, g *model.Guest) { delete(w.Guests, g.VMID) })
	of("somebody else has its VMID", func(w *world, g *model.Guest) { w.plain(g.VMID, "theirs", "pve1") })
	of("somebody else has its MAC address", func(w *world, g *model.Guest) {
		other := w.plain(777, "theirs", "pve1")
		other.Config.NICs[0].MAC, other.Status = g.Config.NICs[0].MAC, model.StatusRunning
	})
	of("a machine hangs on it", func(w *world, g *model.Guest) {
		w.plain(777, "theirs", "pve1").Config.Disks[0].Volume = fmt.Sprintf("nfs:%d/base-%d-disk-0.qcow2/777/vm-777-disk-0.qcow2", g.VMID, g.VMID)
	})
	list.add("it doesn't shut down", func(w *world, _ *model.Desired) {
		w.seeing(func(o *model.Observed) { o.Ignored = map[Key]bool{owner("VirtualMachine", "web").Key: true} })
	})
	list.add("it is being restarted", func(w *world, _ *model.Desired) {
		w.seeing(func(o *model.Observed) { o.Rolling = map[Key]bool{owner("VirtualMachine", "web").Key: true} })
	})
	list.add("a disk of its VMID is there", func(w *world, _ *model.Desired) {
		w.seeing(func(o *model.Observed) {
			for _, on := range []model.Volumes{o.Volumes, o.Disks[""]} {
				if on != nil {
					on["nfs"] = append(on["nfs"], model.Volume{ID: "nfs:5600/vm-5600-disk-7.qcow2", Node: "pve1", VMID: 5600})
				}
			}
		})
	})
	for _, volume := range []string{"nfs:5600/vm-5600-cloudinit.qcow2", "local-lvm:vm-5600-cloudinit", "nfs:5600/vm-5600-disk-7.qcow2"} {
		for _, node := range []string{"pve1", "pve3"} {
			list.add("a step failed, and "+volume+" is on "+node+", and it is to have a cloud-init drive", func(w *world, d *model.Desired) {
				w.fails = map[Key]model.Failure{owner("VirtualMachine", "web").Key: {What: "configure it", Text: "no"}}
				for i := range d.VMs {
					d.VMs[i].Seed = nil
					d.VMs[i].Disks = append(slices.Clone(d.VMs[i].Disks), model.Disk{Slot: "ide3", Storage: model.StorageOf(volume), CDROM: true, CloudInit: true})
				}
				w.seeing(func(o *model.Observed) {
					if o.Volumes != nil {
						on := model.StorageOf(volume)
						o.Volumes[on] = append(o.Volumes[on], model.Volume{ID: volume, Node: node, VMID: 5600})
					}
				})
			})
		}
	}
	list.add("nothing is agreed to", func(_ *world, d *model.Desired) { d.Allow = model.Allow{} })
	list.add("everything is agreed to", func(_ *world, d *model.Desired) {
		d.Allow = model.Allow{Restart: true, Replace: true, Data: true, Stop: true, Move: true}
	})
	list.add("only the lists were read", func(_ *world, d *model.Desired) { d.Quick = true })
	list.add("it is held", func(_ *world, d *model.Desired) {
		for i := range d.VMs {
			d.VMs[i].Hold = model.Hold{Reason: "Paused", Text: "it is paused"}
		}
	})
	for _, storage := range []string{"nfs", "local-lvm"} {
		for name, change := range inOrder(map[string]func(*model.Image){"isn't to be copied": func(i *model.Image) { i.NoCopies = true }, "is implied": func(i *model.Image) { i.Implied = true }}) {
			list.add("its template on "+storage+" "+name+", and all nodes are full", func(w *world, d *model.Desired) {
				w.template(9000, "ubuntu-22-template", "pve1", storage)
				for _, n := range w.Nodes {
					n.Used = n.Memory
				}
				change(&d.Images[0])
			})
		}
	}
	list.add("its template is gone", func(w *world, _ *model.Desired) { delete(w.Guests, 9000) })
	list.add("the storage is full", func(w *world, _ *model.Desired) {
		s := deep(*w.Storages["nfs"])
		fill(&s, 0)
		w.Storages["nfs"] = &s
	})
	list.add("on 8.4", func(w *world, _ *model.Desired) { w.Release, w.Minor = 8, 4 })
	list.add("another machine is a copy of it", func(_ *world, d *model.Desired) {
		v := testVM("copy")
		v.NICs[0].MAC, v.Source = "", model.Source{VM: owner("VirtualMachine", "web").Key}
		d.VMs = append(d.VMs, v)
	})
	return list
}

// TestWhateverHappensToAMachine: what is done about a machine at any stage of its life, when anything of this happens.
func TestWhateverHappensToAMachine(t *testing.T) {
	matrix(t, "machine", machineStages(), machineTroubles())
}
