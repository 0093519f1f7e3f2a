package robustness

import (
	"strconv"
	"time"

	"github.com/proxplane/proxplane/pvesim"
)

// lockedFor is how long others have kept a machine locked, as far as that was seen: Proxmox may take a while to
// begin what locks it.
func (o *others) lockedFor(id int) time.Duration {
	locked := false
	o.run.sim.Do(func(s *pvesim.State) {
		vm := s.VMs[id]
		locked = vm != nil && vm.Conf["lock"] != ""
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	since, ok := o.locked[id]
	switch {
	case !ok:
		return 0
	case !locked:
		o.locked[id] = time.Now()
		return 0
	}
	return time.Since(since)
}

// unlockStuck does what we ask for when a machine is locked and no task is at it: a
// snapshot that couldn't be deleted leaves it so.
func (o *others) unlockStuck() {
	o.run.sim.Do(func(s *pvesim.State) {
		for id, vm := range s.VMs {
			if vm.Conf["lock"] != "" && !halfMade(vm) && !working(s, id) {
				delete(vm.Conf, "lock")
			}
		}
	})
}

// lock keeps a machine locked as a backup does, which waits its turn if somebody is about to
// write the config.
func (o *others) lock(id int, d time.Duration) bool {
	free, got := false, false
	for range 100 {
		o.run.sim.Do(func(s *pvesim.State) {
			vm := s.VMs[id]
			free = vm != nil && vm.Conf["lock"] == "" && !working(s, id)
		})
		got = free && o.run.sim.DoLocked(id, func(vm *pvesim.VM) { vm.Conf["lock"] = "backup" })
		if got || !free {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if !got {
		return false
	}
	o.lockedSince(id)
	o.run.later(d, func() {
		o.unlocked(id)
		o.run.sim.Do(func(s *pvesim.State) {
			if vm := s.VMs[id]; vm != nil && vm.Conf["lock"] == "backup" {
				delete(vm.Conf, "lock")
			}
		})
	})
	return true
}

func (o *others) lockedSince(id int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.locked[id] = time.Now()
}

func (o *others) unlocked(id int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.locked, id)
}

// working reports whether a task is at a machine.
func working(s *pvesim.State, id int) bool {
	for _, list := range s.Tasks {
		for _, t := range list {
			if t.Running() && (t.ID == strconv.Itoa(id) || t.Type == "qmclone") {
				return true
			}
		}
	}
	return false
}
