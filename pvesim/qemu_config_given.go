package pvesim

import (
	"maps"
	"slices"

	"github.com/proxplane/proxplane/pve/schema"
)

// given are the options in a request. Some may have come without
// a value (JSON null): Perl's undef.
type given struct {
	conf Conf
	null map[string]bool
}

// newGiven takes the options out of a request's parameters.
func newGiven(p schema.Params, leave ...string) *given {
	set := &given{conf: Conf{}, null: map[string]bool{}}
	for k := range p {
		switch {
		case slices.Contains(leave, k):
		case p.Null(k):
			set.null[k] = true
		default:
			set.conf[k] = p.Str(k)
		}
	}
	return set
}

// keys lists all options, sorted, those without a value too.
func (g *given) keys() []string {
	keys := slices.Collect(maps.Keys(g.conf))
	for k := range g.null {
		if _, ok := g.conf[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// aliasCDROM makes "cdrom" what it stands for.
func (g *given) aliasCDROM() {
	value := g.conf["cdrom"]
	if !truthy(value) {
		return
	}
	if _, ok := property(value, "media", ""); !ok {
		value += ",media=cdrom"
	}
	g.conf["ide2"] = value
	delete(g.conf, "cdrom")
}

func sortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
