package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/spec/suggest"
)

// Door is the front door that objects of manifests belong to, unless [Options] say otherwise.
const Door = "vm"

// Options are what manifests can't say.
type Options struct {
	// Set names what is applied together. Guests are known by it: under another
	// name they are others.
	Set string

	// Door is the front door that the objects come through; empty: [Door].
	Door string

	// Getenv gives environment variables, such as [os.Getenv]; nil: there are none.
	Getenv func(string) string

	// ReadFile reads the file that PVE_CA_BUNDLE names, such as [os.ReadFile].
	ReadFile func(string) ([]byte, error)

	// Grace is how long machines may take to shut down when they are deleted, where they
	// don't say it.
	Grace time.Duration

	// Late reports whether the translation has taken longer than it may: from then on no
	// first-boot data are read, and the machines that have some are wrong; nil: never.
	Late func() bool

	// Find gives a [Secret] or [ConfigMap] that isn't in the set, or an error that says
	// why it can't be read; nil: there is none.
	Find func(model.Key) any

	// Apart says why an object that exists was left out of the set; empty, or nil: it
	// wasn't.
	Apart func(model.Key) string
}

// Wanted is what is wanted of one Proxmox cluster.
type Wanted struct {
	Provider   model.Key // its name is empty if the environment says where it is
	Connection Connection
	Desired    model.Desired

	// Allow is what the Provider allows its machines and images; nil: everything.
	Allow *api.ProviderAllow `json:",omitempty"`

	// Networks are those that the Provider names, with their pools of addresses.
	Networks spec.Networks `json:"-"`

	// Nodes are what the Provider says about nodes.
	Nodes map[string]model.NodeFacts `json:"-"`

	// Wrong is what is wrong with what the Provider says about its machines, in one sentence; empty: nothing
	// is. Whether it says rightly how to connect is another matter.
	Wrong string `json:"-"`
}

// Wanted checks the set, resolves its references and translates it: one for each
// Provider, in their order. The error is of type [Errors] and tells all that is
// wrong.
func (s *Set) Wanted(options Options) ([]Wanted, error) {
	t := newTranslator(s, options)
	t.translate()
	if err := sorted(t.errs); err != nil {
		return nil, err
	}
	return t.wanted(), nil
}

func newTranslator(s *Set, options Options) *translator {
	return &translator{set: s, given: s, options: options, translation: spec.Translation{Set: options.Set, Late: options.Late}}
}

func (t *translator) translate() {
	t.expand()
	t.readProviders()
	t.readClasses()
	t.readPolicies()
	t.readImages()
	t.readMachines()
	t.readSnapshots()
	t.assignImages()
	t.finish()
	t.assignGroups()
}

func (t *translator) wanted() []Wanted {
	all := make([]Wanted, 0, len(t.providers))
	for _, p := range t.providers {
		p.wanted.Desired.Set, p.wanted.Desired.Door, p.wanted.Desired.Range = t.options.Set, t.options.Door, p.cluster.Range
		all = append(all, p.wanted)
	}
	return all
}

// translator is one translation of a set.
type translator struct {
	set     *Set // with all machines that an object stands for
	given   *Set
	options Options
	errs    Errors
	wrong   *wrong // what is left out because something is wrong with it; nil: nothing is

	providers []*provider
	classes   map[model.Key]*spec.Class
	policies  map[model.Key]model.Place
	images    map[model.Key]*image
	machines  map[model.Key]*machine
	groups    []scope // objects that stand for several machines

	translation spec.Translation
}

// finish takes what concerns several machines together.
func (t *translator) finish() {
	for _, e := range t.translation.Finish() {
		m := t.machines[e.Object]
		m.take(spec.Errors{e}, nil, m.fields)
	}
	t.checkFixed()
	for _, p := range t.providers {
		p.wanted.Desired.Shares = t.translation.Shares(&p.cluster)
	}
}

// note adds something that people should know. Translating a set twice doesn't
// tell it twice.
func (t *translator) note(text string) {
	for _, n := range t.given.notes {
		if n == text {
			return
		}
	}
	t.given.notes = append(t.given.notes, text)
}

// scope is an object that is being translated.
type scope struct {
	*translator
	o *object
}

// each goes through all objects of a type.
func each[T any](t *translator, do func(s scope, value T)) {
	for _, o := range t.set.objects {
		if value, ok := o.Object.(T); ok {
			do(scope{t, o}, value)
		}
	}
}

// fail notes that a field is wrong.
func (s scope) fail(field, format string, args ...any) {
	s.wrongAt(s.o.where(field), field, fmt.Sprintf(format, args...))
}

// forbidden notes that the Provider has a rule against what a field says.
func (s scope) forbidden(field, text string) {
	at := s.o.where(field)
	s.add(&Error{File: at.file, Line: at.line, Object: s.o.written().key, Field: field, Text: text, Forbidden: true})
}

// wrongAt is the same as fail for a place.
func (s scope) wrongAt(at place, field, text string) {
	s.add(&Error{File: at.file, Line: at.line, Object: s.o.written().key, Field: field, Text: text})
}

// add adds an error. What is wrong with several machines of one object is told once.
func (s scope) add(e *Error) {
	if slices.ContainsFunc(s.errs, func(o *Error) bool { return *o == *e }) {
		return
	}
	s.errs = append(s.errs, e)
}

// tell notes something about a field that isn't wrong.
func (s scope) tell(field, format string, args ...any) {
	at := s.o.where(field)
	s.note((&Error{File: at.file, Line: at.line, Object: s.o.written().key, Field: field, Text: fmt.Sprintf(format, args...)}).Error())
}

// owner is whose the guests of this object are.
func (s scope) owner() model.Owner {
	o := model.Owner{Door: cmp.Or(s.options.Door, Door), Set: s.options.Set, Key: s.o.key}
	if s.o.places == nil { // from Kubernetes, where the same name may be another object
		o.UID, o.Set = Identity(s.meta()), cmp.Or(s.meta().GetAnnotations()[api.ClusterName], o.Set)
	}
	return o
}

// Identity is what an object of Kubernetes is known by beside its name: the UID that
// it had at first.
func Identity(o metav1.Object) string {
	return cmp.Or(o.GetAnnotations()[api.Identity], string(o.GetUID()))
}

// Restored reports whether an object is known by the UID of one that it was before: it was
// restored from a backup, or took over what another one had.
func Restored(o metav1.Object) bool { return Identity(o) != string(o.GetUID()) }

func (s scope) meta() metav1.Object { return s.o.Object.(metav1.Object) }

// deleted reports whether Kubernetes waits for the object to go.
func (s scope) deleted() bool { return s.meta().GetDeletionTimestamp() != nil }

// find looks for an object of the same namespace. What isn't there is an error,
// which says what is there.
func (s scope) find(field, kind, name string) *object {
	if name == "" {
		s.fail(field, "is missing")
		return nil
	}
	key := model.Key{Kind: kind, Namespace: s.o.key.Namespace, Name: name}
	o := s.set.index[key]
	if o == nil && s.options.Find != nil && (kind == "Secret" || kind == "ConfigMap") {
		switch found := s.options.Find(key).(type) {
		case nil:
		case error:
			s.fail(field, "%v", found)
			return nil
		default:
			o = &object{Object: found, key: key}
		}
	}
	switch {
	case o == nil && s.isApart(field, key):
	case o == nil:
		s.fail(field, "there is no %s %s %s%s", kind, name, s.here(), s.others(name, kind))
	case kind != "Provider" && s.isWrong(key):
		s.fail(field, "%s isn't right itself", key.Title())
	}
	return o
}

// isApart reports whether an object exists and was left out, and tells why.
func (s scope) isApart(field string, key model.Key) bool {
	if s.options.Apart == nil {
		return false
	}
	why := s.options.Apart(key)
	if why != "" {
		s.fail(field, "%s can't be used: %s", key.Title(), why)
	}
	return why != ""
}

// apart reports whether an object of one of some kinds exists and was left out, and tells why.
func (s scope) apart(field, name string, kinds ...string) bool {
	return slices.ContainsFunc(kinds, func(kind string) bool {
		return s.isApart(field, model.Key{Kind: kind, Namespace: s.o.key.Namespace, Name: name})
	})
}

// here is where objects that are named are looked for.
func (s scope) here() string {
	if s.o.places == nil {
		return "in namespace " + s.o.key.Namespace
	}
	return "in these manifests"
}

// others says which objects of some kinds there are.
func (s scope) others(name string, kinds ...string) string {
	var names []string
	for _, o := range s.set.objects {
		for _, k := range kinds {
			if o.key.Kind == k && o.key.Namespace == s.o.key.Namespace {
				names = append(names, o.key.Name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	if near, ok := suggest.Nearest(name, names); ok {
		return "; did you mean " + near + "?"
	}
	const most = 5
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return "; there is " + list(names)
}

// list is "a, b and c".
func list(words []string) string {
	text := ""
	for i, w := range words {
		switch {
		case i == 0:
		case i == len(words)-1:
			text += " and "
		default:
			text += ", "
		}
		text += w
	}
	return text
}
