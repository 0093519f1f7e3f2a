package robustness

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/kubesim"
)

// In some histories there is a second namespace, with a login and a Provider of its own, that
// has classes and images of the first one: a class has one budget for its restarts all the same.

// lodgers is the second namespace. The names of its machines begin with "guest-".
const lodgers = "lodgers"

// spaceOf is the namespace of an object of that name.
func spaceOf(name string) string {
	if strings.HasPrefix(name, "guest-") {
		return lodgers
	}
	return team
}

// share draws what happens to the second namespace, in the midst of all the rest, which stays
// as it was drawn.
func (h *history) share(d dice) {
	h.shared = true
	a := &author{dice: d, h: &history{world: h.world}}
	a.guestCreate()
	for range a.number(3, 9) {
		a.guestWish()
	}
	h.weave(a)
}

// weave puts the events of another author among those of a history.
func (h *history) weave(a *author) {
	at := make([]int, len(a.h.events))
	for i := range at {
		at[i] = a.number(1, len(h.events))
	}
	slices.Sort(at)
	for i, e := range slices.Backward(a.h.events) {
		h.events = slices.Insert(h.events, at[i], e)
	}
}

func (a *author) someGuest() string { return pick(a.dice, "guest-a", "guest-b", "guest-c") }

func (a *author) guestCreate() {
	name, image := a.someGuest(), pick(a.dice, a.h.world.images...)
	s := map[string]any{
		"providerRef": map[string]any{"name": "pve"}, "classRef": map[string]any{"name": pick(a.dice, "small", "small", "medium"), "namespace": team},
		"imageRef": map[string]any{"name": image, "namespace": team}, "networks": []any{map[string]any{"name": "lan", "bridge": "vmbr0"}},
		"updatePolicy": map[string]any{"restart": pick(a.dice, "Allow", "Allow", "Allow", "Never")},
	}
	a.add(kubeGuest, a.soon(), func(r *run) { r.kube.make(machines, named(name, s)) }, "%s is wanted: %v", name, s)
}

func (a *author) guestWish() {
	name := a.someGuest()
	meddle := func(k kind, what string, do func(o *others, id int) bool) {
		a.add(k, a.soon(), func(r *run) { r.kube.meddle(k, machines, name, do) }, "somebody %s: %s", what, name)
	}
	switch a.weighted(5, 6, 2, 2, 2, 1) {
	case 0:
		a.guestCreate()
	case 1:
		class, memory := pick(a.dice, "small", "small", "medium"), 512*a.number(2, 6)
		a.add(kubeClass, a.soon(), func(r *run) { r.kube.resize(class, memory) }, "class %s: memory %d", class, memory)
	case 2:
		a.add(wishDelete, a.soon(), func(r *run) { r.kube.delete(machines, name) }, "%s is deleted", name)
	case 3:
		state := pick(a.dice, "On", "On", "Off")
		a.add(wishPower, a.soon(), func(r *run) {
			r.kube.edit(machines, name, func(o kubesim.Object) { spec(o)["powerState"] = state })
		}, "%s: power %s", name, state)
	case 4:
		meddle(othersStop, "stops it", func(o *others, id int) bool { return o.status(id, "stop") })
	case 5:
		d := a.between(time.Second, 5*time.Minute)
		a.add(kubeUnshared, a.soon(), func(r *run) {
			r.kube.sharing(nil)
			r.later(d, func() { r.kube.sharing([]any{lodgers}) })
		}, "nothing is shared any more, for %v", d)
	}
}

const (
	kubeGuest    kind = "a machine of another namespace"
	kubeClass    kind = "a class of two namespaces is changed"
	kubeUnshared kind = "what is shared is taken back"
)

// lodge sets the second namespace up.
func (k *kube) lodge() {
	for _, o := range []kubesim.Object{k.login(), k.provider()} {
		o["metadata"].(map[string]any)["namespace"] = lodgers
		k.make(map[string]string{"login": "secrets", "pve": "providers"}[o.Name()], o)
	}
}

// sharing says whom classes and images are shared with.
func (k *kube) sharing(with []any) {
	k.mu.Lock()
	k.unshared = time.Now()
	k.mu.Unlock()
	change := func(o kubesim.Object) { spec(o)["sharedWith"] = with }
	for name := range classes {
		k.edit("vmclasses", name, change)
	}
	for _, name := range k.run.h.world.images {
		k.edit("vmimages", name, change)
	}
}

// resize gives the machines of a class another size.
func (k *kube) resize(class string, memory int) {
	k.mu.Lock()
	k.memory[class] = memory
	k.lately = time.Now()
	k.mu.Unlock()
	k.edit("vmclasses", class, func(o kubesim.Object) { spec(o)["memory"] = fmt.Sprintf("%dMi", memory) })
}

// classOf is the class of an object's machines.
func classOf(o kubesim.Object) string {
	ref, _ := spec(o)["classRef"].(map[string]any)
	return fmt.Sprint(ref["name"])
}

// restart is one of a machine that we have asked for.
type restart struct {
	at     time.Time
	rec    *record
	class  string
	object kubesim.Object // as it was
}

// rolls checks that no machine that is up is stopped for a restart while another one of its
// class, in whichever namespace, hasn't come back from one.
func (k *kube) rolls(id int, rec *record) {
	tended := map[string]bool{}
	for _, space := range []string{team, lodgers} {
		provider := k.api.Get("providers", space, "pve")
		tended[space] = provider != nil && !provider.Deleting() && k.api.Get("secrets", space, "login") != nil
	}
	wrong := ""
	k.run.sim.Do(func(s *pvesim.State) {
		k.mu.Lock()
		defer k.mu.Unlock()
		vm := s.VMs[id]
		if vm == nil || !k.isUp(vm) || !on(rec.object) {
			return
		}
		class := classOf(rec.object)
		for other, r := range k.restarts {
			if other != id && r.class == class && tended[spaceOf(r.rec.name)] && k.stillAway(s, other, r) {
				wrong = fmt.Sprintf("VM %d of %s is restarted while VM %d of %s, which is of the same class, hasn't come back", id, rec, other, r.rec)
			}
		}
		k.restarts[id] = restart{time.Now(), rec, class, rec.object}
	})
	if wrong != "" {
		k.run.fail("%s", wrong)
	}
}

// isUp reports whether a machine runs, and its agent answers if it has one.
func (k *kube) isUp(vm *pvesim.VM) bool {
	if vm.Run == nil || !vm.Run.Off.IsZero() {
		return false
	}
	return !model.AgentOn(vm.Conf) || !vm.Run.Agent.IsZero() && !k.run.sim.Now().Before(vm.Run.Agent)
}

// stillAway reports whether a machine hasn't come back from a restart, and is missed: nobody
// wants something else of it, and nobody else has touched it.
func (k *kube) stillAway(s *pvesim.State, id int, r restart) bool {
	vm, o := s.VMs[id], r.rec.object
	switch {
	case vm == nil, !r.rec.there, o.Deleting(), o.UID() != r.object.UID(), o.Generation() != r.object.Generation(), !r.rec.calls(vm.Name()):
		return false
	case k.run.others.touchedSince(id, r.at), k.unshared.After(r.at), k.run.census.happened(kubeRenamed):
		return false
	case k.run.others.hasTaken(s, r.rec.identity), s.VMs[id].Conf["lock"] != "":
		return false
	case vm.Run != nil && vm.Run.Off.IsZero() && !vm.Run.Started.After(r.at):
		return false // nothing came of it
	}
	return !k.isUp(vm)
}
