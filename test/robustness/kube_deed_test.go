package robustness

import (
	"time"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/kubesim"
)

func (k *kube) edit(resource, name string, change func(kubesim.Object)) bool {
	_, err := k.api.Update(resource, spaceOf(name), name, "", func(o kubesim.Object) error {
		change(o)
		return nil
	})
	return err == nil
}

func (k *kube) delete(resource, name string) bool {
	return k.api.Delete(resource, spaceOf(name), name) == nil
}

// deleteAll is what the deletion of a namespace does, in the worst order.
func (k *kube) deleteAll() {
	k.delete("secrets", "login")
	k.delete("providers", "pve")
	k.deleteGuests()
}

// deleteGuests deletes all that has something in Proxmox.
func (k *kube) deleteGuests() {
	for _, resource := range []string{machines, copies, shots} {
		for _, o := range k.api.List(resource) {
			k.delete(resource, o.Name())
		}
	}
}

// restore drops an object, and makes it again as a backup has it: with its annotations,
// another UID and no status.
func (k *kube) restore(resource, name string, after time.Duration) {
	o := k.api.Get(resource, spaceOf(name), name)
	if o == nil || o.Deleting() {
		return
	}
	backup := named(name, spec(o))
	backup.Annotate(api.Identity, identity(o))
	for _, a := range []string{api.ClusterName, api.TakenOverBy, api.Members, forceDelete} {
		backup.Annotate(a, o.Annotation(a))
	}
	k.api.Lose(resource, spaceOf(name), name)
	k.run.later(after, func() { k.make(resource, backup) })
}

// meddle does something to the guest of an object, if it is there.
func (k *kube) meddle(what kind, resource, name string, do func(o *others, id int) bool) {
	o := k.api.Get(resource, spaceOf(name), name)
	if o == nil {
		return
	}
	id := 0
	k.run.sim.Do(func(s *pvesim.State) {
		if ids := k.guests(s, identity(o)); len(ids) > 0 {
			id = ids[0]
		}
	})
	if id == 0 {
		return
	}
	k.run.troubles.Go(func() {
		leave := k.run.others.enter(id)
		defer leave()
		if do(k.run.others, id) {
			k.run.tells(what)
		}
		k.run.watch.look()
	})
}

// settle waits until we have changed nothing for a while, or for so long.
func (k *kube) settle(most time.Duration) {
	const rest = 40 * time.Second
	for end := time.Now().Add(most); time.Now().Before(end) && !k.run.isBroken(); {
		time.Sleep(5 * time.Second)
		now := k.run.trace.now()
		busy := k.run.trace.count(func(e *entry) bool {
			return e.ours && e.write() && (e.done == 0 || e.done > now-rest)
		})
		k.mu.Lock()
		quiet := time.Since(k.lately) > rest
		k.mu.Unlock()
		if busy == 0 && quiet {
			return
		}
	}
}
