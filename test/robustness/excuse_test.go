package robustness

import (
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pvesim"
)

// excused reports whether there is a good reason why an object isn't up to date,
// in truth and not only by what we say. Objects that are excused once stay so.
func (r *run) excused(s *set, o engine.Outcome) bool {
	if o.Text == "" {
		return false
	}
	ok := false
	r.sim.Do(func(st *pvesim.State) {
		switch o.Owner.Kind {
		case "VirtualMachine":
			if w := s.find(o.Owner.Name); w != nil {
				ok = r.excusedVM(st, s, w, o)
			}
		case "VMSnapshot":
			if w := s.snap(o.Owner.Name); w != nil {
				ok = r.excusedSnapshot(st, s, w, o)
			}
		case "VMImage":
			ok = r.excusedImage(st, s, o)
		case "Set":
			ok = o.Wait != nil && o.Wait.Reason == model.WaitOwner && anyHalfMade(st)
		}
	})
	if ok {
		r.excuses[o.Owner] = true
		r.unheard[o.Owner] = o.Wait != nil && o.Wait.Reason == model.WaitAgent
		// Each process asks a guest once that doesn't hear it.
		asks := slices.ContainsFunc(o.Refused, func(f plan.Refusal) bool { return strings.Contains(f.Why, "ignored the shutdown") })
		// And each tries once to make the copy that a volume is in the way of.
		tries := o.Wait != nil && o.Wait.Reason == model.WaitPlace
		r.futile = r.futile || o.State == engine.StateFailed || asks || tries
		r.trace.say("", "that is right: %s", o.Text)
		r.census.excuse(excuseText(o))
	}
	return ok
}

// excuseText is the kind of an excuse, for the census.
func excuseText(o engine.Outcome) string {
	text := o.Owner.Kind + " " + string(o.State)
	if o.Wait != nil {
		text += " " + string(o.Wait.Reason)
	}
	return text
}

func (r *run) excusedVM(st *pvesim.State, s *set, w *wish, o engine.Outcome) bool {
	var vm *pvesim.VM
	if ids := owned(st)[w.Owner]; len(ids) == 1 {
		vm = st.VMs[ids[0]]
	}
	switch {
	case o.State == engine.StateFailed:
		// Nobody in there hears that it is to shut down.
		return vm != nil && deaf(vm) && (w.Power == model.PowerOffGraceful && strings.HasPrefix(o.Text, "shut VM ") || strings.HasPrefix(o.Text, "restart VM "))
	case len(o.Refused) > 0:
		return !slices.ContainsFunc(o.Refused, func(f plan.Refusal) bool {
			return !refusable(w, vm, f) && !unheard(vm, f) && !immovable(vm, f) && !r.others.detached(vm, f)
		})
	case o.Wait == nil:
		return false
	}
	switch o.Wait.Reason {
	case model.WaitForeign:
		// The VMID that was asked for is somebody else's.
		return w.VMID != 0 && st.VMs[w.VMID] != nil && !slices.Contains(owned(st)[w.Owner], w.VMID) || anotherAsksForItsVMID(s, w) || anotherHasItsMAC(st, w)
	case model.WaitHA:
		// It runs, and to clear the error in which the HA manager has it would stop it.
		return vm != nil && vm.Run != nil && st.HA.Failed["vm:"+strconv.Itoa(vm.ID)]
	case model.WaitOwner:
		return anyHalfMade(st)
	case model.WaitDependents:
		return (w.Deleted || w.unnamed) && slices.ContainsFunc(s.snaps, func(snap *snapWish) bool { return snap.VM == w.Owner.Key && !snap.Deleted && !snap.unnamed })
	case model.WaitVMID:
		for id := range w.Owner.Candidates(w.Range) {
			if st.VMs[id] == nil {
				return false
			}
		}
		return true
	case model.WaitAddress:
		return exhausted(st, w, vm)
	case model.WaitUnfit:
		return isTemplate(vm) || vm == nil && smallerThanItsSource(st, s, w) || tooFewCPUs(st, s, w, vm)
	case model.WaitPlace:
		return vm == nil && r.baseLeft(st, w)
	case model.WaitSource:
		// It is to be a copy of a machine that isn't wanted, or can't be made, or of an image that can't be made.
		if i := s.image(w.Source.Image.Name); i != nil && r.excuses[i.Owner] && anyHalfMade(st) {
			return true
		}
		from := s.find(w.Source.VM.Name)
		return w.Source.VM.Name != "" && (from == nil || from.Deleted || from.unnamed || r.excuses[from.Owner] || from == w || r.circle(s, w))
	}
	return false
}

// smallerThanItsSource reports whether the root disk of a machine that is to be made should be
// smaller than the one that it is a copy of: disks don't shrink.
func smallerThanItsSource(st *pvesim.State, s *set, w *wish) bool {
	i := slices.IndexFunc(w.Disks, model.Disk.Root)
	if i < 0 || w.Disks[i].Size == 0 {
		return false
	}
	return slices.ContainsFunc(origins(st, s, w), func(vm *pvesim.VM) bool { return w.Disks[i].Size < sizeOf(vm.Conf["scsi0"]) })
}

// anotherAsksForItsVMID reports whether another wanted machine names the same VMID: one of
// them can't have it, also while the other can't be made.
func anotherAsksForItsVMID(s *set, w *wish) bool {
	return w.VMID != 0 && slices.ContainsFunc(s.vms, func(o *wish) bool { return o != w && o.VMID == w.VMID && !o.Deleted && !o.unnamed })
}

// anotherHasItsMAC reports whether somebody else's machine has the MAC address of a
// wanted one: two of them would disturb each other.
func anotherHasItsMAC(st *pvesim.State, w *wish) bool {
	for id, vm := range st.VMs {
		if slices.Contains(owned(st)[w.Owner], id) {
			continue
		}
		for key, value := range vm.Conf {
			has := func(n model.NIC) bool { return n.MAC != "" && strings.Contains(strings.ToUpper(value), n.MAC) }
			if strings.HasPrefix(key, "net") && slices.ContainsFunc(w.NICs, has) {
				return true
			}
		}
	}
	return false
}

// anyHalfMade reports whether a machine was left by half: nobody can tell whose it
// was to be.
func anyHalfMade(st *pvesim.State) bool {
	for _, vm := range st.VMs {
		if halfMade(vm) && !working(st, vm.ID) {
			return true
		}
	}
	return false
}

// deaf reports whether a machine runs without a system that could shut down: it has booted none,
// though disks that it doesn't boot from may have one.
func deaf(vm *pvesim.VM) bool { return vm.Run != nil && vm.Run.Booted.IsZero() }

// circle reports whether machines are to be copies of each other.
func (r *run) circle(s *set, w *wish) bool {
	seen := map[string]bool{}
	for w != nil && w.Source.VM.Name != "" {
		if seen[w.Owner.Name] {
			return true
		}
		seen[w.Owner.Name] = true
		w = s.find(w.Source.VM.Name)
	}
	return false
}

// unheard reports whether a guest is rightly not asked again to shut down: there is
// nobody in it who would hear it.
func unheard(vm *pvesim.VM, f plan.Refusal) bool {
	return vm != nil && f.Effect == plan.Restart && strings.Contains(f.Why, "ignored the shutdown") && deaf(vm)
}

// immovable reports whether a disk is rightly neither moved to another storage nor removed: the machine has
// snapshots, and Proxmox does that to no disk that one of them has. Which disks those are isn't read, so
// that younger disks stay, too.
func immovable(vm *pvesim.VM, f plan.Refusal) bool {
	if vm == nil || len(vm.Snaps) == 0 {
		return false
	}
	slot, _, moves := strings.Cut(strings.TrimPrefix(f.What, "move "), " to ")
	removed, removes := strings.CutPrefix(f.What, "remove ")
	return moves && strings.HasPrefix(f.What, "move ") && isDrive(slot) || removes && isDrive(removed)
}

// refusable reports whether a step is rightly refused.
func refusable(w *wish, vm *pvesim.VM, f plan.Refusal) bool {
	if driveInItsSlot(w, vm) && strings.Contains(f.Why, "has a CD-ROM drive") {
		return true
	}
	switch f.Effect {
	case plan.Restart:
		return !w.Update.Restart
	case plan.Replace:
		return !w.Update.Replace
	case plan.LosesData:
		if strings.HasPrefix(f.What, "shrink ") && vm != nil {
			slot := strings.TrimPrefix(f.What, "shrink ")
			return slices.ContainsFunc(w.Disks, func(d model.Disk) bool {
				return (d.Slot == slot || d.Root()) && d.Size < sizeOf(vm.Conf[slot])
			})
		}
		return !w.Update.Data
	}
	return false
}

func (r *run) excusedSnapshot(st *pvesim.State, s *set, w *snapWish, o engine.Outcome) bool {
	vm := s.find(w.VM.Name)
	if vm == nil || vm.Deleted || vm.unnamed || r.excuses[vm.Owner] {
		return true
	}
	if len(o.Refused) > 0 {
		return !vm.Update.Data
	}
	ids := owned(st)[vm.Owner]
	if o.State == engine.StateFailed && len(ids) == 1 && strings.Contains(o.Text, "snapshot feature is not available") {
		return hasRaw(st, st.VMs[ids[0]])
	}
	if o.Wait != nil && o.Wait.Reason == model.WaitForeign && len(ids) == 1 {
		snap := st.VMs[ids[0]].Snaps[w.Name]
		if snap == nil {
			return false
		}
		_, m, ok := model.ParseDescription(snap.Conf["description"])
		return !ok || m.Owner != w.Owner
	}
	return false
}

// hasRaw reports whether a machine has a disk of which no snapshots can be taken: a
// plain file.
func hasRaw(st *pvesim.State, vm *pvesim.VM) bool {
	for key, sp := range st.Spaces {
		for _, v := range sp.Volumes {
			if v.VMID == vm.ID && v.Format == "raw" && v.Content == "images" && st.Storages[key.Storage].Type != "lvmthin" {
				return true
			}
		}
	}
	return false
}

// sizeOf is the size that a drive's value tells, in bytes.
func sizeOf(value string) int64 {
	_, text, _ := strings.Cut(value, "size=")
	text, _, _ = strings.Cut(text, ",")
	if text == "" {
		return 0
	}
	unit := map[byte]int64{'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'T': 1 << 40}[text[len(text)-1]]
	return int64(number(text[:len(text)-1])) * unit
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}
