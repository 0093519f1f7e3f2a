package operator

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// ledger is what is known of each object beside what Kubernetes has. Whoever learns
// something new of an object writes it here, and the object is requeued.
type ledger struct {
	feeds map[string]*kube.Feed // by kind
	asked kube.Feed             // of namespaces whose images machines of others wait for

	mu      sync.Mutex
	entries map[model.Key]*entry
	// members are the machines of objects that stand for several, each with its object.
	members map[model.Key]model.Key
	// troubles are why Proxmox can't be asked at present, by Provider.
	troubles map[model.Key]plan.Wait
}

// entry is what is known of one object.
type entry struct {
	found    found
	outcomes map[teller]engine.Outcome
	doubts   map[teller]plan.Wait // outcomes from before Proxmox couldn't be asked, and why it couldn't
	released bool                 // and no Provider is to do anything for it
}

// teller is the source of an outcome: a Provider, for one machine of an object.
type teller struct {
	provider model.Key
	member   string // the machine's name, of an object that stands for several
}

// found is what the last translation of its namespace found out about an object.
type found struct {
	uid       types.UID
	identity  string // what it is known by in Proxmox
	version   int64  // its generation
	edition   int64  // the version with which sessions report it, see edition
	deleting  bool
	released  bool         // what it has in Proxmox is left alone from now on
	early     bool         // it isn't applied before it has a finalizer
	problem   string       // why it isn't reconciled, in one sentence
	reason    model.Reason // the same, in one word; empty: it is invalid
	provider  string       // why its Provider can't be used, in one sentence
	providers []model.Key  // the Providers that look after it
	proxmox   string       // which Proxmox a Provider is to be used with; empty: not known
	machines  int          // that use it
	lent      int          // those of them that are in other namespaces
	fetched   bool         // it is an image with a URL
	madeOn    []string     // the Providers that have templates of an image
	images    int          // with templates of ours on a Provider
	snapshot  string       // its name in Proxmox, if it is one
	group     bool         // it stands for several machines
	short     bool         // it isn't written down yet how many
	members   []string     // these, each of one Provider
	surplus   []string     // those of them that it doesn't ask for any more, and that may not go
}

// tellers is the number of the object's sources.
func (f found) tellers() int {
	if f.group {
		return len(f.members)
	}
	return len(f.providers)
}

// has reports whether the object has any source.
func (f found) has(s teller) bool {
	return slices.Contains(f.providers, s.provider) && (!f.group || slices.Contains(f.members, s.member))
}

func (f found) equal(o found) bool { return reflect.DeepEqual(f, o) }

func newLedger() *ledger {
	l := &ledger{feeds: map[string]*kube.Feed{}, entries: map[model.Key]*entry{}, members: map[model.Key]model.Key{}, troubles: map[model.Key]plan.Wait{}}
	for _, k := range kinds {
		l.feeds[k.Name] = &kube.Feed{}
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
	maps.DeleteFunc(l.members, func(member, _ model.Key) bool { return member.Namespace == namespace })
	for key, f := range all {
		for _, name := range f.members {
			l.members[model.Key{Kind: key.Kind, Namespace: namespace, Name: name}] = key
		}
		e := l.entries[key]
		if e == nil || e.found.uid != f.uid {
			e = &entry{outcomes: map[teller]engine.Outcome{}, doubts: map[teller]plan.Wait{}}
			l.entries[key] = e
		} else if e.found.equal(f) {
			continue
		}
		maps.DeleteFunc(e.outcomes, func(s teller, _ engine.Outcome) bool { return !f.has(s) })
		maps.DeleteFunc(e.doubts, func(s teller, _ plan.Wait) bool { return !f.has(s) })
		e.found, e.released = f, e.released && f.released
		l.wake(key, f.deleting)
	}
}

// assigned notes that the Providers of a namespace know what they are to do since the
// last translation: nothing for what is released.
func (l *ledger) assigned(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, e := range l.entries {
		if key.Namespace == namespace && e.found.released && !e.released {
			e.released = true
			l.wake(key, true)
		}
	}
}

// record takes over the outcome of an object from a Provider's session. While Proxmox can't be asked, that is what
// was seen before: the doubt stays.
func (l *ledger) record(provider model.Key, o engine.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key, e := l.whose(o.Owner)
	if _, _, part := o.Owner.CopyOf(); part || e == nil {
		return // what matters of the templates of an image the image itself says
	}
	from := teller{provider: provider}
	if e.found.group {
		from.member = o.Owner.Name
	}
	if !e.found.has(from) {
		return // it is another Provider's by now
	}
	if was := e.outcomes[from]; was.Awaits != o.Awaits {
		l.askIn(key.Namespace, was.Awaits)
		l.askIn(key.Namespace, o.Awaits)
	}
	e.outcomes[from] = o
	if why, troubled := l.troubles[provider]; troubled {
		e.doubts[from] = why
	} else {
		delete(e.doubts, from)
	}
	l.wake(key, e.found.deleting)
}

// whose finds the object that an owner of guests is, or is one of.
func (l *ledger) whose(o model.Owner) (model.Key, *entry) {
	key := o.Key
	if group, ok := l.members[key]; ok {
		key = group
	} else if image, _, ok := key.CopyOf(); ok {
		key = image
	}
	e := l.entries[key]
	if e == nil || e.found.identity != o.UID {
		return key, nil
	}
	return key, e
}

// object is the object that an owner of guests is, or is one of; false: there is none
// any more.
func (l *ledger) object(o model.Owner) (key model.Key, uid types.UID, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key, e := l.whose(o)
	if e == nil {
		return key, "", false
	}
	return key, e.found.uid, true
}

// forget drops the outcomes of a Provider's session.
func (l *ledger) forget(provider model.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.troubles, provider)
	for _, e := range l.entries {
		maps.DeleteFunc(e.outcomes, func(s teller, _ engine.Outcome) bool { return s.provider == provider })
		maps.DeleteFunc(e.doubts, func(s teller, _ plan.Wait) bool { return s.provider == provider })
	}
}

// trust notes that a Provider's Proxmox can be asked again: outcomes from now on are current.
func (l *ledger) trust(provider model.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.troubles, provider)
}

// doubt notes that a Provider's Proxmox can't be asked: outcomes so far may be stale,
// until they are recorded again.
func (l *ledger) doubt(provider model.Key, why plan.Wait) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.troubles[provider] = why
	for _, e := range l.entries {
		for s := range e.outcomes {
			if s.provider == provider {
				e.doubts[s] = why
			}
		}
	}
}

// doubt is why Proxmox couldn't be asked since an object's last outcome; nil: it
// could.
func (e entry) doubt() *plan.Wait {
	for _, w := range e.doubts {
		return &w
	}
	return nil
}

// wakeAll has the controllers of all objects of a Provider look at them.
func (l *ledger) wakeAll(provider model.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, e := range l.entries {
		if slices.Contains(e.found.providers, provider) {
			l.wake(key, e.found.deleting)
		}
	}
}

// wake requeues an object in its controller.
func (l *ledger) wake(key model.Key, deleting bool) {
	priority := kube.Usual
	if deleting {
		priority = kube.Urgent
	}
	if f := l.feeds[key.Kind]; f != nil {
		f.WakeAt(types.NamespacedName{Namespace: key.Namespace, Name: key.Name}, priority)
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
	return entry{found: e.found, outcomes: maps.Clone(e.outcomes), doubts: maps.Clone(e.doubts), released: e.released}, true
}
