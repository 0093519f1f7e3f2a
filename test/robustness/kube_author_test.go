package robustness

import (
	"fmt"
	"time"

	"github.com/proxplane/proxplane/test/kit/kubesim"
)

// drawOperator draws a history about the operator. In every other one there are objects
// of other kinds beside VirtualMachines, and in some a second namespace or
// an image that is fetched.
func drawOperator(seed uint64) *history {
	h := drawMachines(seed)
	if d := newDice(seed, "operator kinds"); d.chance(0.5) {
		h.mix(d)
	}
	if d := newDice(seed, "operator sharing"); d.chance(0.35) {
		h.share(d)
	}
	if d := newDice(seed, "operator fetching"); d.chance(0.2) {
		h.fetch(d)
	}
	return h
}

// drawMachines draws one with nothing but VirtualMachines of one machine each.
func drawMachines(seed uint64) *history {
	h := &history{seed: seed, world: drawWorld(seed), operator: true}
	h.world.sets, h.world.crowd, h.world.password, h.world.wire = 0, false, false, false
	a := &author{dice: newDice(seed, "operator"), h: h}
	a.kubeCreate()
	mix := []int{10, a.number(0, 6), a.number(0, 4), a.number(0, 6), a.number(0, 3)}
	calm := pick(a.dice, 0.2, 0.4, 0.6)
	for range a.number(4, 16) {
		switch a.weighted(mix...) {
		case 0:
			a.kubeWish()
		case 1:
			a.fault()
		case 2:
			a.kubeProcess()
		case 3:
			a.kubePeople()
		case 4:
			a.kubeStore()
		}
		if a.chance(calm) {
			a.add(rests, 0, func(r *run) { r.kube.settle(5 * time.Minute) }, "nothing, until all is at rest")
		}
	}
	return h
}

// kubeWish: somebody changes what is wanted.
func (a *author) kubeWish() {
	switch a.weighted(5, 4, 3, 2, 2, 4, 2, 2) {
	case 0:
		a.kubeCreate()
	case 1:
		class := pick(a.dice, "small", "medium")
		a.kubeEdit(wishClass, "class "+class, func(o kubesim.Object) { spec(o)["classRef"] = map[string]any{"name": class} })
	case 2:
		state := pick(a.dice, "On", "On", "Off")
		a.kubeEdit(wishPower, "power "+state, func(o kubesim.Object) { spec(o)["powerState"] = state })
	case 3:
		text := fmt.Sprintf("for test %d", a.number(1, 99))
		a.kubeEdit(wishLabels, "description "+text, func(o kubesim.Object) { spec(o)["description"] = text })
	case 4:
		policy := pick(a.dice, "Retain", "Delete")
		a.kubeEdit(kubeRetain, "deletionPolicy "+policy, func(o kubesim.Object) { spec(o)["deletionPolicy"] = policy })
	case 5:
		name := a.someMachine()
		a.add(wishDelete, a.soon(), func(r *run) { r.kube.delete(machines, name) }, "%s is deleted", name)
	case 6:
		a.kubeForce()
	case 7:
		restart := pick(a.dice, "Allow", "Never")
		a.kubeEdit(wishChange, "restart "+restart, func(o kubesim.Object) { spec(o)["updatePolicy"] = map[string]any{"restart": restart} })
	}
}

// someMachine is the name of a machine.
func (a *author) someMachine() string { return pick(a.dice, "vm-a", "vm-b", "vm-c", "vm-d") }

func (a *author) kubeCreate() {
	name, image := a.someMachine(), pick(a.dice, a.h.world.images...)
	s := map[string]any{
		"providerRef": map[string]any{"name": "pve"}, "classRef": map[string]any{"name": pick(a.dice, "small", "medium")},
		"imageRef": map[string]any{"name": image}, "networks": []any{map[string]any{"name": "lan", "bridge": "vmbr0"}},
		"deletionPolicy": pick(a.dice, "Delete", "Delete", "Delete", "Retain"),
		"updatePolicy":   map[string]any{"restart": pick(a.dice, "Allow", "Allow", "Never")},
	}
	a.add(wishCreate, a.soon(), func(r *run) { r.kube.make(machines, named(name, s)) }, "%s is wanted: %v", name, s)
}

// kubeEdit changes a machine's object, if it is there.
func (a *author) kubeEdit(k kind, what string, change func(kubesim.Object)) {
	name := a.someMachine()
	a.add(k, a.soon(), func(r *run) { r.kube.edit(machines, name, change) }, "%s: %s", name, what)
}

// kubeForce: somebody lets a machine go by force, with the annotation before or after.
func (a *author) kubeForce() {
	name, late := a.someMachine(), a.chance(0.3)
	annotate := func(r *run) {
		r.kube.edit(machines, name, func(o kubesim.Object) { o.Annotate(forceDelete, "true") })
	}
	remove := func(r *run) { r.kube.delete(machines, name) }
	if late {
		a.add(kubeForced, a.soon(), remove, "%s is deleted", name)
		a.add(kubeForced, a.soon(), annotate, "%s is let go by force", name)
		return
	}
	a.add(kubeForced, a.soon(), annotate, "%s is to be let go by force when it is deleted", name)
	if a.chance(0.8) {
		a.add(kubeForced, a.soon(), remove, "%s is deleted", name)
	}
}

// kubeProcess: something happens to operators.
func (a *author) kubeProcess() {
	switch a.weighted(5, 2, 2) {
	case 0:
		n, at, i := a.number(1, 25), moment(a.IntN(3)), a.IntN(4)
		a.add(at.kind(), a.soon(), func(r *run) { r.kube.crash(i, n, at) }, "operator %d crashes at its %s request, %s", i, nth(n), at)
	case 1:
		d := a.between(30*time.Second, 5*time.Minute)
		a.add(runsTwice, a.soon(), func(r *run) { r.kube.company(d) }, "another replica, for %v", d)
	case 2:
		d := a.between(30*time.Second, 5*time.Minute)
		a.add(kubeRenamed, a.soon(), func(r *run) { r.kube.renamed("other", d) }, "the operator is started with --cluster-name other, for %v", d)
	}
}

// kubeStore: something happens to what machines depend on, or to the store.
func (a *author) kubeStore() {
	switch a.weighted(3, 2, 3, 2) {
	case 0:
		d, back := a.between(time.Second, 5*time.Minute), a.chance(0.7)
		a.add(kubeSecret, a.soon(), func(r *run) {
			r.kube.delete("secrets", "login")
			r.later(d, func() {
				if back {
					r.kube.make("secrets", r.kube.login())
				}
			})
		}, "the Secret is deleted, and comes back after %v: %t", d, back)
	case 1:
		a.add(kubeProvider, a.soon(), func(r *run) { r.kube.delete("providers", "pve") }, "the Provider is deleted")
	case 2:
		name, d := a.someMachine(), a.between(0, time.Minute)
		a.add(kubeRestored, a.soon(), func(r *run) { r.kube.restore(machines, name, d) }, "%s is restored from a backup after %v", name, d)
	case 3:
		a.add(kubeNamespace, a.soon(), func(r *run) { r.kube.deleteAll() }, "everything is deleted at once, the Secret first")
	}
}

// kubePeople: others do something to a guest.
func (a *author) kubePeople() {
	name := a.someMachine()
	meddle := func(k kind, what string, do func(o *others, id int) bool) {
		a.add(k, a.soon(), func(r *run) { r.kube.meddle(k, machines, name, do) }, "somebody %s: %s", what, name)
	}
	switch a.weighted(3, 3, 2, 2, 2, 2, 2, 2) {
	case 0:
		meddle(othersStop, "stops it", func(o *others, id int) bool { return o.status(id, "stop") })
	case 1:
		meddle(othersEdit, "sets cores=3", func(o *others, id int) bool { return o.config(id, "cores", "3") })
	case 2:
		meddle(othersDestroy, "destroys it", func(o *others, id int) bool { return o.destroy(id) })
	case 3:
		meddle(othersUntag, "takes our tags off", func(o *others, id int) bool { return o.config(id, "tags", "theirs") })
	case 4:
		meddle(othersTakeOver, "overwrites its notes", func(o *others, id int) bool { return o.takeOver(id) })
	case 5:
		meddle(othersTakeOver, "overwrites its notes and tags", func(o *others, id int) bool {
			return o.config(id, "tags", "theirs") && o.takeOver(id)
		})
	case 6:
		meddle(othersReuse, "destroys it and makes another one under its VMID", func(o *others, id int) bool { return o.reuse(id) })
	case 7:
		if len(a.h.world.nodes) > 1 {
			to := pick(a.dice, a.h.world.nodes...)
			meddle(othersMove, "moves it to "+to, func(o *others, id int) bool { return o.migrate(id, to) })
		}
	}
}

// What happens to the operator's Kubernetes.
const (
	kubeRetain    kind = "what becomes of it when it is deleted"
	kubeForced    kind = "let go by force"
	kubeRenamed   kind = "another cluster name"
	kubeSecret    kind = "Secret deleted"
	kubeProvider  kind = "Provider deleted"
	kubeRestored  kind = "object restored from a backup"
	kubeNamespace kind = "namespace deleted"
)
