package robustness

import (
	"fmt"

	"github.com/proxplane/proxplane/model"
)

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
