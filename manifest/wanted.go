package manifest

import (
	"time"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

// Door is the default door of manifests' objects, see [Options].
const Door = "vm"

// Options are settings beside manifests.
type Options struct {
	// Set is the name of the set. It is part of the owner of guests: with another name there
	// are other guests.
	Set string

	// Door is the front door that the objects come through; empty: [Door].
	Door string

	// Getenv returns environment variables, such as [os.Getenv]; nil: there are none.
	Getenv func(string) string

	// ReadFile reads the file that PVE_CA_BUNDLE names, such as [os.ReadFile].
	ReadFile func(string) ([]byte, error)

	// Grace is the default of how long machines may take to shut down when they are deleted.
	Grace time.Duration

	// Late reports whether the translation has taken longer than it may: from then on no
	// first-boot data are read, and machines that have some get an error; nil: never.
	Late func() bool

	// Find returns a [Secret] or [ConfigMap] that isn't in the set, or an error why it can't
	// be read; nil: there are none.
	Find func(model.Key) any

	// Apart returns why an existing object was left out of the set; empty, or nil: it wasn't
	// left out.
	Apart func(model.Key) string
}

// Wanted is the wanted state of one Proxmox cluster.
type Wanted struct {
	Provider   model.Key // its name is empty if the connection is that of the environment
	Connection Connection
	Desired    model.Desired

	// Allow is what the Provider allows its machines and images; nil: everything.
	Allow *api.ProviderAllow `json:",omitempty"`

	// Networks are the networks of the Provider, with their pools of addresses.
	Networks spec.Networks `json:"-"`

	// Nodes are the Provider's settings of nodes.
	Nodes map[string]model.NodeFacts `json:"-"`

	// Wrong is the error in the Provider's settings for machines; empty: none. Its connection may still be
	// wrong.
	Wrong string `json:"-"`
}

// Wanted checks the set, resolves its references and translates it: one for each Provider,
// in their order. The error is of type [Errors] and has all errors.
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

// note adds a note. Translating a set twice adds it once.
func (t *translator) note(about *Error) {
	for _, n := range t.given.notes {
		if *n == *about {
			return
		}
	}
	t.given.notes = append(t.given.notes, about)
}
