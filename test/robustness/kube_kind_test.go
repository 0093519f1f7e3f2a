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

// Objects beside VirtualMachines of one machine each: such with a count, VMClones and
// VMSnapshots.

// mix draws what happens to such objects, in the midst of all the rest, which stays as it
// was drawn.
func (h *history) mix(d dice) {
	a := &author{dice: d, h: &history{world: h.world}}
	a.kindCreate()
	for range a.number(2, 8) {
		a.kindWish()
	}
	h.weave(a)
}

const (
	groupName = "set-a"
	copyName  = "copy-a"
)

func (a *author) kindWish() {
	resource, name := machines, groupName
	if a.chance(0.4) {
		resource, name = copies, copyName
	}
	edit := func(k kind, what string, change func(kubesim.Object)) {
		a.add(k, a.soon(), func(r *run) { r.kube.edit(resource, name, change) }, "%s: %s", name, what)
	}
	meddle := func(k kind, what string, do func(o *others, id int) bool) {
		a.add(k, a.soon(), func(r *run) { r.kube.meddle(k, resource, name, do) }, "somebody %s: %s", what, name)
	}
	switch a.weighted(6, 5, 2, 2, 2, 2, 2, 1, 1) {
	case 0:
		a.kindCreate()
	case 1:
		count := a.number(0, 3)
		a.add(kubeCount, a.soon(), func(r *run) {
			r.kube.edit(machines, groupName, func(o kubesim.Object) { spec(o)["count"] = count })
		}, "%s: count %d", groupName, count)
	case 2:
		a.add(wishDelete, a.soon(), func(r *run) { r.kube.delete(resource, name) }, "%s is deleted", name)
	case 3:
		class := pick(a.dice, "small", "medium")
		edit(wishClass, "class "+class, func(o kubesim.Object) { spec(o)["classRef"] = map[string]any{"name": class} })
	case 4:
		state := pick(a.dice, "On", "On", "Off")
		edit(wishPower, "power "+state, func(o kubesim.Object) { spec(o)["powerState"] = state })
	case 5:
		d := a.between(0, time.Minute)
		a.add(kubeRestored, a.soon(), func(r *run) { r.kube.restore(resource, name, d) }, "%s is restored from a backup after %v", name, d)
	case 6:
		meddle(othersStop, "stops it", func(o *others, id int) bool { return o.status(id, "stop") })
	case 7:
		meddle(othersDestroy, "destroys it", func(o *others, id int) bool { return o.destroy(id) })
	case 8:
		meddle(othersTakeOver, "overwrites its notes", func(o *others, id int) bool { return o.takeOver(id) })
	}
}

// kindCreate: somebody wants another object.
func (a *author) kindCreate() {
	s := map[string]any{
		"classRef": map[string]any{"name": pick(a.dice, "small", "medium")}, "networks": []any{map[string]any{"name": "lan", "bridge": "vmbr0"}},
		"deletionPolicy": pick(a.dice, "Delete", "Delete", "Delete", "Retain"),
		"updatePolicy":   map[string]any{"restart": pick(a.dice, "Allow", "Allow", "Never"), "scaleDown": pick(a.dice, "Allow", "Allow", "Never")},
		"providerRef":    map[string]any{"name": "pve"},
	}
	switch a.weighted(4, 3, 3) {
	case 0:
		s["count"], s["imageRef"] = a.number(1, 3), map[string]any{"name": pick(a.dice, a.h.world.images...)}
		a.add(kubeCount, a.soon(), func(r *run) { r.kube.make(machines, named(groupName, s)) }, "%s is wanted: %v", groupName, s)
	case 1:
		delete(s["updatePolicy"].(map[string]any), "scaleDown")
		s["sourceVMRef"] = map[string]any{"name": a.someMachine()}
		a.add(kubeCopy, a.soon(), func(r *run) { r.kube.make(copies, named(copyName, s)) }, "%s is wanted: %v", copyName, s)
	case 2:
		name, vm := pick(a.dice, "snap-a", "snap-b"), pick(a.dice, a.someMachine(), a.someMachine(), copyName)
		if a.chance(0.3) {
			a.add(kubeSnapshot, a.soon(), func(r *run) { r.kube.delete(shots, name) }, "%s is deleted", name)
			return
		}
		a.add(kubeSnapshot, a.soon(), func(r *run) {
			r.kube.make(shots, named(name, map[string]any{"vmRef": map[string]any{"name": vm}}))
		}, "%s is wanted, a snapshot of %s", name, vm)
	}
}

const (
	kubeCount    kind = "an object with a count"
	kubeCopy     kind = "a VMClone"
	kubeSnapshot kind = "a VMSnapshot"
)

// objects are all that have something in Proxmox.
func (k *kube) objects() []kubesim.Object {
	return slices.Concat(k.api.List(machines), k.api.List(copies), k.api.List(shots))
}

// count is how many machines an object stands for; -1: it is one machine.
func count(o kubesim.Object) int {
	switch n := spec(o)["count"].(type) {
	case float64:
		return int(n)
	case int:
		return n
	}
	return -1
}

// calls reports whether a machine of an object is called so.
func (rec *record) calls(name string) bool {
	return name == rec.name || count(rec.object) >= 0 && strings.HasPrefix(name, rec.name+"-")
}

// wanted are the names of the machines that an object asks for.
func (rec *record) wanted() []string {
	n := count(rec.object)
	if n < 0 {
		return []string{rec.name}
	}
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%d", rec.name, i+1))
	}
	return names
}

// surplus reports whether an object doesn't ask for a machine of that name any more, and
// allows that it goes.
func (rec *record) surplus(name string) bool {
	policy, _ := spec(rec.object)["updatePolicy"].(map[string]any)
	return count(rec.object) >= 0 && policy["scaleDown"] == "Allow" && !slices.Contains(rec.wanted(), name)
}

// sheds notes which machines an object lets go as it is now: it doesn't ask for them any
// more, and they are to stay.
func (rec *record) sheds(now kubesim.Object) {
	next := record{name: rec.name, object: now}
	if rec.object == nil || !retain(now) {
		return
	}
	for name := range maps.Keys(rec.claims(rec.object)) {
		if next.surplus(name) {
			if rec.shed == nil {
				rec.shed = map[string]bool{}
			}
			rec.shed[name] = true
		}
	}
}

// claims are the VMIDs of the machines that an object asks for, by their names, as its
// status has them.
func (rec *record) claims(o kubesim.Object) map[string]int {
	all := map[string]int{}
	if count(o) < 0 {
		all[rec.name] = vmidOf(o)
		return all
	}
	for _, name := range (&record{name: rec.name, object: o}).wanted() {
		all[name] = 0
	}
	status, _ := o["status"].(map[string]any)
	members, _ := status["members"].([]any)
	for _, m := range members {
		member, _ := m.(map[string]any)
		id, _ := member["vmid"].(float64)
		if name, _ := member["name"].(string); id != 0 {
			if _, asked := all[name]; asked {
				all[name] = int(id)
			}
		}
	}
	return all
}

// compare says what of the machines of an object isn't as it asks.
func (k *kube) compare(s *pvesim.State, rec record) (wrong []string) {
	by := map[string][]int{}
	for _, id := range k.guests(s, rec.identity) {
		_, m, _ := model.ParseDescription(s.VMs[id].Conf["description"])
		by[m.Owner.Name] = append(by[m.Owner.Name], id)
	}
	for _, name := range rec.wanted() {
		ids := by[name]
		if delete(by, name); len(ids) != 1 {
			wrong = append(wrong, fmt.Sprintf("%s is Ready and has %d machines %s", &rec, len(ids), name))
			continue
		}
		wrong = append(wrong, rec.compare(s, name, s.VMs[ids[0]], k.memory[classOf(rec.object)])...)
	}
	policy, _ := spec(rec.object)["updatePolicy"].(map[string]any)
	if identity(rec.object) != rec.object.UID() && policy["scaleDown"] != "Allow" {
		return wrong // a backup doesn't name them, and they are to stay
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		wrong = append(wrong, fmt.Sprintf("%s is Ready and has %s, too", &rec, name))
	}
	return wrong
}

// othersHave reports whether others have the VMID of a machine of an object.
func (k *kube) othersHave(s *pvesim.State, o kubesim.Object) bool {
	rec := &record{name: o.Name(), object: o}
	for _, id := range rec.claims(o) {
		if s.VMs[id] != nil && k.run.watch.others[id] != "" {
			return true
		}
	}
	return false
}

// images are those that the machines of an object may have been made from.
func (k *kube) images(o kubesim.Object) (names []string) {
	if source, ok := spec(o)["sourceVMRef"].(map[string]any); ok {
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, rec := range k.records {
			if ref, _ := spec(rec.object)["imageRef"].(map[string]any); rec.name == source["name"] && ref != nil {
				names = append(names, fmt.Sprint(ref["name"]))
			}
		}
		return names
	}
	ref, _ := spec(o)["imageRef"].(map[string]any)
	return []string{fmt.Sprint(ref["name"])}
}

// excusedByKind reports whether there is a reason that only objects of a kind have, or
// those that they are about, why an object isn't as it should be.
func (k *kube) excusedByKind(o kubesim.Object, reason string) bool {
	switch {
	case o["kind"] == "VMSnapshot":
		return k.shotExcused(o)
	case o["kind"] == "VMClone" && !k.made(o):
		source, _ := spec(o)["sourceVMRef"].(map[string]any)
		return !k.usable(fmt.Sprint(source["name"]))
	case o["kind"] == "VMImage" && reason == "StillInUse" && o.Deleting():
		return slices.ContainsFunc(k.objects(), func(m kubesim.Object) bool { return slices.Contains(k.images(m), o.Name()) })
	case reason == "StillInUse" && o.Deleting():
		return slices.ContainsFunc(k.api.List(shots), func(s kubesim.Object) bool { return !s.Deleting() && vmRef(s) == o.Name() })
	case reason == "RolloutInProgress":
		return k.heldUp(o)
	case o["kind"] == "VirtualMachine" && slices.Contains(k.images(o), fetchedName) && (reason == "SourceNotReady" || reason == "Invalid"):
		image := k.api.Get(images, team, fetchedName)
		return image != nil && !ready(image) && k.excused(image)
	case count(o) >= 0 && reason == "NotAllowed":
		policy, _ := spec(o)["updatePolicy"].(map[string]any)
		return policy["scaleDown"] != "Allow"
	}
	return false
}

// heldUp reports whether another machine of the same class, or of the same object, rightly
// isn't ready: those that are ready aren't restarted meanwhile.
func (k *kube) heldUp(o kubesim.Object) bool {
	return slices.ContainsFunc(k.objects(), func(other kubesim.Object) bool {
		same := other["kind"] != "VMSnapshot" && classOf(other) == classOf(o)
		return same && !ready(other) && condition(other, "Ready")["reason"] != "RolloutInProgress" && k.excused(other)
	})
}

// made reports whether an object has a machine.
func (k *kube) made(o kubesim.Object) (made bool) {
	k.run.sim.Do(func(s *pvesim.State) { made = len(k.guests(s, identity(o))) > 0 })
	return made
}

// usable reports whether a machine is there, and as it should be.
func (k *kube) usable(name string) bool {
	for resource := range guestKinds {
		if o := k.api.Get(resource, team, name); o != nil {
			return ready(o) && !o.Deleting()
		}
	}
	return false
}

func vmRef(o kubesim.Object) string {
	ref, _ := spec(o)["vmRef"].(map[string]any)
	return fmt.Sprint(ref["name"])
}

// shotExcused reports whether a snapshot can't be, or can't go: its machine isn't as it
// should be, or isn't there, or has a disk of which none can be taken.
func (k *kube) shotExcused(o kubesim.Object) bool {
	if o.Deleting() {
		return k.usable(vmRef(o)) == false && k.api.Get(machines, team, vmRef(o)) != nil
	}
	if !k.usable(vmRef(o)) {
		return true
	}
	raw := false
	k.run.sim.Do(func(s *pvesim.State) {
		for _, vm := range s.VMs {
			raw = raw || vm.Name() == vmRef(o) && hasRaw(s, vm)
		}
	})
	return raw
}

// shot checks what a VMSnapshot says of itself.
func (k *kube) shot(c kubesim.Change) {
	if c.New == nil || c.New.Deleting() || !ready(c.New) {
		return
	}
	status, _ := c.New["status"].(map[string]any)
	id, name := vmidOf(c.New), fmt.Sprint(status["snapshot"])
	there := false
	k.run.sim.Do(func(s *pvesim.State) { there = s.VMs[id] != nil && s.VMs[id].Snaps[name] != nil })
	if !there && !k.run.others.theirDoing(id) {
		k.run.fail("VMSnapshot %s is Ready, and VM %d has no snapshot %s", c.New.Name(), id, name)
	}
}
