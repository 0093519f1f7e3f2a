package robustness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/kubesim"
)

// finish lets the troubles end, and checks that all is as the objects ask or that they
// say why not, that it stays so, and that all of it can go again.
func (k *kube) finish() {
	r := k.run
	r.trace.say("", "— the troubles are over")
	r.calm()
	r.others.unlockStuck()
	k.unprovided()
	k.provide()
	if r.h.shared {
		k.sharing([]any{lodgers})
	}
	if r.h.fetches {
		k.fetch()
	}
	time.Sleep(2 * time.Minute) // what others have done isn't all in the lists
	if !k.await(30*time.Minute, k.settled) {
		for _, o := range k.awaited() {
			if !k.fine(o) {
				r.fail("%s %s isn't as it should be in the end: %s", o["kind"], o.Name(), sayings(o))
			}
		}
		return
	}
	r.quiet()
	r.watch.look()
	k.compareAll()
	r.tidy()
	if r.isBroken() {
		return
	}
	k.stays()
	r.trace.say("", "— all is to go")
	for resource := range guestKinds {
		for _, o := range k.api.List(resource) {
			k.edit(resource, o.Name(), func(o kubesim.Object) { spec(o)["deletionPolicy"] = "Delete" })
		}
	}
	k.deleteGuests()
	gone := func() bool {
		return !slices.ContainsFunc(k.objects(), func(o kubesim.Object) bool { return !k.excused(o) })
	}
	if !k.await(30*time.Minute, gone) {
		for _, o := range k.objects() {
			r.fail("%s %s doesn't go: %s", o["kind"], o.Name(), sayings(o))
		}
		return
	}
	if r.h.fetches {
		k.delete(images, fetchedName)
		went := func() bool {
			image := k.api.Get(images, team, fetchedName)
			return image == nil || k.excused(image)
		}
		if !k.await(10*time.Minute, went) {
			r.fail("VMImage %s doesn't go: %s", fetchedName, sayings(k.api.Get(images, team, fetchedName)))
			return
		}
	}
	r.quiet()
	r.watch.look()
	k.nothingLeft()
	if !r.isBroken() {
		r.tidy()
	}
}

// unprovided checks that no machine is called Ready when what is needed to look after it
// has been missing for a while, and that each says why.
func (k *kube) unprovided() {
	secret, provider := k.api.Get("secrets", team, "login"), k.api.Get("providers", team, "pve")
	if secret != nil && provider != nil {
		return
	}
	k.run.census.excuse("objects without a Secret or a Provider in the end")
	time.Sleep(5 * time.Minute)
	for _, o := range k.objects() {
		if o.Namespace() != team {
			continue
		}
		nothing := count(o) == 0 && !k.made(o) // nobody has to look after it
		if text, _ := condition(o, "Ready")["message"].(string); ready(o) && !nothing || text == "" {
			k.run.fail("%s %s has neither login nor Provider any more and says: %s", o["kind"], o.Name(), sayings(o))
		}
	}
}

// provide gives back what machines need.
func (k *kube) provide() {
	k.make("secrets", k.login())
	k.make("providers", k.provider())
	if k.run.h.shared {
		k.lodge()
	}
}

// await waits until something is so, and says whether it is.
func (k *kube) await(most time.Duration, so func() bool) bool {
	for end := time.Now().Add(most); time.Now().Before(end); {
		time.Sleep(5 * time.Second)
		if k.run.isBroken() {
			return false
		}
		k.provide() // a Provider that was deleted may have gone only now
		if so() {
			return true
		}
	}
	return false
}

// awaited are the objects that are to be as they should be in the end.
func (k *kube) awaited() []kubesim.Object {
	all := k.objects()
	if image := k.api.Get(images, team, fetchedName); image != nil {
		all = append(all, image) // it is fetched whether or not a machine is made from it
	}
	return all
}

// settled reports whether all objects are fine.
func (k *kube) settled() bool {
	return !slices.ContainsFunc(k.awaited(), func(o kubesim.Object) bool { return !k.fine(o) })
}

// fine reports whether an object is Ready, or says rightly why not.
func (k *kube) fine(o kubesim.Object) bool {
	return ready(o) && (reachable(o) || o["kind"] == "VMSnapshot" || o["kind"] == "VMImage") && !o.Deleting() || k.excused(o)
}

// excused reports whether there is a good reason, in truth and not only by what we say,
// why an object isn't as it should be.
func (k *kube) excused(o kubesim.Object) bool {
	c := condition(o, "Ready")
	reason, _ := c["reason"].(string)
	text, _ := c["message"].(string)
	if c["status"] == "True" || text == "" {
		return false
	}
	ok := k.excusedByKind(o, reason)
	k.run.sim.Do(func(s *pvesim.State) {
		switch {
		case ok:
		case anyHalfMade(s) && strings.Contains(text, "half"):
			ok = true
		case k.othersHave(s, o):
			ok = true // its VMID, or they have made it theirs
		case reason == "Elsewhere":
			ok = k.run.census.happened(kubeRenamed) && k.elsewhere(s, identity(o))
		case reason == "NoVMID":
			ok = k.full(s)
		case reason == "TakenByOthers":
			// What was let go has its VMID or its name, or others have its machine.
			ok = k.let(o.Name()) || k.run.others.hasTaken(s, identity(o))
		case reason == "AgentSilent":
			ok = slices.ContainsFunc(k.images(o), func(image string) bool { return !k.run.h.world.agents[image] })
		case reason == "RestartNeeded" || reason == "NotAllowed":
			ok = !mayStop(o) && !o.Deleting()
		}
	})
	if ok {
		k.run.census.excuse(fmt.Sprint(o["kind"], " ", reason))
	}
	return ok
}

// elsewhere reports whether an object was first looked after by an operator that had
// another cluster name: its machine isn't there, or says so.
func (k *kube) elsewhere(s *pvesim.State, identity string) bool {
	for id, vm := range s.VMs {
		_, m, ok := model.ParseDescription(vm.Conf["description"])
		if uid, _, _ := strings.Cut(m.Owner.UID, "+"); ok && m.Of(id) && uid == identity && m.Owner.Set == ourCluster {
			return false
		}
	}
	return true
}

// full reports whether each VMID that machines may have is taken. The ranges in which that
// can be are so small that all of their VMIDs are candidates of every object.
func (k *kube) full(s *pvesim.State) bool {
	for id := k.run.h.world.vmids.First; id <= k.run.h.world.vmids.Last; id++ {
		if s.VMs[id] == nil {
			return false
		}
	}
	return true
}

// sayings is what an object's status says.
func sayings(o kubesim.Object) string {
	c := condition(o, "Ready")
	var b strings.Builder
	if o.Deleting() {
		b.WriteString("(deleted) ")
	}
	for _, f := range []string{"status", "reason", "message"} {
		text, _ := c[f].(string)
		b.WriteString(text + " ")
	}
	return strings.TrimSpace(b.String())
}

// compareAll compares the guests of all objects that are Ready with what is wanted.
func (k *kube) compareAll() {
	var wrong []string
	k.mu.Lock()
	var all []record
	for _, id := range slices.Sorted(maps.Keys(k.records)) {
		all = append(all, *k.records[id])
	}
	k.mu.Unlock()
	k.run.sim.Do(func(s *pvesim.State) {
		for _, rec := range all {
			if !rec.there || rec.object.Deleting() || !ready(rec.object) {
				continue
			}
			wrong = append(wrong, k.compare(s, rec)...)
		}
	})
	for _, text := range wrong {
		k.run.fail("%s", text)
	}
}

// stays checks that nothing is changed once all is well.
func (k *kube) stays() {
	k.settle(10 * time.Minute)
	at := k.run.trace.now()
	time.Sleep(3 * time.Minute)
	excused := slices.ContainsFunc(k.awaited(), func(o kubesim.Object) bool { return !ready(o) })
	if n := k.run.trace.count(func(e *entry) bool { return e.ours && e.write() && e.at > at }); n > 0 && !excused {
		k.run.fail("%d changes were made though nothing was to be done", n)
	}
}

// nothingLeft checks that no guest of ours is there any more, but those that were let
// go.
func (k *kube) nothingLeft() {
	k.run.sim.Do(func(s *pvesim.State) {
		for _, id := range slices.Sorted(maps.Keys(s.VMs)) {
			if _, theirs := k.run.watch.others[id]; theirs || halfMade(s.VMs[id]) {
				continue
			}
			_, m, marked := model.ParseDescription(s.VMs[id].Conf["description"])
			rec := k.record(m.Owner.UID)
			switch {
			case marked && rec != nil && !rec.released.IsZero():
			case marked && rec != nil && (rec.there || rec.lost):
			case marked && m.Owner.Kind == "VMImage" && k.api.Get(images, team, m.Owner.Name) != nil: // a machine that is excused uses it
			case !marked && (k.let(s.VMs[id].Name()) || k.retained(s.VMs[id].Name())):
			default:
				defer k.run.fail("VM %d (%s) is left behind", id, s.VMs[id].Name())
			}
		}
	})
}

// retained reports whether we let a machine of that name go when its object was deleted and the
// machine was to stay. Another machine of the same object may keep the object there.
func (k *kube) retained(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, rec := range k.records {
		if rec.retained[name] {
			return true
		}
	}
	return false
}

// let reports whether a machine of that name was let go, or its object lost.
func (k *kube) let(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, rec := range k.records {
		if rec.calls(name) && (!rec.released.IsZero() || rec.lost || rec.shed[name] || name == rec.name && len(rec.shed) > 0) {
			return true
		}
	}
	return false
}
