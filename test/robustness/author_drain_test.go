package robustness

import (
	"flag"
	"time"

	"github.com/proxplane/proxplane/model"
)

var drained = flag.Float64("drains", 0.05, "the `PART` of histories that end with nodes that are drained and filled again")

// What people do with proxplane by the names of nodes and machines.
const (
	handDrain   kind = "drain a node"
	handUndrain kind = "fill it again"
	handMove    kind = "move a machine by name"
)

// drains ends some histories with nodes that people drain and fill again, and with machines that they move by name, while
// processes keep all machines up to date, crash, and nodes are in maintenance. It has dice of its own.
func (a *author) drains() {
	a.dice = newDice(a.h.seed, "drains")
	if !a.chance(*drained) || len(a.h.world.nodes) < 2 {
		return
	}
	if a.h.group == 0 {
		a.h.group = len(a.h.events)
	}
	a.add(rests, 0, (*run).settle, "nothing, until all is at rest")
	for n := range a.number(1, 3) {
		a.createToMove("moved-" + string(rune('a'+n)))
	}
	for range a.number(1, 3) {
		if a.chance(0.7) {
			a.add(rests, 0, (*run).settle, "nothing, until all is at rest")
		}
		node := pick(a.dice, a.h.world.nodes...)
		a.relocation(handDrain, node)
		for range a.number(0, 2) {
			switch a.weighted(2, 2, 2, 2, 1) {
			case 0:
				a.maintenance()
			case 1:
				a.crash()
			case 2:
				a.relocation(handDrain, pick(a.dice, a.h.world.nodes...))
			case 3:
				to := pick(a.dice, a.h.world.nodes...)
				a.other(othersMove, "moves it to "+to, func(o *others, id int) bool { return o.migrate(id, to) })
			case 4:
				a.relocation(handMove, pick(a.dice, a.h.world.nodes...))
			}
		}
		if a.chance(0.8) {
			if a.chance(0.7) {
				a.add(rests, 0, (*run).settle, "nothing, until all is at rest")
			}
			a.relocation(handUndrain, node)
		}
	}
}

// createToMove wants a machine. It is no copy: one of a machine with an address from a pool would need an address of its own.
func (a *author) createToMove(name string) {
	i := a.setIndex()
	v := a.machine(setNames[i], name)
	if v.Source.VM.Name != "" {
		v.Source = model.Source{Image: key("VMImage", a.h.world.images[0])}
	}
	v.VMID = 0
	a.made = append(a.made, name)
	a.add(wishCreate, a.soon(), func(r *run) {
		if r.sets[i].ask(name, v) {
			r.tells(wishCreate)
		}
	}, "%s/%s: wanted, %s", setNames[i], name, machineText(v))
}

// relocation: a person has machines moved. One in four of these processes crashes.
func (a *author) relocation(k kind, node string) {
	crash, at, nth := 0, moment(a.IntN(3)), a.IntN(5)
	if a.chance(0.25) {
		crash = a.number(1, 25)
	}
	do := relocation{kind: k, node: node, crash: crash, at: at, nth: nth}
	a.add(k, a.between(0, 10*time.Second), func(r *run) { r.relocate(do) }, "%s: %s (crashes at request %d)", k, node, crash)
}
