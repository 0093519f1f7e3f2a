package robustness

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/inspect"
	"github.com/proxplane/proxplane/test/kit/kubesim"
)

// kube is a Kubernetes with an operator, in a history that is about it: what is wanted is
// in its objects, and what we say is in their statuses.
type kube struct {
	run *run
	api *kubesim.API

	replicas []*replica // under run.mu
	all      []*replica // also those that have ended
	born     int
	stopped  bool // no operator is started any more

	mu      sync.Mutex
	records map[string]*record // machines by identity
	lately  time.Time          // when an object was last changed
	// condemned are machines that were rightly destroyed, by VMID, until their disks are gone:
	// somebody may want one again while Proxmox is still at it.
	condemned map[int]model.Owner
	memory    map[string]int // of each class, in MiB
	restarts  map[int]restart
	fetched   map[string]kubesim.Object // images with a URL, by identity
	unshared  time.Time                 // when it was last changed what is shared
}

// record is what is true of a machine that is wanted, or was once.
type record struct {
	resource string
	name     string
	identity string
	object   kubesim.Object  // as it was last
	there    bool            // it is in Kubernetes
	lost     bool            // it went without being deleted
	deleted  time.Time       // when it was deleted
	forced   bool            // it was to be let go before it was deleted
	released time.Time       // when it went, and what it has in Proxmox stays
	shed     map[string]bool // machines that it doesn't ask for any more, and that stay
	retained map[string]bool // machines that we let go since it was deleted and they were to stay
	stopped  time.Time       // until when it may last have been the will of anybody that it stops
}

const (
	team        = "team"
	forceDelete = "virtrigaud.io/force-delete"
)

var kubeKinds = []kubesim.Kind{
	{Version: "v1", Resource: "namespaces", Name: "Namespace", Global: true},
	{Version: "v1", Resource: "secrets", Name: "Secret"},
	{Version: "v1", Resource: "configmaps", Name: "ConfigMap"},
	{Group: "events.k8s.io", Version: "v1", Resource: "events", Name: "Event"},
	{Group: "coordination.k8s.io", Version: "v1", Resource: "leases", Name: "Lease"},
	{Group: api.Group, Version: api.Version, Resource: "providers", Name: "Provider", Status: true},
	{Group: api.Group, Version: api.Version, Resource: machines, Name: "VirtualMachine", Status: true},
	{Group: api.Group, Version: api.Version, Resource: "vmclasses", Name: "VMClass", Status: true},
	{Group: api.Group, Version: api.Version, Resource: "vmclones", Name: "VMClone", Status: true},
	{Group: api.Group, Version: api.Version, Resource: "vmimages", Name: "VMImage", Status: true},
	{Group: api.Group, Version: api.Version, Resource: "vmplacementpolicies", Name: "VMPlacementPolicy", Status: true},
	{Group: api.Group, Version: api.Version, Resource: "vmsnapshots", Name: "VMSnapshot", Status: true},
}

const (
	machines = "virtualmachines"
	copies   = "vmclones"
	shots    = "vmsnapshots"
)

// guestKinds are the kinds of objects that have machines in Proxmox, by resource.
var guestKinds = map[string]string{machines: "VirtualMachine", copies: "VMClone"}

func newKube(r *run) *kube {
	k := &kube{run: r, records: map[string]*record{}, condemned: map[int]model.Owner{}, memory: map[string]int{}, restarts: map[int]restart{}, fetched: map[string]kubesim.Object{}}
	k.api = kubesim.New(kubeKinds, k.changed)
	k.make("namespaces", kubesim.Object{"metadata": map[string]any{"name": "kube-system"}})
	k.make("secrets", k.login())
	k.make("providers", k.provider())
	for name, class := range classes {
		k.memory[name] = class.memory
		k.make("vmclasses", named(name, map[string]any{"cpus": class.cpus, "memory": fmt.Sprintf("%dMi", class.memory)}))
	}
	for _, name := range r.h.world.images {
		k.make("vmimages", named(name, map[string]any{"source": name, "copies": "never"}))
	}
	if r.h.shared {
		k.lodge()
		k.sharing([]any{lodgers})
	}
	return k
}

// classes that machines are of.
var classes = map[string]struct{ cpus, memory int }{"small": {1, 1024}, "medium": {2, 2048}}

func named(name string, spec map[string]any) kubesim.Object {
	return kubesim.Object{"metadata": map[string]any{"name": name, "namespace": spaceOf(name)}, "spec": spec}
}

// login is the Secret with our credentials.
func (k *kube) login() kubesim.Object {
	o := named("login", nil)
	o["type"] = "Opaque"
	o["data"] = map[string]any{"token_id": []byte("root@pam!us"), "token_secret": []byte(ourSecret)}
	return o
}

func (k *kube) provider() kubesim.Object {
	w := k.run.h.world
	return named("pve", map[string]any{
		"type": "proxmox", "endpoint": "https://pve1:8006", "credentialSecretRef": map[string]any{"name": "login"},
		"vmidRange": map[string]any{"first": w.vmids.First, "last": w.vmids.Last},
	})
}

// make makes an object, unless there is one.
func (k *kube) make(resource string, o kubesim.Object) bool {
	_, err := k.api.Create(resource, o)
	return err == nil
}

// changed notes what became of an object, and judges what we say about it.
func (k *kube) changed(c kubesim.Change) {
	if c.Kind.Resource == shots {
		k.shot(c)
	}
	if c.Kind.Resource == images && c.New != nil {
		k.notesImage(c.New)
	}
	if guestKinds[c.Kind.Resource] == "" {
		return
	}
	if rec := k.note(c); rec == nil {
		return
	} else if c.New == nil {
		k.went(rec, c.Old)
	} else if ready(c.New) {
		k.isReady(rec, c.New)
	}
}

// note notes what became of an object; nil: nothing is known of it.
func (k *kube) note(c kubesim.Change) *record {
	k.mu.Lock()
	defer k.mu.Unlock()
	o := c.New
	if o == nil {
		rec := k.records[identity(c.Old)]
		if rec == nil {
			return nil
		}
		rec.there = false
		switch {
		case rec.deleted.IsZero():
			rec.lost = true
		case c.Old.Annotation(forceDelete) == "true" || retain(c.Old):
			rec.released = time.Now()
		}
		return rec
	}
	rec := k.records[identity(o)]
	if rec == nil {
		rec = &record{resource: c.Kind.Resource, name: o.Name(), identity: identity(o)}
		k.records[rec.identity] = rec
	}
	if c.Old == nil || c.Old.Generation() != o.Generation() {
		k.lately = time.Now()
	}
	if rec.object != nil && mayStop(rec.object) && !mayStop(o) {
		rec.stopped = time.Now().Add(grace)
	}
	rec.sheds(o)
	rec.object, rec.there, rec.lost = o, true, false
	if o.Deleting() && rec.deleted.IsZero() {
		rec.deleted, rec.forced = time.Now(), o.Annotation(forceDelete) == "true"
	}
	return rec
}

// identity is what an object is known by in Proxmox.
func identity(o kubesim.Object) string {
	if id := o.Annotation(api.Identity); id != "" {
		return id
	}
	return o.UID()
}

// went checks that what belonged to an object is gone with it, unless it is to stay.
func (k *kube) went(rec *record, o kubesim.Object) {
	if rec.lost || !rec.released.IsZero() {
		return
	}
	k.run.sim.Do(func(s *pvesim.State) {
		for _, id := range k.guests(s, rec.identity) {
			if _, theirs := k.run.watch.others[id]; !theirs && !k.run.others.theirDoing(id) {
				defer k.run.fail("%s is gone from Kubernetes, and VM %d is still there", rec, id)
			}
		}
	})
}

// guests are the machines that carry an identity.
func (k *kube) guests(s *pvesim.State, identity string) (ids []int) {
	for _, id := range slices.Sorted(maps.Keys(s.VMs)) {
		m, ok := k.run.watch.marker(s.VMs[id].Conf["description"])
		if ok && m.Of(id) && m.Owner.UID == identity {
			ids = append(ids, id)
		}
	}
	return ids
}

func retain(o kubesim.Object) bool { return spec(o)["deletionPolicy"] == "Retain" }

func spec(o kubesim.Object) map[string]any { m, _ := o["spec"].(map[string]any); return m }

func (rec *record) String() string { return guestKinds[rec.resource] + " " + rec.name }

// mayStop reports whether somebody wants or allows that a machine is stopped.
func mayStop(o kubesim.Object) bool {
	policy, _ := spec(o)["updatePolicy"].(map[string]any)
	state := spec(o)["powerState"]
	return policy["restart"] == "Allow" || state == "Off" || state == "OffGraceful"
}

// before judges a request of ours about a guest at the moment when Proxmox gets it.
func (k *kube) before(e *entry, conf pvesim.Conf) {
	id := e.vmid()
	m, ok := k.run.watch.marker(conf["description"])
	destroys := e.method == http.MethodDelete && e.call() == ""
	if !ok || !m.Of(id) {
		if k.run.others.justTaken(id) && !destroys || !ok && (k.run.letGoLate(e) || k.dying(id)) {
			return
		}
		k.run.fail("a request would change VM %d, which isn't ours: %s", id, e)
		return
	}
	if k.beforeImage(e, id, m.Owner) {
		return
	}
	k.mu.Lock()
	rec := k.records[m.Owner.UID]
	wrong := ""
	switch {
	case rec == nil:
		wrong = "is nobody's"
	case !rec.released.IsZero() && k.run.trace.start.Add(e.at).After(rec.released.Add(inFlight)):
		wrong = "was let go, and is to stay as it is"
	case !rec.there && rec.lost:
		// What was begun goes on for a moment; nobody wants it to go.
		if destroys || stops(e) {
			wrong = "isn't in Kubernetes any more, and nobody has deleted it"
		}
	case destroys && !rec.mayGo(m.Owner.Name):
		wrong = "isn't to be destroyed"
	case stops(e) && !rec.mayGo(m.Owner.Name) && !mayStop(rec.object) && time.Now().After(rec.stopped):
		wrong = "isn't to stop"
	case destroys:
		k.condemned[id] = m.Owner
	case stops(e) && !rec.mayGo(m.Owner.Name):
		defer k.rolls(id, rec)
	case unmarks(e) && !rec.deleted.IsZero() && retain(rec.object):
		if rec.retained == nil {
			rec.retained = map[string]bool{}
		}
		rec.retained[m.Owner.Name] = true
	}
	k.mu.Unlock()
	if wrong != "" {
		k.run.fail("VM %d of %s %s: %s", id, m.Owner.Key, wrong, e)
	}
}

// unmarks reports whether a request takes the marker off a machine.
func unmarks(e *entry) bool {
	_, _, marked := model.ParseDescription(e.params.Get("description"))
	given := e.params.Has("description") && !marked
	return e.call() == "config" && (given || slices.Contains(strings.Split(e.params.Get("delete"), ","), "description"))
}

// dying reports whether others are destroying a machine: what is left of it says nothing any
// more, and Proxmox refuses to do anything with it.
func (k *kube) dying(id int) (dying bool) {
	k.run.sim.Do(func(s *pvesim.State) {
		vm := s.VMs[id]
		dying = vm != nil && vm.Conf["lock"] == "destroyed" && working(s, id) && k.run.others.theirDoing(id)
	})
	return dying
}

// inFlight is how long a request may be under way that was sent in time.
const inFlight = 100 * time.Millisecond

// mayGo reports whether somebody wants a machine of an object to be destroyed.
func (rec *record) mayGo(name string) bool {
	return (!rec.deleted.IsZero() || rec.surplus(name)) && !rec.forced && !retain(rec.object)
}

// record finds what is known of an identity; nil: nothing.
func (k *kube) record(identity string) *record {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.records[identity]
}

// mayLose reports whether somebody wants a machine to go, or did when it was destroyed.
func (k *kube) mayLose(o model.Owner, id int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	rec := k.records[o.UID]
	// The disk of an image becomes another volume when the image becomes a template.
	return rec != nil && rec.mayGo(o.Name) || k.condemned[id] == o || k.imageOf(o) != nil
}

// destroyed notes that a machine under a VMID has no disk any more. The next one there is
// another one.
func (k *kube) destroyed(id int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.condemned, id)
}

// alone checks that no two guests are the same machine of an object, and that no two that run have one
// MAC address.
func (k *kube) alone(s *pvesim.State) (wrong []string) {
	byIdentity, byMAC := map[string][]int{}, map[string][]int{}
	for _, id := range slices.Sorted(maps.Keys(s.VMs)) {
		vm := s.VMs[id]
		m, ok := k.run.watch.marker(vm.Conf["description"])
		if _, theirs := k.run.watch.others[id]; ok && m.Of(id) && !theirs {
			who := m.Owner.UID + " (" + m.Owner.Name + ")"
			byIdentity[who] = append(byIdentity[who], id)
		}
		if vm.Run != nil {
			for _, mac := range macs(vm.Conf) {
				byMAC[mac] = append(byMAC[mac], id)
			}
		}
	}
	for identity, ids := range byIdentity {
		if len(ids) > 1 {
			wrong = append(wrong, fmt.Sprintf("object %s has %d machines: %v", identity, len(ids), ids))
		}
	}
	for mac, ids := range byMAC {
		if len(ids) > 1 {
			wrong = append(wrong, fmt.Sprintf("%d running machines have the address %s: %v", len(ids), mac, ids))
		}
	}
	return wrong
}

// macs are the addresses of a config's NICs.
func macs(conf pvesim.Conf) (out []string) {
	for key, value := range conf {
		if rest, ok := strings.CutPrefix(key, "net"); ok && rest != "" && strings.Trim(rest, "0123456789") == "" {
			_, mac, _ := strings.Cut(value, "=")
			mac, _, _ = strings.Cut(mac, ",")
			out = append(out, strings.ToUpper(mac))
		}
	}
	return out
}

// ready reports whether an object's status says that it is so, as it is wanted now.
func ready(o kubesim.Object) bool {
	c := condition(o, "Ready")
	n, _ := c["observedGeneration"].(float64)
	return c["status"] == "True" && int64(n) == o.Generation()
}

func condition(o kubesim.Object, kind string) map[string]any {
	status, _ := o["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			return m
		}
	}
	return nil
}

// vmidOf is the VMID that an object's status has; 0: none.
func vmidOf(o kubesim.Object) int {
	status, _ := o["status"].(map[string]any)
	n, _ := status["vmid"].(float64)
	return int(n)
}

// isReady checks that an object is as its status says. While Proxmox can't be asked, that
// says what was seen last.
func (k *kube) isReady(rec *record, o kubesim.Object) {
	if o.Deleting() || !reachable(o) {
		return
	}
	for name, id := range rec.claims(o) {
		k.isThere(rec, name, id, on(o))
	}
}

// isThere checks that a machine of an object that is Ready is there.
func (k *kube) isThere(rec *record, name string, id int, on bool) {
	if k.run.others.theirDoing(id) {
		return
	}
	wrong := ""
	k.run.sim.Do(func(s *pvesim.State) {
		vm := s.VMs[id]
		if vm == nil {
			wrong = "which isn't there"
			return
		}
		m, ok := k.run.watch.marker(vm.Conf["description"])
		switch {
		case (!ok || !m.Of(id)) && k.unread(id):
		case !ok || !m.Of(id):
			wrong = "which says that it isn't ours"
		case m.Owner.UID != rec.identity || m.Owner.Name != name:
			wrong = "which says that it is another object's"
		case on && vm.Run == nil && !working(s, id):
			wrong = "which doesn't run"
		}
	})
	if wrong != "" && !k.run.others.theirDoing(id) {
		k.run.fail("%s is Ready with VM %d, %s", rec, id, wrong)
	}
}

// reachable reports whether an object's status says that Proxmox can be asked about it.
func reachable(o kubesim.Object) bool { return condition(o, "Reachable")["status"] == "True" }

// unread reports whether others have overwritten a guest's notes, which no list shows, and
// we haven't read its config since.
func (k *kube) unread(id int) bool {
	at, theirs := k.run.others.takenAt(id)
	since := at.Sub(k.run.trace.start)
	return theirs && k.run.trace.count(func(e *entry) bool {
		return e.ours && e.method == http.MethodGet && e.vmid() == id && (e.call() == "pending" || e.call() == "config") && e.status == http.StatusOK && e.at > since
	}) == 0
}

// on reports whether an object's machine is to run.
func on(o kubesim.Object) bool {
	state, _ := spec(o)["powerState"].(string)
	return state == "" || state == "On"
}

// compare says what of a machine isn't as its object asks.
func (rec *record) compare(st *pvesim.State, name string, vm *pvesim.VM, memory int) (wrong []string) {
	differs := func(what string, want, have any) {
		if fmt.Sprint(want) != fmt.Sprint(have) {
			wrong = append(wrong, fmt.Sprintf("VM %d of %s: %s should be %v and is %v", vm.ID, name, what, want, have))
		}
	}
	ref, _ := spec(rec.object)["classRef"].(map[string]any)
	class := classes[fmt.Sprint(ref["name"])]
	cores := vm.Conf["cores"]
	if cores == "" {
		cores = "1"
	}
	differs("cores", class.cpus, cores)
	differs("memory", memory, vm.Conf["memory"])
	differs("name", name, vm.Name())
	differs("running", on(rec.object), vm.Run != nil)
	differs("VMID in its status", vm.ID, rec.claims(rec.object)[name])
	for _, slot := range []string{"scsi0"} {
		differs("disk "+slot, true, inspect.VolumeOf(st, vm.Node, vm.Conf[slot]) != "")
	}
	return wrong
}
