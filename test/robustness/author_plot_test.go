package robustness

import (
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
