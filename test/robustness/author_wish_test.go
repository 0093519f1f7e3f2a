package robustness

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	for _, d := range w.Disks {
		if w.had == nil {
			w.had = map[string]bool{}
		}
		w.had[d.Slot] = true
	}
}

// machine draws what a machine is to be like.
func (a *author) machine(set, name string) model.VM {
	w := a.h.world
	v := model.VM{
		Name: name, Range: w.vmids, Options: map[string]string{},
		Update: model.Allow{Restart: a.chance(0.6), Data: a.chance(0.5), Replace: a.chance(0.4)},
		Retain: a.chance(0.08), Power: pick(a.dice, model.PowerOn, model.PowerOn, model.PowerOn, model.PowerOff, model.PowerOffGraceful, ""),
	}
	if a.chance(0.15) {
		v.VMID = a.number(w.vmids.First, w.vmids.Last)
	}
	a.source(&v)
	a.classOf(&v)
	if a.chance(0.3) {
		v.Options["ciuser"], v.Options["ipconfig0"] = "ann", "ip=dhcp"
		if a.chance(0.5) {
			v.Options["cipassword"] = guestSecret
		}
	}
	for n := range a.number(1, 2) {
		v.NICs = append(v.NICs, model.NIC{Slot: fmt.Sprintf("net%d", n), Name: fmt.Sprintf("n%d", n), Model: "virtio", Bridge: pick(a.dice, "vmbr0", "vmbr1"), MAC: stableMAC(set, name, n)})
	}
	if a.chance(0.3) {
		v.Disks = append(v.Disks, a.extraDisk("scsi1"))
	}
	if a.chance(0.2) {
		v.Seed = a.seedData()
		delete(v.Options, "ciuser")
		delete(v.Options, "cipassword")
		delete(v.Options, "ipconfig0")
	}
	v.Tags = pick(a.dice, nil, []string{"web"}, []string{"db", "web"})
	v.Description = pick(a.dice, "", "made for a test")
	v.Pool = pick(a.dice, "", "", "team", "lab")
	if w.Cluster != "" && len(w.nodes) > 2 && v.Power == model.PowerOn && a.chance(0.2) {
		v.HA = &model.HA{}
	}
	v.Options, v.Managed = canonical(v.Options), managed(v.Options)
	return v
}

func managed(options map[string]string) []string { return slices.Sorted(maps.Keys(options)) }

// canonical spells options as those do who read manifests.
func canonical(options map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range options {
		out[k] = prop.Canonical(k, v)
	}
	return out
}

// source draws what the machine is made from: mostly an image, sometimes
// nothing, sometimes another machine.
func (a *author) source(v *model.VM) {
	w := a.h.world
	root := model.Disk{Slot: model.RootSlot, Name: "root", Size: int64(pick(a.dice, 0, 8, 10, 20)) << 30}
	switch {
	case a.chance(0.1):
		v.Source = model.Source{Blank: true}
		root.Slot, root.Storage, root.Size = "scsi0", pick(a.dice, w.disks...), int64(a.number(1, 4))<<30
		root.Format = w.format(root.Storage)
	case a.chance(0.1) && len(a.made) > 0 && pick(a.dice, a.made...) != v.Name:
		from := pick(a.dice, a.made...)
		if from == v.Name {
			from = w.images[0]
		}
		v.Source = model.Source{VM: key("VirtualMachine", from), Full: true}
		root.Size = 0
	default:
		image := pick(a.dice, w.images...)
		v.Source = model.Source{Image: key("VMImage", image), Full: a.chance(0.15)}
		if v.Source.Full && a.chance(0.5) {
			v.Source.Storage = pick(a.dice, w.disks...)
		}
		v.WaitAddress = v.Power == model.PowerOn && w.agents[image] && a.chance(0.7)
		if w.everywhere[image] && v.Source.Storage == "" && a.chance(0.2) {
			v.Place.Nodes = some(a.dice, 0.5, w.nodes)
		}
	}
	v.Disks = append(v.Disks, root)
}

// classOf draws the size of a machine, all that a class says.
func (a *author) classOf(v *model.VM) {
	maps.Copy(v.Options, pick(a.dice,
		map[string]string{"cores": "1", "memory": "1024"},
		map[string]string{"cores": "2", "memory": "2048"},
		map[string]string{"cores": "2", "memory": "3072", "cpu": "host"},
		map[string]string{"cores": "4", "memory": "2048", "onboot": "1"},
	))
}

func (a *author) extraDisk(slot string) model.Disk {
	storage := pick(a.dice, a.h.world.disks...)
	return model.Disk{Slot: slot, Name: slot, Storage: storage, Size: int64(a.number(1, 4)) << 30, Format: a.h.world.format(storage)}
}

// format is one that snapshots can be taken of.
func (w *world) format(storage string) string {
	if storage == "lvm" {
		return ""
	}
	return "qcow2"
}

func (a *author) seedData() *model.Seed {
	a.n++
	text := fmt.Sprintf("#cloud-config\npassword: %s\n# %d\n", userDataText, a.n)
	return &model.Seed{
		Storage: pick(a.dice, a.h.world.isos...), Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(text))),
		Files: map[string][]byte{"user-data": []byte(text), "meta-data": []byte("instance-id: x\n")},
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

func (a *author) snapshot() {
	vm, n := pick(a.dice, a.made...), a.number(1, 3)
	shot := shot{a.setIndex(), vm, n, fmt.Sprintf("%s-s%d", vm, n)}
	gone := len(a.shot) > 0 && a.chance(0.4)
	if gone {
		shot = pick(a.dice, a.shot...)
	}
	a.shot = append(a.shot, shot)
	i, name := shot.set, shot.name
	memory, keep := a.chance(0.3), pick(a.dice, 0, 0, 1, 2)
	k := wishSnapshot
	if gone {
		k = wishUnsnap
	}
	a.add(k, a.soon(), func(r *run) {
		s := r.sets[i]
		told := s.change(func() {
			snap := s.snap(name)
			if snap == nil {
				snap = &snapWish{Snapshot: model.Snapshot{Owner: s.owner("VMSnapshot", name), VM: key("VirtualMachine", shot.vm), Name: fmt.Sprintf("s%d", shot.n)}}
				s.snaps = append(s.snaps, snap)
			}
			snap.Memory, snap.Deleted, snap.Keep = memory, gone, keep
		})
		if told {
			r.tells(k)
		}
	}, "%s/%s: snapshot s%d, memory %t, deleted %t, keep %d", setNames[i], shot.vm, shot.n, memory, gone, keep)
}

func (s *set) snap(name string) *snapWish {
	for _, w := range s.snaps {
		if w.Owner.Name == name {
			return w
		}
	}
	return nil
}

func (a *author) revert() {
	if len(a.shot) == 0 {
		a.snapshot()
	}
	if a.chance(0.5) {
		a.add(rests, 0, (*run).settle, "nothing, until all is at rest") // else there is nothing to go back to
	}
	a.n++
	s, value := pick(a.dice, a.shot...), fmt.Sprintf("r%d", a.n)
	i, name := s.set, s.name
	a.add(wishRevert, a.soon(), func(r *run) {
		s := r.sets[i]
		if s.snap(name) == nil {
			return
		}
		if s.change(func() { s.snap(name).Revert = value }) {
			r.tells(wishRevert)
		}
	}, "%s/%s: revert to it (%s)", setNames[i], name, value)
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

func machineText(v model.VM) string {
	parts := []string{fmt.Sprintf("%s cores, %s MiB", v.Options["cores"], v.Options["memory"]), "power " + string(v.Power)}
	switch {
	case v.Source.Blank:
		parts = append(parts, "blank")
	case v.Source.VM.Name != "":
		parts = append(parts, "copy of "+v.Source.VM.Name)
	default:
		parts = append(parts, fmt.Sprintf("image %s (full %t %s)", v.Source.Image.Name, v.Source.Full, v.Source.Storage))
	}
	for _, d := range v.Disks {
		parts = append(parts, fmt.Sprintf("%s %d GiB %s", d.Slot, d.Size>>30, d.Storage))
	}
	if v.VMID != 0 {
		parts = append(parts, fmt.Sprintf("VMID %d", v.VMID))
	}
	if v.Seed != nil {
		parts = append(parts, "seed on "+v.Seed.Storage)
	}
	if v.HA != nil {
		parts = append(parts, "HA")
	}
	if v.Pool != "" {
		parts = append(parts, "pool "+v.Pool)
	}
	if v.Retain {
		parts = append(parts, "retained")
	}
	if len(v.Place.Nodes) > 0 {
		parts = append(parts, fmt.Sprint("on ", v.Place.Nodes))
	}
	return strings.Join(append(parts, fmt.Sprintf("allowed %+v", v.Update)), ", ")
}
