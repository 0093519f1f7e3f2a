package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// TestEachChangeHasItsPlan: what comes of a change of each field, for a guest that runs when nothing is agreed to, for one that runs
// when everything is, for one that is off, and when the change is taken back.
func TestEachChangeHasItsPlan(t *testing.T) {
	all := dropped()
	for name, w := range wishes() {
		if w.change != nil {
			all[name] = w
		}
	}
	everything := model.Allow{Restart: true, Replace: true, Data: true, Stop: true, Move: true}
	off := everyWish()
	off.VMs[0].Power = model.PowerOff
	running, stopped := wishWorld(), wishWorld() // plans change nothing there
	converge(quiet{t}, running, everyWish())
	converge(quiet{t}, stopped, off)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		want := everyWish()
		all[name].change(&want)
		p, looks := running.planLooks(want)
		fmt.Fprintf(&b, "# %s\n", name)
		tell(&b, p, looks)

		fmt.Fprintf(&b, "# %s, everything is agreed to\n", name)
		want.Allow = everything
		p, _ = running.planLooks(want)
		tell(&b, p, nil)

		fmt.Fprintf(&b, "# %s, of a guest that is off\n", name)
		want = everyWish()
		want.VMs[0].Power = model.PowerOff
		all[name].change(&want)
		p, looks = stopped.planLooks(want)
		tell(&b, p, looks)

		fmt.Fprintf(&b, "# %s, taken back\n", name)
		w := wishWorld()
		want = everyWish()
		all[name].change(&want)
		converge(quiet{t}, w, want)
		p, _ = w.planLooks(everyWish())
		tell(&b, p, nil)
	}
	golden.Compare(t, "lives/changes.golden", b.String())
}

func TestTheLifeOfMachinesUnderHA(t *testing.T) {
	vms := databases(3)
	for i := range vms {
		vms[i].HA = &model.HA{}
	}
	web := testVM("web")
	web.Labels = map[string]string{"vm.type": "front"}
	live(t, "ha", newWorld(), desired(append(vms, web)...),
		chapter{"made", func(*world, *model.Desired) {}},
		chapter{"one of them has other limits and a group", func(_ *world, d *model.Desired) {
			d.VMs[0].HA = &model.HA{MaxRestart: 3, MaxRelocate: 2, Group: "fast"}
		}},
		chapter{"another group", func(_ *world, d *model.Desired) {
			d.VMs[0].HA = &model.HA{MaxRestart: 3, MaxRelocate: 2, Group: "slow"}
		}},
		chapter{"a group that isn't there", func(_ *world, d *model.Desired) { d.VMs[0].HA = &model.HA{Group: "none"} }},
		chapter{"one leaves HA", func(_ *world, d *model.Desired) { d.VMs[0].HA = nil }},
		chapter{"one goes", func(_ *world, d *model.Desired) { d.VMs[1].Deleted = true }},
		chapter{"one is off", func(_ *world, d *model.Desired) { d.VMs[2].Power = model.PowerOff }},
		chapter{"the manager has given up on it, and it is to be on", func(w *world, d *model.Desired) {
			d.VMs[2].Power = model.PowerOn
			for _, g := range w.Guests {
				if g.HAState != "" {
					g.HAState = model.HAError
				}
			}
		}},
	)
}

func TestTheLifeOfSnapshots(t *testing.T) {
	v := testVM("web")
	want := desired(v)
	snap := func(name string) model.Snapshot {
		return model.Snapshot{Owner: owner("VMSnapshot", name), VM: v.Owner.Key, Name: name, Description: "about " + name, Keep: 2}
	}
	live(t, "snapshots", newWorld(), want,
		chapter{"one is taken when the guest is made", func(_ *world, d *model.Desired) { d.Snapshots = []model.Snapshot{snap("a")} }},
		chapter{"somebody takes another", func(w *world, d *model.Desired) {
			for _, g := range w.Guests {
				if g.Name == "web" {
					g.Snapshots = append(g.Snapshots, model.SnapshotInfo{Name: "by-hand", Parent: "a", Description: "mine", Time: 1})
				}
			}
		}},
		chapter{"three more, of which two are kept", func(_ *world, d *model.Desired) {
			d.Snapshots = append(d.Snapshots, snap("b"), snap("c"), snap("d"))
			d.Snapshots[2].Memory = true
		}},
		chapter{"back to one", func(_ *world, d *model.Desired) { d.Snapshots[3].Revert = "1" }},
		chapter{"back to one, agreed", func(_ *world, d *model.Desired) { d.Allow.Data = true }},
		chapter{"the same again", func(*world, *model.Desired) {}},
		chapter{"another text", func(_ *world, d *model.Desired) { d.Snapshots[3].Description = "other" }},
		chapter{"one goes, and its data may not", func(_ *world, d *model.Desired) { d.Allow.Data, d.Snapshots[3].Deleted = false, true }},
		chapter{"held", func(_ *world, d *model.Desired) {
			d.Allow.Data, d.Snapshots[2].Hold, d.Snapshots[2].Deleted = true, model.Hold{Reason: "Paused", Text: "it is paused"}, true
		}},
		chapter{"not named any more", func(_ *world, d *model.Desired) { d.Snapshots, d.Allow.Data = nil, false }},
		chapter{"pruned", func(_ *world, d *model.Desired) { d.Prune = true }},
		chapter{"pruned, agreed", func(_ *world, d *model.Desired) { d.Allow.Data = true }},
	)
}

func TestTheLifeOfFetchedImages(t *testing.T) {
	img := model.Image{
		Owner: owner("VMImage", "cloud"), URL: "http://images/cloud.qcow2", Checksum: "aa", ChecksumAlgorithm: "sha256",
		Options: map[string]string{"boot": "order=scsi0", "bios": "ovmf"}, Range: model.Range{First: 6000, Last: 6999},
	}
	v, full := testVM("web"), testVM("full")
	v.Source, full.Source = model.Source{Image: img.Owner.Key}, model.Source{Image: img.Owner.Key, Full: true, Storage: "local-lvm"}
	full.NICs[0].MAC, full.Disks[0].Format = "", "raw"
	want := model.Desired{Set: "default", Range: v.Range, Images: []model.Image{img}, VMs: []model.VM{v, full}}
	live(t, "images", newWorld(), want,
		chapter{"fetched", func(*world, *model.Desired) {}},
		chapter{"another checksum", func(_ *world, d *model.Desired) { d.Images[0].Checksum = "bb" }},
		chapter{"guests may be replaced", func(_ *world, d *model.Desired) { d.Allow.Replace = true }},
		chapter{"another storage and other options", func(_ *world, d *model.Desired) {
			d.Images[0].Storage, d.Images[0].Options = "local-lvm", map[string]string{"boot": "order=scsi0"}
		}},
		chapter{"the image goes while guests are there", func(_ *world, d *model.Desired) { d.Images[0].Deleted = true }},
		chapter{"guests go, too", func(_ *world, d *model.Desired) { d.Delete() }},
	)
}

func TestTheLifeOfCopies(t *testing.T) {
	source, linked, copied := testVM("source"), testVM("linked"), testVM("copied")
	source.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"}
	source.Options["ciuser"], source.Managed = "admin", []string{"ciuser"}
	linked.Source = model.Source{VM: source.Owner.Key, Full: true}
	copied.Source = model.Source{VM: source.Owner.Key, Snapshot: "golden", Full: true, Copy: true}
	copied.Options, copied.Managed, copied.Seed = maps.Clone(source.Options), source.Managed, source.Seed
	copied.Inherited = []string{"cores", "memory", "ciuser", model.InheritedSeed, model.InheritedNICs}
	linked.NICs[0].MAC, copied.NICs[0].MAC = "", ""
	snap := model.Snapshot{Owner: owner("VMSnapshot", "golden"), VM: source.Owner.Key, Name: "golden"}
	want := desired(source, linked, copied)
	want.Snapshots = []model.Snapshot{snap}
	live(t, "copies", newWorld(), want,
		chapter{"made", func(*world, *model.Desired) {}},
		chapter{"the source has more memory", func(_ *world, d *model.Desired) {
			d.VMs[0].Options = map[string]string{"cores": "4", "memory": "8192", "ciuser": "root"}
			d.VMs[2].Options = d.VMs[0].Options
			d.Allow.Restart = true
		}},
		chapter{"the source is to go", func(_ *world, d *model.Desired) { d.VMs[0].Deleted = true; d.Snapshots[0].Deleted = true }},
		chapter{"the linked one, too", func(_ *world, d *model.Desired) { d.VMs[1].Deleted = true }},
		chapter{"the copy has its own memory", func(_ *world, d *model.Desired) {
			d.VMs[2].Inherited = []string{"cores", "ciuser", model.InheritedSeed, model.InheritedNICs}
			d.VMs[2].Options = map[string]string{"cores": "4", "memory": "2048", "ciuser": "root"}
		}},
		chapter{"all goes", func(_ *world, d *model.Desired) { d.Delete() }},
	)
}

func TestTheLifeOfGroups(t *testing.T) {
	g := model.Group{Owner: owner("VirtualMachine", "web"), Name: "web", Count: 3, Range: model.Range{First: 5000, Last: 5999}}
	member := func(n int) model.VM {
		v := testVM(fmt.Sprintf("web-%d", n))
		v.Group, v.NICs[0].MAC, v.Rollout = "web", "", model.Rollout{Groups: []string{"web"}}
		return v
	}
	want := desired(member(1), member(2), member(3))
	want.Groups = []model.Group{g}
	live(t, "groups", newWorld(), want,
		chapter{"three", func(*world, *model.Desired) {}},
		chapter{"more cores, one after the other", func(_ *world, d *model.Desired) {
			for i := range d.VMs {
				d.VMs[i].Options = map[string]string{"cores": "6", "memory": "4096"}
			}
			d.Allow.Restart = true
		}},
		chapter{"one", func(_ *world, d *model.Desired) { d.VMs, d.Groups[0].Count = d.VMs[:1], 1 }},
		chapter{"one, and the others may go", func(_ *world, d *model.Desired) { d.Groups[0].ScaleDown = true }},
		chapter{"none", func(_ *world, d *model.Desired) { d.VMs, d.Groups[0].Count, d.Groups[0].ScaleDown = nil, 0, false }},
		chapter{"the group goes", func(_ *world, d *model.Desired) { d.Groups[0].Deleted = true }},
	)
}

func TestTheLifeOfPlacement(t *testing.T) {
	vms := databases(2)
	move := testVM("move")
	move.NICs[0].MAC = ""
	move.Disks = append(move.Disks, model.Disk{Slot: "scsi1", Name: "data", Storage: "local-lvm", Size: 10 << 30})
	live(t, "placement", newWorld(), desired(append(vms, move)...),
		chapter{"made", func(*world, *model.Desired) {}},
		chapter{"pinned to another node", func(_ *world, d *model.Desired) {
			d.VMs[0].Place.Nodes, d.VMs[2].Place.Nodes = []string{"pve3"}, []string{"pve3", "pve2"}
		}},
		chapter{"moves are agreed to", func(_ *world, d *model.Desired) { d.Allow.Move = true }},
		chapter{"off, and pinned again", func(_ *world, d *model.Desired) {
			d.VMs[0].Power, d.VMs[0].Place.Nodes = model.PowerOff, []string{"pve2"}
		}},
		chapter{"disks go elsewhere", func(_ *world, d *model.Desired) {
			d.VMs[2].Disks = slices.Clone(d.VMs[2].Disks)
			d.VMs[2].Disks[0].Storage, d.VMs[2].Disks[1].Storage = "local-lvm", "nfs"
		}},
		chapter{"one more that avoids both, with one a node", func(_ *world, d *model.Desired) {
			more := databases(4)
			more[2].Place.MaxPerNode, more[3].Place.MinFree = 1, 1<<40
			d.VMs = append(d.VMs, more[2], more[3])
		}},
		chapter{"a node is off", func(w *world, _ *model.Desired) { w.Nodes["pve3"].Online = false }},
	)
}

func TestTheLifeOfPower(t *testing.T) {
	on, graceful, off := testVM("on"), testVM("graceful"), testVM("off")
	graceful.NICs[0].MAC, off.NICs[0].MAC = "", ""
	graceful.Power, off.Power = model.PowerOffGraceful, model.PowerOff
	graceful.ShutdownTimeout = 90 * time.Second
	each := func(w *world, do func(g *model.Guest)) {
		for _, g := range w.Guests {
			if !g.Template {
				do(g)
			}
		}
	}
	live(t, "power", newWorld(), desired(on, graceful, off),
		chapter{"made", func(*world, *model.Desired) {}},
		chapter{"all run", func(w *world, _ *model.Desired) { each(w, func(g *model.Guest) { w.Start(g) }) }},
		chapter{"all run, which is to end whatever they do", func(w *world, d *model.Desired) {
			each(w, func(g *model.Guest) { w.Start(g) })
			d.Allow.Stop, d.Allow.Restart = true, true
		}},
		chapter{"all are paused", func(w *world, _ *model.Desired) { each(w, func(g *model.Guest) { g.Status = model.StatusPaused }) }},
		chapter{"all are stopped", func(w *world, _ *model.Desired) { each(w, func(g *model.Guest) { g.Status = model.StatusStopped }) }},
		chapter{"the agent is silent", func(w *world, _ *model.Desired) {
			each(w, func(g *model.Guest) {
				if g.Name == "on" {
					g.Agent, g.Addresses = model.AgentDown, nil
				}
			})
		}},
		chapter{"no state is known", func(w *world, _ *model.Desired) { each(w, func(g *model.Guest) { g.Status = model.StatusUnknown }) }},
		chapter{"backups lock them", func(w *world, _ *model.Desired) {
			each(w, func(g *model.Guest) { g.Lock, g.Status = "backup", model.StatusRunning })
		}},
	)
}

func TestTheLifeOfMachinesThatGo(t *testing.T) {
	var vms []model.VM
	for _, name := range []string{"plain", "retained", "released", "seeded", "ruled", "pooled", "protected", "graceful", "ignored", "held"} {
		v := testVM(name)
		v.NICs[0].MAC = ""
		vms = append(vms, v)
	}
	at := func(name string) int {
		return slices.IndexFunc(vms, func(v model.VM) bool { return v.Owner.Name == name })
	}
	vms[at("retained")].Retain = true
	vms[at("retained")].Tags, vms[at("retained")].Description = []string{"blue"}, "to be kept"
	vms[at("released")].Retain, vms[at("released")].Released = true, true
	vms[at("seeded")].Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"}
	vms[at("ruled")].HA = &model.HA{Group: "fast"}
	vms[at("pooled")].Pool = "team"
	vms[at("protected")].Options["protection"], vms[at("protected")].Managed = "1", []string{"protection"}
	vms[at("graceful")].Grace = time.Minute
	live(t, "going", newWorld(), desired(vms...),
		chapter{"made", func(*world, *model.Desired) {}},
		chapter{"all go", func(w *world, d *model.Desired) {
			for i := range d.VMs {
				d.VMs[i].Deleted = true
			}
			d.VMs[at("held")].Hold = model.Hold{Reason: "Paused", Text: "it is paused"}
			for _, g := range w.Guests {
				if g.Name == "ignored" {
					g.Lock = "backup"
				}
			}
		}},
		chapter{"the protected one isn't any more, nothing is held or locked", func(w *world, d *model.Desired) {
			d.VMs[at("protected")].Options = map[string]string{"cores": "4", "memory": "4096", "protection": ""}
			d.VMs[at("held")].Hold = model.Hold{}
			for _, g := range w.Guests {
				g.Lock = ""
			}
		}},
	)
}

func TestTheLifeOfAnything(t *testing.T) {
	v := everyWish().VMs[0]
	v.Place.Nodes = nil
	v.Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa"}
	v.HA, v.Pool, v.Tags, v.Description = &model.HA{Group: "fast"}, "team", []string{"blue"}, "a machine"
	v.Options["bios"], v.Options[model.Password] = "ovmf", "x"
	v.Managed, v.Password = []string{"bios", "cores", model.Password}, model.Seal{Mark: "s.aaaabbbb"}
	v.Disks = append(v.Disks, model.Disk{Slot: "efidisk0", Storage: "nfs", Options: map[string]string{"efitype": "4m"}}, model.Disk{Slot: "tpmstate0", Storage: "nfs"})
	blank := testVM("blank")
	blank.Source, blank.NICs[0].MAC = model.Source{Blank: true}, ""
	blank.Disks[0].Size, blank.Tags, blank.Pool = 10<<30+5, []string{"red"}, "team"
	blank.Seed = &model.Seed{Digest: "bbbbbbbbbbbbbbbb", Recipe: &model.Recipe{}}
	want := desired(v, blank)
	live(t, "anything", wishWorld(), want,
		chapter{"made", func(*world, *model.Desired) {}},
		chapter{"other data", func(_ *world, d *model.Desired) {
			d.VMs[0].Seed, d.VMs[1].Seed = &model.Seed{Storage: "nfs", Digest: "cccccccccccccccc"}, nil
		}},
		chapter{"somebody has renamed it, taken its tags and its marker's place", func(w *world, _ *model.Desired) {
			for _, g := range w.Guests {
				if g.Name == "web" {
					g.Config.Options["name"], g.Name, g.Config.Tags, g.Tags, g.Config.Text = "mine", "mine", []string{"theirs"}, []string{"theirs"}, "by hand"
				}
			}
		}},
		chapter{"nothing is said of most", func(_ *world, d *model.Desired) {
			d.VMs[0].HA, d.VMs[0].Pool, d.VMs[0].Tags, d.VMs[0].Description, d.VMs[0].Seed = nil, "", nil, "", nil
			d.VMs[0].Options, d.VMs[0].Managed, d.VMs[0].Password = map[string]string{}, nil, model.Seal{}
			d.VMs[0].NICs = nil
		}},
		chapter{"all is agreed to", func(_ *world, d *model.Desired) {
			d.Allow = model.Allow{Restart: true, Replace: true, Data: true, Stop: true, Move: true}
			d.VMs[0].Disks = d.VMs[0].Disks[:1]
		}},
		chapter{"not named any more", func(_ *world, d *model.Desired) { d.VMs = nil }},
		chapter{"pruned", func(_ *world, d *model.Desired) { d.Prune = true }},
	)
}
