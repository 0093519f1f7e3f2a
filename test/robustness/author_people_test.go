package robustness

import (
	"fmt"
	"time"
)

// people draws something that others do to our machines.
func (a *author) people() {
	switch a.weighted(3, 4, 2, 3, 2, 2, 2, 2, 1, 1, 2, 2, 3, 1) {
	case 0:
		a.take()
	case 1:
		k := pick(a.dice, "memory", "cores", "onboot", "net0", "balloon", "agent")
		value := map[string]string{"memory": "1792", "cores": "3", "onboot": "1", "net0": "virtio,bridge=vmbr1", "balloon": "512", "agent": "0"}[k]
		a.other("sets "+k+"="+value, func(o *others, id int) { o.config(id, k, value) })
	case 2:
		to := pick(a.dice, a.h.world.nodes...)
		a.other("moves it to "+to, func(o *others, id int) { o.migrate(id, to) })
	case 3:
		how := pick(a.dice, "stop", "start", "reset")
		a.other(how+"s it", func(o *others, id int) { o.status(id, how) })
	case 4:
		a.other("destroys it", func(o *others, id int) { o.destroy(id) })
	case 5:
		a.namesake()
	case 6:
		a.other("takes our tags off", func(o *others, id int) { o.config(id, "tags", "theirs") })
	case 7:
		a.backup()
	case 8:
		a.other("takes it over", func(o *others, id int) { o.takeOver(id) })
	case 9:
		a.other("clones it", func(o *others, id int) { o.clone(id) })
	case 10:
		a.other("destroys it and makes another one under its VMID", func(o *others, id int) { o.reuse(id) })
	case 11:
		name := pick(a.dice, "s1", "s2", "theirs")
		a.other("takes snapshot "+name, func(o *others, id int) { o.snapshot(id, name) })
	case 12:
		d := a.between(5*time.Second, 4*time.Minute)
		a.other(fmt.Sprintf("backs it up for %v", d), func(o *others, id int) { o.lock(id, d) })
	case 13:
		a.other("takes it out of its pool and HA", func(o *others, id int) { o.strip(id) })
	}
}

// other is something that somebody does to a machine of ours, if it is there.
func (a *author) other(what string, do func(o *others, id int)) {
	if len(a.made) == 0 {
		return
	}
	i, name := a.setIndex(), pick(a.dice, a.made...)
	a.add(a.soon(), func(r *run) { r.others.meddle(r.sets[i], name, do) }, "somebody %s: %s/%s", what, setNames[i], name)
}

// take: somebody makes a machine under the very VMID that we are about to use.
func (a *author) take() {
	n := a.number(1, 2)
	a.add(a.soon(), func(r *run) { r.others.rob(n) }, "somebody takes the next %d VMIDs just before us", n)
}

// namesake: somebody makes a machine with a name of ours.
func (a *author) namesake() {
	name, id := a.name(), a.number(a.h.world.vmids.First, a.h.world.vmids.Last)
	a.add(a.soon(), func(r *run) { r.others.make(id, name) }, "somebody makes VM %d named %s", id, name)
}

// backup: somebody puts an earlier config back.
func (a *author) backup() {
	if len(a.made) == 0 {
		return
	}
	i, name := a.setIndex(), pick(a.dice, a.made...)
	d := a.between(5*time.Second, 2*time.Minute)
	a.add(a.soon(), func(r *run) { r.others.restore(r.sets[i], name, d) }, "somebody puts the present config of %s/%s back in %v", setNames[i], name, d)
}
