package robustness

import (
	"fmt"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// author draws the events of a history.
type author struct {
	dice
	h    *history
	made []string // names of machines that were wished for
}

func (a *author) add(after time.Duration, do func(*run), format string, args ...any) {
	a.h.events = append(a.h.events, event{after, fmt.Sprintf(format, args...), do})
}

func (a *author) soon() time.Duration { return a.between(0, 4*time.Second) }

func (a *author) write() {
	for range a.number(3, 12) {
		switch a.weighted(4, 3, 3, 2) {
		case 0:
			a.create()
		case 1:
			a.remove()
		case 2:
			a.fault()
		case 3:
			a.crash()
		}
		if a.chance(0.35) {
			a.add(0, (*run).settle, "wait until nothing more is done")
		}
	}
}

func (a *author) name() string { return "vm-" + string(rune('a'+a.IntN(5))) }

func (a *author) create() {
	name := a.name()
	image := pick(a.dice, a.h.world.images...)
	memory := pick(a.dice, "1024", "2048")
	size := pick(a.dice, 0, 10, 20)
	a.made = append(a.made, name)
	a.add(a.soon(), func(r *run) {
		s := r.sets[0]
		s.change(func() {
			w := s.find(name)
			if w == nil {
				w = &wish{VM: s.machine(name)}
				s.vms = append(s.vms, w)
			}
			if w.Deleted || w.unnamed {
				w.spared = time.Now()
			}
			w.Deleted, w.unnamed = false, false
			w.Source = model.Source{Image: model.Key{Kind: "VMImage", Name: image}}
			w.Options = map[string]string{"cores": "2", "memory": memory}
			w.Managed = []string{"cores", "memory"}
			w.Disks = []model.Disk{{Slot: model.RootSlot, Name: "root", Size: int64(size) << 30}}
			w.NICs = []model.NIC{{Slot: "net0", Name: "lan", Model: "virtio", Bridge: "vmbr0", MAC: stableMAC(s.name, name, 0)}}
			w.Power = model.PowerOn
			w.Update.Restart = true
		})
	}, "want %s from %s, %s MiB, %d GiB", name, image, memory, size)
}

func (a *author) remove() {
	if len(a.made) == 0 {
		return
	}
	name := pick(a.dice, a.made...)
	a.add(a.soon(), func(r *run) {
		s := r.sets[0]
		s.change(func() {
			if w := s.find(name); w != nil {
				w.Deleted = true
			}
		})
	}, "delete %s", name)
}

func (a *author) fault() {
	f := pvesim.Fault{Method: pick(a.dice, "", "POST", "PUT", "DELETE"), Drop: pick(a.dice, "before", "after"), Probability: pick(a.dice, 0.1, 0.5, 1), Times: a.number(1, 6)}
	a.add(a.soon(), func(r *run) { r.fault(f) }, "fault %+v", f)
}

func (a *author) crash() {
	n, at := a.number(1, 25), moment(a.IntN(3))
	a.add(a.soon(), func(r *run) { r.crash(0, n, at) }, "crash at the %dth request (%d)", n, at)
}
