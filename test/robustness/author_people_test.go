package robustness

import (
	"fmt"
	"time"
)

// people draws something that others do to our machines.
func (a *author) people() {
	switch a.weighted(3, 4, 3, 4, 2, 2, 2, 3, 1, 1, 2, 2, 3, 2, 1) {
	case 0:
		a.take()
	case 1:
		k := pick(a.dice, "memory", "cores", "onboot", "net0", "balloon", "agent")
		value := map[string]string{"memory": "1792", "cores": "3", "onboot": "1", "net0": "virtio,bridge=vmbr1", "balloon": "512", "agent": "0"}[k]
		a.other(othersEdit, "sets "+k+"="+value, func(o *others, id int) bool { return o.config(id, k, value) })
	case 2:
		if len(a.h.world.nodes) < 2 {
			return
		}
		to := pick(a.dice, a.h.world.nodes...)
		a.other(othersMove, "moves it to "+to, func(o *others, id int) bool { return o.migrate(id, to) })
	case 3:
		how := a.IntN(3)
		words := []string{"stop", "start", "reset"}
		a.other([]kind{othersStop, othersStart, othersReset}[how], words[how]+"s it", func(o *others, id int) bool { return o.status(id, words[how]) })
	case 4:
		a.other(othersDestroy, "destroys it", func(o *others, id int) bool { return o.destroy(id) })
	case 5:
		a.namesake()
	case 6:
		a.other(othersUntag, "takes our tags off", func(o *others, id int) bool { return o.config(id, "tags", "theirs") })
	case 7:
		a.backup()
	case 8:
		a.other(othersTakeOver, "takes it over", func(o *others, id int) bool { return o.takeOver(id) })
	case 9:
		a.other(othersClone, "clones it", func(o *others, id int) bool { return o.clone(id) })
	case 10:
		a.other(othersReuse, "destroys it and makes another one under its VMID", func(o *others, id int) bool { return o.reuse(id) })
	case 11:
		name := pick(a.dice, "s1", "s2", "theirs")
		a.other(othersSnapshot, "takes snapshot "+name, func(o *others, id int) bool { return o.snapshot(id, name) })
	case 12:
		d := a.between(5*time.Second, 4*time.Minute)
		a.other(othersLock, fmt.Sprintf("backs it up for %v", d), func(o *others, id int) bool { return o.lock(id, d) })
	case 13:
		a.other(othersStrip, "takes it out of its pool and HA", func(o *others, id int) bool { return o.strip(id) })
	case 14:
		a.sly()
	}
}

// other is something that somebody does to a machine of ours, if it is there.
func (a *author) other(k kind, what string, do func(o *others, id int) bool) {
	if len(a.made) == 0 {
		return
	}
	i, name := a.setIndex(), pick(a.dice, a.made...)
	a.add(k, a.soon(), func(r *run) { r.others.meddle(k, r.sets[i], name, do) }, "somebody %s: %s/%s", what, setNames[i], name)
}

// take: somebody makes a machine under the very VMID that we are about to use.
func (a *author) take() {
	n := a.number(1, 2)
	a.add(othersTake, a.soon(), func(r *run) { r.others.rob(n) }, "somebody takes the next %d VMIDs just before us", n)
}

// sly: somebody destroys a machine just before we do, and makes another one under
// its VMID.
func (a *author) sly() {
	a.add(othersSly, a.soon(), func(r *run) { r.others.lurk() }, "somebody reuses the next VMID just before we destroy what had it")
	if a.chance(0.5) {
		a.remove()
	}
}

// namesake: somebody makes a machine with a name of ours.
func (a *author) namesake() {
	name, id := a.name(), a.number(a.h.world.vmids.First, a.h.world.vmids.Last)
	a.add(othersNamesake, a.soon(), func(r *run) {
		if r.others.make(id, name) {
			r.tells(othersNamesake)
		}
	}, "somebody makes VM %d named %s", id, name)
}

// backup: somebody restores a backup.
func (a *author) backup() {
	if len(a.made) == 0 {
		return
	}
	i, name := a.setIndex(), pick(a.dice, a.made...)
	age := a.between(time.Second, 2*time.Minute)
	a.add(othersRestore, a.soon(), func(r *run) { r.others.backUp(r.sets[i], name, age) },
		"somebody backs %s/%s up, and restores that after %v", setNames[i], name, age)
}
