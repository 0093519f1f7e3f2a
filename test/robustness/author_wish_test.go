package robustness

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
)

// wish draws something that people ask of us.
func (a *author) wish() {
	switch a.weighted(10, 5, 3, 3, 4, 3, 2, 4, 2, 2, 2, 2, 5, 3) {
	case 0:
		a.create()
	case 1:
		a.options()
	case 2:
		a.class()
	case 3:
		a.grow()
	case 4:
		a.power()
	case 5:
		a.snapshot()
	case 6:
		a.revert()
	case 7:
		a.labels()
	case 8:
		a.disk()
	case 9:
		a.nic()
	case 10:
		a.seed()
	case 11:
		a.standing()
	case 12:
		a.remove()
	case 13:
		a.unname()
	}
}

func (a *author) name() string { return "vm-" + string(rune('a'+a.IntN(5))) }

// create wants a machine, perhaps one that was wanted before.
func (a *author) create() {
	i, name := a.setIndex(), a.name()
	v := a.machine(setNames[i], name)
	a.made = append(a.made, name)
	k := wishCreate
	if v.Source.VM.Name != "" {
		k = wishClone
	}
	a.add(k, a.soon(), func(r *run) {
		if w := r.sets[i].find(name); w != nil && w.VMID != v.VMID {
			// While a copy is being made nobody can tell whose it is; so the VMID
			// in a manifest mustn't change just then.
			r.settle()
		}
		if r.sets[i].ask(name, v) {
			r.tells(k)
		}
	}, "%s/%s: wanted, %s", setNames[i], name, machineText(v))
}

// crowd wants many small machines at once, all made from one image.
func (a *author) crowd() {
	i, n := a.setIndex(), a.number(24, 40)
	image := a.h.world.images[0]
	a.add(wishCrowd, a.soon(), func(r *run) {
		s := r.sets[i]
		s.change(func() {
			for j := range n {
				name := fmt.Sprintf("crowd-%d", j)
				s.askFor(name, model.VM{
					Name: name, Range: r.h.world.vmids, Source: model.Source{Image: key("VMImage", image)}, Options: map[string]string{}, Managed: []string{},
					Disks: []model.Disk{{Slot: model.RootSlot, Name: "root"}}, NICs: []model.NIC{{Slot: "net0", Name: "n0", Model: "virtio", Bridge: "vmbr0", MAC: stableMAC(s.name, name, 0)}},
				})
			}
		})
		r.tells(wishCrowd)
	}, "%s: %d machines of image %s wanted", setNames[i], n, image)
}

// ask wants a machine of that kind from now on.
func (s *set) ask(name string, v model.VM) bool {
	return s.change(func() { s.askFor(name, v) })
}

func (s *set) askFor(name string, v model.VM) {
	w := s.find(name)
	if w == nil {
		w = &wish{VM: v}
		w.Owner = s.owner("VirtualMachine", name)
		s.vms = append(s.vms, w)
		return
	}
	owner := w.Owner
	w.note()
	w.remade = w.remade || w.Source.Name() != v.Source.Name() || w.VMID != v.VMID
	w.VM = v
	w.Owner, w.unnamed = owner, false
}

// note remembers what was allowed until now.
func (w *wish) note() {
	now := time.Now()
	w.wasRetained = w.wasRetained || w.Retain
	if w.Deleted || w.unnamed || w.remade && w.Update.Replace {
		w.spared = now
	}
	if w.Power != model.PowerOn || w.Update.Restart || w.Deleted || w.unnamed {
		w.kept = now
	}
	if w.Update.Data {
		w.dropped = now
	}
	for _, d := range w.Disks {
		if w.had == nil {
			w.had = map[string]bool{}
		}
		w.had[d.Slot] = true
	}
}

func (a *author) options() {
	k := pick(a.dice, "memory", "cores", "onboot", "ciuser")
	value := map[string]string{"memory": pick(a.dice, "1024", "1536", "2560"), "cores": pick(a.dice, "1", "3"), "onboot": "1", "ciuser": pick(a.dice, "bob", "eve")}[k]
	drop := a.chance(0.25) && k != "memory" && k != "cores"
	value = prop.Canonical(k, value)
	a.change(wishChange, fmt.Sprintf("%s=%s (not any more: %t)", k, value, drop), func(_ *set, w *wish) {
		w.Options = maps.Clone(w.Options)
		if drop {
			delete(w.Options, k)
		} else if w.Seed == nil || k != "ciuser" {
			w.Options[k] = value
		}
		w.Managed = managed(w.Options)
	})
}

func (a *author) class() {
	var v model.VM
	v.Options = map[string]string{}
	a.classOf(&v)
	a.change(wishClass, fmt.Sprintf("another class, %v", v.Options), func(_ *set, w *wish) {
		options := maps.Clone(w.Options)
		for _, k := range []string{"cores", "memory", "cpu", "onboot"} {
			delete(options, k)
		}
		maps.Copy(options, canonical(v.Options))
		w.Options, w.Managed = options, managed(options)
	})
}

func (a *author) grow() {
	gib := a.number(1, 12)
	a.change(wishGrow, fmt.Sprintf("its first disk grows by %d GiB", gib), func(_ *set, w *wish) {
		w.Disks = slices.Clone(w.Disks)
		if w.Disks[0].Size == 0 {
			w.Disks[0].Size = 8 << 30
		}
		w.Disks[0].Size += int64(gib) << 30
	})
}

func (a *author) power() {
	to := pick(a.dice, model.PowerOn, model.PowerOff, model.PowerOffGraceful)
	a.change(wishPower, fmt.Sprintf("power %s", to), func(_ *set, w *wish) {
		if w.HA != nil {
			return
		}
		w.note()
		w.Power = to
		if to != model.PowerOn {
			w.WaitAddress = false
		}
	})
}

func (a *author) labels() {
	tags := pick(a.dice, nil, []string{"web"}, []string{"blue", "web"}, []string{"old"})
	text := pick(a.dice, "", "a web server", "two\nlines")
	a.change(wishLabels, fmt.Sprintf("tags %v, description %q", tags, text), func(_ *set, w *wish) { w.Tags, w.Description = tags, text })
}

// disk adds a disk, or takes it away again.
func (a *author) disk() {
	d := a.extraDisk(pick(a.dice, "scsi1", "scsi2", "virtio1"))
	drop := a.chance(0.4)
	a.change(wishDisk, fmt.Sprintf("disk %s of %d GiB on %s (not any more: %t)", d.Slot, d.Size>>30, d.Storage, drop), func(_ *set, w *wish) {
		w.note()
		i := slices.IndexFunc(w.Disks, func(o model.Disk) bool { return o.Slot == d.Slot })
		w.Disks = slices.Clone(w.Disks)
		switch {
		case drop && i > 0:
			w.Disks = slices.Delete(w.Disks, i, i+1)
		case !drop && i < 0:
			w.Disks = append(w.Disks, d)
		}
	})
}

func (a *author) nic() {
	slot, bridge, drop := pick(a.dice, "net0", "net1", "net2"), pick(a.dice, "vmbr0", "vmbr1"), a.chance(0.3)
	a.change(wishNIC, fmt.Sprintf("%s on %s (not any more: %t)", slot, bridge, drop), func(s *set, w *wish) {
		i := slices.IndexFunc(w.NICs, func(o model.NIC) bool { return o.Slot == slot })
		w.NICs = slices.Clone(w.NICs)
		switch {
		case drop && i > 0:
			w.NICs = slices.Delete(w.NICs, i, i+1)
		case i >= 0:
			w.NICs[i].Bridge = bridge
		case !drop:
			w.NICs = append(w.NICs, model.NIC{Slot: slot, Name: slot, Model: "virtio", Bridge: bridge, MAC: stableMAC(s.name, w.Name, int(slot[3]-'0'))})
		}
	})
}

// seed changes the first-boot data, or takes it away.
func (a *author) seed() {
	data := a.seedData()
	if a.chance(0.3) {
		data = nil
	}
	a.change(wishSeed, fmt.Sprintf("other first-boot data (none: %t)", data == nil), func(_ *set, w *wish) {
		w.Seed = data
		if data != nil {
			w.Options = maps.Clone(w.Options)
			for _, k := range []string{"ciuser", "cipassword", "ipconfig0"} {
				delete(w.Options, k)
			}
			w.Managed = managed(w.Options)
		}
	})
}

// standing changes what the cluster thinks of a machine.
func (a *author) standing() {
	pool := pick(a.dice, "", "team", "lab")
	ha := a.h.world.Cluster != "" && len(a.h.world.nodes) > 2 && a.chance(0.4)
	a.change(wishStanding, fmt.Sprintf("pool %q, HA %t", pool, ha), func(_ *set, w *wish) {
		w.Pool = pool
		switch {
		case ha && w.Power == model.PowerOn:
			w.HA = &model.HA{}
		case !ha:
			w.HA = nil
		}
	})
}

// remove wants a machine to go, mostly with its snapshots: else it has to stay as
// long as these.
func (a *author) remove() {
	with := a.chance(0.8)
	a.change(wishDelete, fmt.Sprintf("deleted (with its snapshots: %t)", with), func(s *set, w *wish) {
		w.Deleted = true
		for _, snap := range s.snaps {
			snap.Deleted = snap.Deleted || with && snap.VM == w.Owner.Key
		}
	})
}

// unname takes a machine out of the manifests, and prunes.
func (a *author) unname() {
	a.change(wishPrune, "not named any more, prune", func(s *set, w *wish) {
		s.prune = true
		w.unnamed = true
		for _, snap := range s.snaps {
			if snap.VM == w.Owner.Key {
				snap.unnamed = true
			}
		}
	})
}
