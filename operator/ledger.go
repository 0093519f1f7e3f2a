package operator

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
)

// ledger is what is known of each object beside what Kubernetes has. Whoever learns
// something new of an object writes it here, and the object's controller is told.
type ledger struct {
	feeds map[string]*feed // by kind

	mu      sync.Mutex
	entries map[model.Key]*entry
}

// entry is what is known of one object.
type entry struct {
	found    found
	outcomes map[model.Key]engine.Outcome // by Provider
}

// found is what the last translation of its namespace found out about an object.
type found struct {
	uid      types.UID
	version  int64 // its generation
	deleting bool
	early    bool        // it can't be made so before it has a finalizer
	problem  string      // why it isn't made so, in one sentence
	sites    []model.Key // the Providers that look after it
	machines int         // that use it
	needs    string      // what needs a Provider, if anything does: "3 machines are"
	snapshot string      // its name in Proxmox, if it is one
}

func (f found) equal(o found) bool { return reflect.DeepEqual(f, o) }

func newLedger() *ledger {
	l := &ledger{feeds: map[string]*feed{}, entries: map[model.Key]*entry{}}
	for _, k := range kinds {
		l.feeds[k.Name] = &feed{}
	}
	return l
}

// translated takes over what a translation of a namespace has found.
func (l *ledger) translated(namespace string, all map[model.Key]found) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.entries {
		if _, there := all[key]; !there && key.Namespace == namespace {
			delete(l.entries, key)
		}
	}
	for key, f := range all {
		e := l.entries[key]
		if e == nil || e.found.uid != f.uid {
			e = &entry{outcomes: map[model.Key]engine.Outcome{}}
			l.entries[key] = e
		} else if e.found.equal(f) {
			continue
		}
		maps.DeleteFunc(e.outcomes, func(site model.Key, _ engine.Outcome) bool { return !slices.Contains(f.sites, site) })
		e.found = f
		l.wake(key, f.deleting)
	}
}

// told takes over what a Provider's session tells of an object.
func (l *ledger) told(provider model.Key, o engine.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[o.Owner.Key]
	if e == nil || string(e.found.uid) != o.Owner.UID {
		return
	}
	e.outcomes[provider] = o
	l.wake(o.Owner.Key, e.found.deleting)
}

// forget drops what a Provider's session has told.
func (l *ledger) forget(provider model.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		delete(e.outcomes, provider)
	}
}

// wake has an object's controller look at it.
func (l *ledger) wake(key model.Key, deleting bool) {
	priority := usual
	if deleting {
		priority = urgent
	}
	if f := l.feeds[key.Kind]; f != nil {
		f.add(types.NamespacedName{Namespace: key.Namespace, Name: key.Name}, priority)
	}
}

// of is what is known of an object, if that is about the one with that UID and as
// much to be deleted; false: nothing yet.
func (l *ledger) of(key model.Key, uid types.UID, deleting bool) (entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[key]
	if e == nil || e.found.uid != uid || e.found.deleting != deleting {
		return entry{}, false
	}
	return entry{found: e.found, outcomes: maps.Clone(e.outcomes)}, true
}
