package robustness

import (
	"fmt"
	"time"

	"github.com/proxplane/proxplane/model"
)

// author draws the events of a history.
type author struct {
	dice
	h    *history
	made []string // names of machines that were wished for
	shot []shot   // snapshots that were wished for
	n    int      // for values that are new each time
}

// shot is a snapshot of a machine.
type shot struct {
	set  int
	vm   string
	n    int
	name string // of the wish
}

func (a *author) add(k kind, after time.Duration, do func(*run), format string, args ...any) {
	a.h.events = append(a.h.events, event{after, k, fmt.Sprintf(format, args...), do})
}

// soon is when most things happen: in the midst of what was begun before.
func (a *author) soon() time.Duration {
	if a.chance(0.3) {
		return a.between(0, 30*time.Second)
	}
	return a.between(0, 4*time.Second)
}

// write draws a whole history: it begins with a wish, and each seed has its own
// mixture of wishes, faults, crashes and people.
func (a *author) write() {
	if a.create(); a.h.world.crowd {
		a.crowd()
	}
	mix := []int{10, a.number(0, 14), a.number(0, 4), a.number(0, 7), a.number(0, 1)}
	calm := pick(a.dice, 0.1, 0.3, 0.5)
	for range a.number(4, 18) {
		switch a.weighted(mix...) {
		case 0:
			a.wish()
		case 1:
			if a.fault(); a.chance(0.7) {
				a.wish() // else there may be nothing that it could hit
			}
		case 2:
			a.crash()
		case 3:
			a.people()
		case 4:
			a.company()
		}
		if a.chance(calm) {
			a.add(rests, 0, (*run).settle, "nothing, until all is at rest")
		}
	}
}

// setIndex is which of the sets something is about.
func (a *author) setIndex() int { return a.IntN(a.h.world.sets) }

func (a *author) crash() {
	n, at, i := a.number(1, 25), moment(a.IntN(3)), a.IntN(4)
	a.add(at.kind(), a.soon(), func(r *run) { r.crash(i, n, at) }, "process %d crashes at its %s request, %s", i, nth(n), at)
}

// company: another of us runs for a while, with the same manifests.
func (a *author) company() {
	i, d := a.setIndex(), a.between(5*time.Second, 3*time.Minute)
	a.add(runsTwice, a.soon(), func(r *run) { r.company(r.sets[i], d) }, "another process for set %s, for %v", setNames[i], d)
}

func nth(n int) string {
	switch {
	case n%10 == 1 && n != 11:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2 && n != 12:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3 && n != 13:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

func (m moment) kind() kind { return [...]kind{crashBefore, crashWhile, crashAfter}[m] }

func (m moment) String() string {
	return [...]string{"before it is sent", "before it is answered", "after the answer"}[m]
}

// change is an event that changes a wish that is there.
func (a *author) change(k kind, what string, fn func(s *set, w *wish)) {
	if len(a.made) == 0 {
		return
	}
	i, name := a.setIndex(), pick(a.dice, a.made...)
	a.add(k, a.soon(), func(r *run) {
		s := r.sets[i]
		if s.find(name) == nil {
			return
		}
		if s.change(func() { fn(s, s.find(name)) }) {
			r.tells(k)
		}
	}, "%s/%s: %s", setNames[i], name, what)
}

func key(kind, name string) model.Key { return model.Key{Kind: kind, Name: name} }
