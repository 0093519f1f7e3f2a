package privileges

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/schema"
)

// Facts are facts beside manifests that privileges depend on.
type Facts struct {
	Release int               // major version of Proxmox
	Have    *model.Observed   // with the configs of the templates, where they could be read
	Zones   map[string]string // of SDN's VNets; other bridges are in localnetwork
	// TagsRestricted means that the data centre lets only privileged users create tags.
	TagsRestricted bool
	// Apart says that templates that aren't seen may be on local storage of other nodes than guests, so that they are copied.
	Apart bool
	// Moves includes the privileges to move guests and drain nodes.
	Moves bool
	// Inside are the kinds of actions inside of guests (see [model.Facts]) whose privileges are included.
	Inside []string
}

// Needs are the privileges to grant.
type Needs struct {
	Grants []Grant // by path
	// Root are the options that only root@pam may set.
	Root []RootOnly
	// Unknown are facts that couldn't be read, because of which more privileges are included
	// than may be needed.
	Unknown []string
}

// Grant is a set of privileges on one path.
type Grant struct {
	Path  string `json:"path"`
	Below bool   `json:"below,omitempty"` // also on all that is below it
	Privs []Priv `json:"privileges"`      // sorted
}

// Priv is a privilege with its purpose.
type Priv struct {
	Name string   `json:"name"`
	For  []string `json:"for"`
}

// Names returns the names of the privileges.
func (g Grant) Names() []string {
	names := make([]string, len(g.Privs))
	for i, p := range g.Privs {
		names[i] = p.Name
	}
	return names
}

// RootOnly is an option that only root@pam may set, logged in with a password:
// no token may, not even root's.
type RootOnly struct {
	Object model.Key `json:"object"`
	Option string    `json:"option"`
	Why    string    `json:"why"`
}

// For computes the privileges for a wanted state over its whole life.
func For(want model.Desired, at Facts) (Needs, error) {
	s, err := schema.Load(release(at.Release))
	if err != nil {
		return Needs{}, fmt.Errorf("privileges of Proxmox VE %d: %w", at.Release, err)
	}
	if at.Have == nil {
		at.Have = &model.Observed{}
	}
	l := &life{want: want, at: at}
	l.all()
	b := &book{at: at, schema: s}
	for _, c := range l.reads {
		b.call(c)
	}
	for _, d := range l.deeds {
		for _, c := range calls(d, at) {
			b.call(c)
		}
	}
	b.repeat(l.alike)
	return Needs{Grants: grants(solve(b.needs)), Root: l.rootFor(b), Unknown: l.unknown}, nil
}

// release returns the schema that holds for a major version.
func release(major int) string {
	if major < 9 {
		return "8.4"
	}
	return "9.2"
}

// grants puts privileges together by path.
func grants(claims map[claim][]string) []Grant {
	paths := map[string]map[string][]string{}
	for c, why := range claims {
		if paths[c.path] == nil {
			paths[c.path] = map[string][]string{}
		}
		paths[c.path][c.priv] = why
	}
	// An entry on a path hides what comes from above it. So what is needed on all
	// nodes or storages is repeated where one of them has an entry of its own.
	for path, privs := range paths {
		if parent := parentOf(path); parent != path {
			for priv, why := range paths[parent] {
				if privs[priv] == nil {
					privs[priv] = why
				}
			}
		}
	}
	var out []Grant
	for path, privs := range paths {
		if parent := parentOf(path); parent != path && len(privs) == len(paths[parent]) {
			continue // it says the same
		}
		g := Grant{Path: path, Below: below(path)}
		for _, name := range slices.Sorted(maps.Keys(privs)) {
			g.Privs = append(g.Privs, Priv{Name: name, For: privs[name]})
		}
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b Grant) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// below reports whether a path stands for all that is below it.
func below(path string) bool { return path == allGuests || slices.Contains(kindPaths, path) }

// kindPaths are the paths that stand for any node, storage or bridge.
var kindPaths = []string{"/nodes", "/storage", allBridges}

// parentOf returns the path that stands for any node, storage or bridge. What is needed on
// any guest says nothing about one that is named: the former are ours, the latter
// often a template of somebody else's.
func parentOf(path string) string {
	for _, parent := range kindPaths {
		if strings.HasPrefix(path, parent+"/") {
			return parent
		}
	}
	return path
}

// Missing returns the needed privileges that the credentials lack. have has the privileges
// on each path of [Needs.Paths], and whether they also apply below.
func (n Needs) Missing(have map[string]map[string]bool) []Grant {
	var out []Grant
	for _, g := range n.Grants {
		lacks := Grant{Path: g.Path, Below: g.Below}
		for _, p := range g.Privs {
			if spreads, has := have[g.Path][p.Name]; !has || g.Below && !spreads {
				lacks.Privs = append(lacks.Privs, p)
			}
		}
		if len(lacks.Privs) > 0 {
			out = append(out, lacks)
		}
	}
	return out
}

// Paths returns the paths of all grants.
func (n Needs) Paths() []string {
	paths := make([]string, len(n.Grants))
	for i, g := range n.Grants {
		paths[i] = g.Path
	}
	return paths
}
