package robustness

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/kubesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// In some histories there is an image with a URL: the operator makes a template of it, and
// machines from that, in the second namespace, too, if there is one.

const (
	images      = "vmimages"
	fetchedName = "fetched"
)

// fetch draws what happens to such an image and its machines, in the midst of all the rest.
func (h *history) fetch(d dice) {
	h.fetches = true
	a := &author{dice: d, h: &history{world: h.world, shared: h.shared}}
	a.add(kubeFetch, a.soon(), func(r *run) { r.kube.fetch() }, "%s is wanted, an image with a URL", fetchedName)
	a.fetchedCreate()
	for range a.number(1, 5) {
		switch name := a.someFetched(); a.weighted(3, 2, 2, 2) {
		case 0:
			a.fetchedCreate()
		case 1:
			a.add(wishDelete, a.soon(), func(r *run) { r.kube.delete(machines, name) }, "%s is deleted", name)
		case 2:
			a.add(othersDestroy, a.soon(), func(r *run) {
				r.kube.meddle(othersDestroy, machines, name, func(o *others, id int) bool { return o.destroy(id) })
			}, "somebody destroys it: %s", name)
		case 3:
			a.add(rests, 0, func(r *run) { r.kube.settle(5 * time.Minute) }, "nothing, until all is at rest")
		}
	}
	h.weave(a)
}

// someFetched is the name of a machine that is made from the image.
func (a *author) someFetched() string {
	if a.h.shared {
		return pick(a.dice, "vm-f", "guest-f")
	}
	return "vm-f"
}

func (a *author) fetchedCreate() {
	name := a.someFetched()
	s := map[string]any{
		"providerRef": map[string]any{"name": "pve"}, "classRef": map[string]any{"name": "medium", "namespace": team},
		"imageRef": map[string]any{"name": fetchedName, "namespace": team}, "networks": []any{map[string]any{"name": "lan", "bridge": "vmbr0"}},
		"updatePolicy": map[string]any{"restart": "Allow"},
	}
	a.add(kubeFetch, a.soon(), func(r *run) { r.kube.make(machines, named(name, s)) }, "%s is wanted: %v", name, s)
}

const kubeFetch kind = "an image with a URL"

// fetch makes the image, unless there is one.
func (k *kube) fetch() {
	s := map[string]any{
		"url": "https://images.example/fetched.qcow2", "checksum": imageSum(), "storage": "local", "providerRef": map[string]any{"name": "pve"},
	}
	if k.run.h.shared {
		s["sharedWith"] = []any{lodgers}
	}
	k.make(images, named(fetchedName, s))
}

// notesImage notes what became of an image that is fetched.
func (k *kube) notesImage(o kubesim.Object) {
	if spec(o)["url"] == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fetched[identity(o)] = o
}

// beforeImage judges a request of ours about the template of an image; false: it isn't one.
func (k *kube) beforeImage(e *entry, id int, o model.Owner) bool {
	k.mu.Lock()
	image := k.imageOf(o)
	k.mu.Unlock()
	ours := image != nil
	if ours && e.method == http.MethodDelete && e.call() == "" && !image.Deleting() && !k.unfinished(id) {
		k.run.fail("VM %d, the template of %s, isn't to be destroyed: %s", id, o.Key, e)
	}
	return ours
}

// imageOf is the image that a template is of; nil: none of ours. Its owner names the recipe, too.
func (k *kube) imageOf(o model.Owner) kubesim.Object {
	identity, _, _ := strings.Cut(o.UID, "+")
	return k.fetched[identity]
}

// unfinished reports whether a VM isn't a template yet.
func (k *kube) unfinished(id int) (unfinished bool) {
	k.run.sim.Do(func(s *pvesim.State) { unfinished = s.VMs[id] != nil && !s.VMs[id].Template() })
	return unfinished
}

// imageSum is the checksum of what is at every URL.
var imageSum = sync.OnceValue(sim.ImageSum)
