package robustness

import (
	"flag"
	"slices"
	"time"

	"github.com/proxplane/proxplane/pvesim"
)

// plot ends some histories with things that seldom meet by chance. It has dice of its
// own, so that all that comes before is as it was without it.
func (a *author) plot() {
	a.dice = newDice(a.h.seed, "plot")
	if !a.chance(0.15) {
		return
	}
	a.add(rests, 0, (*run).settle, "nothing, until all is at rest")
	switch a.weighted(4, 2, 2) {
	case 0:
		a.leftDisks()
	case 1:
		a.lockedOutTogether()
	case 2:
		a.lostOnTheWay()
	}
}

// leftDisks: machines are destroyed while others hold the locks of all storages for
// longer than Proxmox waits, and our process crashes before it can remove the disks.
// Some find the disks before we come back.
func (a *author) leftDisks() {
	for _, storage := range a.h.world.disks {
		f := pvesim.Fault{Method: "DELETE", Path: "/nodes/*/qemu/*", Hold: "storage:" + storage, For: pvesim.Duration(a.between(65*time.Second, holdMost)), Times: a.number(1, 3)}
		a.h.faults = append(a.h.faults, f)
		a.add(faultStoreLock, 0, func(r *run) { r.fault(faultStoreLock, f, holdMost) }, "%s", faultText(f))
	}
	for range a.number(1, 3) {
		a.remove()
	}
	for range a.number(1, 3) {
		n, at, i := a.number(1, 60), moment(a.IntN(3)), a.IntN(4)
		a.add(at.kind(), a.between(0, time.Minute), func(r *run) { r.crash(i, n, at) }, "process %d crashes at its %s request, %s", i, nth(n), at)
	}
	if a.chance(0.6) {
		a.add(othersRescue, a.between(time.Minute, 4*time.Minute), func(r *run) { r.others.rescue() }, "somebody attaches disks that were left")
	}
	if a.chance(0.4) {
		a.create()
	}
	a.add(rests, holdMost, (*run).settle, "nothing, until all locks are free and all is at rest")
}

// holdMost is how long others hold the locks of storages in a plot.
const holdMost = 3 * time.Minute

// lockedOutTogether: two of us are told to do something else when their credentials
// are revoked.
func (a *author) lockedOutTogether() {
	a.company()
	a.wish()
	a.lockedOut()
	a.wish()
	a.crash()
	a.wish()
}

// lostOnTheWay: somebody moves a machine, and a node is lost meanwhile.
func (a *author) lostOnTheWay() {
	if len(a.h.world.nodes) < 2 {
		a.wish()
		return
	}
	to := pick(a.dice, a.h.world.nodes...)
	a.other(othersMove, "moves it to "+to, func(o *others, id int) bool { return o.migrate(id, to) })
	a.nodeLost()
	a.wish()
	if a.chance(0.5) {
		a.crash()
	}
}

// moves ends some histories with disks that are wanted on another storage and machines that
// are wanted on another node, with faults and crashes while that goes on.
func (a *author) moves() {
	a.dice = newDice(a.h.seed, "moves")
	if !a.chance(0.08) {
		return
	}
	a.add(rests, 0, (*run).settle, "nothing, until all is at rest")
	for range a.number(1, 3) {
		if a.chance(0.5) {
			f := pick(a.dice,
				pvesim.Fault{Task: "qmmove", Error: "storage migration failed: interrupted by signal", Times: 1},
				pvesim.Fault{Task: "qmigrate", Error: "migration aborted", Times: 1},
				pvesim.Fault{Task: "qmigrate", Error: "migration problems", Mode: "after", Times: 1},
				pvesim.Fault{Task: "qmmove", Error: "got timeout", Mode: "after", Times: 1},
			)
			k := map[string]kind{"": faultTask, "after": faultDidIt}[f.Mode]
			a.h.faults = append(a.h.faults, f)
			a.add(k, 0, func(r *run) { r.fault(k, f, 2*time.Minute) }, "%s", faultText(f))
		}
		if a.chance(0.5) {
			a.moveDisk()
		} else {
			a.moveMachine()
		}
		if a.chance(0.5) {
			n, at := a.number(1, 25), moment(a.IntN(3))
			a.add(at.kind(), a.between(0, 10*time.Second), func(r *run) { r.crash(0, n, at) }, "process 0 crashes at its %s request, %s", nth(n), at)
		}
	}
}

// moveDisk wants a disk of a machine on another storage.
func (a *author) moveDisk() {
	to := pick(a.dice, a.h.world.disks...)
	a.change(wishMoveDisk, "its disks beside the first on "+to, func(_ *set, w *wish) {
		w.Disks = slices.Clone(w.Disks)
		for i := range w.Disks {
			if i > 0 {
				w.Disks[i].Storage, w.Disks[i].Format = to, a.h.world.format(to)
			}
		}
	})
}

// moveMachine wants a machine on one node, and allows it to be migrated.
func (a *author) moveMachine() {
	to := pick(a.dice, a.h.world.nodes...)
	a.change(wishMoveTo, "on "+to+" only, moves are allowed", func(_ *set, w *wish) {
		if image := w.Source.Image.Name; image != "" && a.h.world.everywhere[image] && w.Source.Storage == "" || w.Source.Blank {
			w.Place.Nodes, w.Update.Move = []string{to}, true
		}
	})
}

var byHand = flag.Float64("by-hand", 0.08, "the `PART` of histories that end with templates made by hand and drives in slots of others: 0 none, 1 all")

// handiwork ends some histories with machines that somebody makes templates of, and with drives
// of another kind in the slots of theirs.
func (a *author) handiwork(part float64) {
	a.dice = newDice(a.h.seed, "handiwork")
	if a.h.hands = a.chance(part); !a.h.hands {
		return
	}
	a.add(rests, 0, (*run).settle, "nothing, until all is at rest")
	for range a.number(1, 3) {
		switch a.IntN(3) {
		case 0:
			a.other(othersTemplate, "makes a template of it", func(o *others, id int) bool { return o.makeTemplate(id) })
		case 1:
			a.other(othersDisk, "puts a disk into the slot of a CD-ROM drive", func(o *others, id int) bool { return o.diskIntoDrive(id) })
		case 2:
			a.other(othersDrive, "puts a CD-ROM drive into the slot of a disk", func(o *others, id int) bool { return o.driveIntoDisk(id) })
		}
		if a.chance(0.6) {
			a.wish()
		}
		if a.chance(0.3) {
			a.crash()
		}
		if a.chance(0.3) {
			a.add(rests, 0, (*run).settle, "nothing, until all is at rest")
		}
	}
}
