package kubesim

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Kind is a kind of objects.
type Kind struct {
	Group, Version, Resource, Name string
	Global                         bool // it has no namespace
	Status                         bool // it has a status subresource
}

// Change is what became of an object; Old or New is nil when it wasn't there, or isn't.
type Change struct {
	Kind     Kind
	Old, New Object
}

// API is a Kubernetes.
type API struct {
	kinds map[string]Kind // by resource

	mu      sync.Mutex
	version int
	born    int
	objects map[string]map[string]Object // by resource, then by namespace/name
	log     []event
	news    chan struct{} // closed at the next event
	observe func(Change)
}

// event is what watches are told.
type event struct {
	version  int
	resource string
	kind     string // ADDED, MODIFIED, DELETED
	object   Object
}

// New makes an empty one. Observe is called with each change before anybody else hears
// of it.
func New(kinds []Kind, observe func(Change)) *API {
	a := &API{kinds: map[string]Kind{}, objects: map[string]map[string]Object{}, news: make(chan struct{}), observe: observe}
	for _, k := range kinds {
		a.kinds[k.Resource] = k
		a.objects[k.Resource] = map[string]Object{}
	}
	return a
}

// failure is an answer that says what is wrong, as Kubernetes does.
type failure struct {
	code         int
	reason, text string
}

func (f *failure) Error() string { return f.text }

func notFound(k Kind, name string) *failure {
	return &failure{404, "NotFound", fmt.Sprintf("%s %q not found", k.Resource, name)}
}

func conflict(k Kind, name, why string) *failure {
	return &failure{409, "Conflict", fmt.Sprintf("Operation cannot be fulfilled on %s %q: %s", k.Resource, name, why)}
}

func key(namespace, name string) string { return namespace + "/" + name }

// Get gives a copy of an object; nil: there is none.
func (a *API) Get(resource, namespace, name string) Object {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.objects[resource][key(namespace, name)].Copy()
}

// List gives copies of all objects of a kind.
func (a *API) List(resource string) []Object {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []Object
	for _, k := range slices.Sorted(maps.Keys(a.objects[resource])) {
		all = append(all, a.objects[resource][k].Copy())
	}
	return all
}

// Create makes an object.
func (a *API) Create(resource string, o Object) (Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.kinds[resource]
	o = o.Copy()
	name := key(o.Namespace(), o.Name())
	if a.objects[resource][name] != nil {
		return nil, &failure{409, "AlreadyExists", fmt.Sprintf("%s %q already exists", resource, o.Name())}
	}
	if k.Status {
		delete(o, "status")
	}
	a.born++
	meta := o.meta()
	meta["uid"] = fmt.Sprintf("%08x-0000-4000-8000-%012x", a.born, a.born)
	meta["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	meta["generation"] = int64(1)
	delete(meta, "deletionTimestamp")
	o["apiVersion"], o["kind"] = k.apiVersion(), k.Name
	a.put(k, nil, o)
	return o.Copy(), nil
}

// Update changes an object. What it gets is a copy.
func (a *API) Update(resource, namespace, name, sub string, change func(Object) error) (Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.kinds[resource]
	old := a.objects[resource][key(namespace, name)]
	if old == nil {
		return nil, notFound(k, name)
	}
	o := old.Copy()
	if err := change(o); err != nil {
		return nil, err
	}
	given, was := o.meta(), old.meta()
	if v, ok := given["resourceVersion"]; ok && v != "" && v != was["resourceVersion"] {
		return nil, conflict(k, name, "the object has been modified; please apply your changes to the latest version and try again")
	}
	if v, ok := given["uid"]; ok && v != "" && v != was["uid"] {
		return nil, conflict(k, name, fmt.Sprintf("Precondition failed: UID in precondition: %v, UID in object meta: %v", v, was["uid"]))
	}
	switch {
	case sub == "status":
		status := o["status"]
		o = old.Copy()
		o["status"] = status
	case k.Status:
		if status, ok := old["status"]; ok {
			o["status"] = status
		} else {
			delete(o, "status")
		}
	}
	for _, f := range []string{"uid", "creationTimestamp", "generation", "resourceVersion", "deletionTimestamp"} {
		if v, ok := was[f]; ok {
			o.meta()[f] = v
		} else {
			delete(o.meta(), f)
		}
	}
	o["apiVersion"], o["kind"] = old["apiVersion"], old["kind"]
	if reflect.DeepEqual(old, o) {
		return o, nil
	}
	if !reflect.DeepEqual(old["spec"], o["spec"]) {
		o.meta()["generation"] = o.Generation() + 1
	}
	a.put(k, old, o)
	return o.Copy(), nil
}

// Delete has an object go, when nothing holds it any more.
func (a *API) Delete(resource, namespace, name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.kinds[resource]
	old := a.objects[resource][key(namespace, name)]
	switch {
	case old == nil:
		return notFound(k, name)
	case old.Deleting():
		return nil
	}
	o := old.Copy()
	o.meta()["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	o.meta()["generation"] = o.Generation() + 1
	a.put(k, old, o)
	return nil
}

// Lose drops an object as if the store had been restored from a time before it.
func (a *API) Lose(resource, namespace, name string) Object {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.objects[resource][key(namespace, name)]
	if old != nil {
		a.remove(a.kinds[resource], old, old)
	}
	return old
}

// put stores an object, or drops it when it is to go and nothing holds it.
func (a *API) put(k Kind, old, o Object) {
	if o.Deleting() && len(o.Finalizers()) == 0 {
		a.remove(k, old, o)
		return
	}
	a.version++
	o.meta()["resourceVersion"] = strconv.Itoa(a.version)
	o = o.Copy()
	a.objects[k.Resource][key(o.Namespace(), o.Name())] = o
	verb := "MODIFIED"
	if old == nil {
		verb = "ADDED"
	}
	a.tell(k, verb, old, o)
}

func (a *API) remove(k Kind, old, last Object) {
	a.version++
	last = last.Copy()
	last.meta()["resourceVersion"] = strconv.Itoa(a.version)
	delete(a.objects[k.Resource], key(last.Namespace(), last.Name()))
	a.tell(k, "DELETED", old, last)
}

func (a *API) tell(k Kind, verb string, old, o Object) {
	if a.observe != nil {
		c := Change{Kind: k, Old: old, New: o}
		if verb == "DELETED" {
			c.New = nil
		}
		a.observe(c)
	}
	a.log = append(a.log, event{a.version, k.Resource, verb, o})
	close(a.news)
	a.news = make(chan struct{})
}

func (k Kind) apiVersion() string { return strings.TrimPrefix(k.Group+"/"+k.Version, "/") }
