package doctor

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pve/prop"
)

// users are the machines that name something, by its name.
type users map[string][]string

func (u users) add(name string, v model.VM) {
	if who := v.Owner.Key.String(); name != "" && !slices.Contains(u[name], who) {
		u[name] = append(u[name], who)
	}
}

// pools checks that the pools exist that machines belong to.
func (e *examination) pools() {
	named := users{}
	for _, v := range e.want.VMs {
		named.add(v.Pool, v)
	}
	if len(named) == 0 {
		return
	}
	list, err := e.c.Client.Pools(e.ctx)
	if err != nil {
		e.warn(areaManifests, "the pools can't be listed: "+ui.ShortCause(err), "")
		return
	}
	for _, name := range model.NamesOf(named) {
		switch {
		case slices.ContainsFunc(list, func(p pve.PoolInfo) bool { return p.ID == name }):
			e.good(areaManifests, "pool %s", name)
		case e.lacks("/pool/"+name, "Pool.Audit"):
			e.warn(areaManifests, fmt.Sprintf("pool %s isn't shown to these credentials, so it couldn't be checked", name), grantFirst)
		default:
			e.bad(areaManifests, fmt.Sprintf("there is no pool %s, named by %s", name, ui.AndList(named[name])), "Make it: pveum pool add "+name)
		}
	}
}

// grantFirst is what to do about what isn't shown.
const grantFirst = "Grant what is missing below, and run this again."

// mappedBy are the options that name mappings: the kind of mapping, and the
// property that has its name.
var mappedBy = []struct{ option, kind, property, words string }{
	{"hostpci", "pci", "mapping", "PCI devices"},
	{"usb", "usb", "mapping", "USB devices"},
	{"virtiofs", "dir", "dirid", "directories"},
}

// mappings checks that the mappings exist that machines get devices and
// directories by.
func (e *examination) mappings() {
	for _, m := range mappedBy {
		named := users{}
		for _, v := range e.want.VMs {
			for key, value := range v.Options {
				if rest, ok := strings.CutPrefix(key, m.option); ok && strings.Trim(rest, "0123456789") == "" && value != "" {
					named.add(prop.Properties(key, value)[m.property], v)
				}
			}
		}
		if len(named) == 0 {
			continue
		}
		var list []struct {
			ID string `json:"id"`
		}
		if err := e.c.Client.Call(e.ctx, http.MethodGet, "/cluster/mapping/"+m.kind, nil, &list); err != nil {
			e.warn(areaManifests, fmt.Sprintf("the mappings of %s can't be listed: %s", m.words, ui.ShortCause(err)), "")
			continue
		}
		there := map[string]bool{}
		for _, entry := range list {
			there[entry.ID] = true
		}
		for _, name := range model.NamesOf(named) {
			switch {
			case there[name]:
				e.good(areaManifests, "mapping %s of %s", name, m.words)
			case m.kind == "dir" && e.madeOf(name) != "":
				e.good(areaManifests, "mapping %s of directories will be made, of %s on the nodes", name, e.madeOf(name))
			case e.lacks("/mapping/"+m.kind+"/"+name, "Mapping.Use"):
				e.warn(areaManifests, fmt.Sprintf("mapping %s of %s isn't shown to these credentials, so it couldn't be checked", name, m.words), grantFirst)
			default:
				e.bad(areaManifests, fmt.Sprintf("there is no mapping %s of %s, named by %s", name, m.words, ui.AndList(named[name])),
					"Make it under Datacenter, Resource Mappings, for each node that has it.")
			}
		}
	}
}

// madeOf is the directory that a mapping will be made of; empty: it won't.
func (e *examination) madeOf(name string) string {
	for _, s := range e.want.Shares {
		if s.Owner.Name == name {
			return s.Path
		}
	}
	return ""
}

// haGroups checks that the groups exist that HA is to keep machines in: from 9 on,
// rules of that name.
func (e *examination) haGroups() {
	named := users{}
	for _, v := range e.want.VMs {
		if v.HA != nil {
			named.add(v.HA.Group, v)
		}
	}
	if len(named) == 0 {
		return
	}
	what, there, err := e.haPlaces()
	if err != nil {
		e.skip(areaManifests, fmt.Sprintf("whether there is the %s %s isn't known: %s", what, ui.AndList(model.NamesOf(named)), ui.ShortCause(err)), "")
		return
	}
	for _, name := range model.NamesOf(named) {
		if there[name] {
			e.good(areaManifests, "%s %s", what, name)
		} else {
			e.bad(areaManifests, fmt.Sprintf("there is no %s %s, named by %s", what, name, ui.AndList(named[name])), "Make it under Datacenter, HA.")
		}
	}
}

// haPlaces are what says where HA may put machines.
func (e *examination) haPlaces() (what string, there map[string]bool, err error) {
	there = map[string]bool{}
	if e.version.Major() < 9 {
		groups, err := e.c.Client.HA().Groups(e.ctx)
		for _, g := range groups {
			there[g.ID] = true
		}
		return "HA group", there, err
	}
	rules, err := e.c.Client.HA().Rules(e.ctx)
	for _, r := range rules {
		there[r.ID] = true
	}
	return "HA rule", there, err
}
