package manifest

import (
	"time"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
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
func (t *translator) note(about *Error) {
	for _, n := range t.given.notes {
		if *n == *about {
			return
		}
	}
	t.given.notes = append(t.given.notes, about)
}
