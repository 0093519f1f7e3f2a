package doctor

import (
	"crypto/x509"
	"net/http"
	"slices"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/privileges"
	"github.com/proxplane/proxplane/pve"
)

// facts are what was read, for several checks.
type facts struct {
	chain   []*x509.Certificate
	version pve.Version
	have    *model.Observed
	needs   privileges.Needs
	rights  map[string]map[string]bool // by path
	missing []privileges.Grant
}

// gather reads what the checks need.
func (e *examination) gather() error {
	have, err := e.c.Observer.Look(e.ctx)
	if err != nil {
		return err
	}
	for _, g := range append(e.sources(have), e.leaving(have)...) {
		// Facts that can't be read count as not visible, which the check of privileges
		// reports.
		_ = e.c.Observer.Config(e.ctx, g.VMID)
	}
	if e.f.user == "" {
		for name := range have.Storages {
			_ = e.c.Observer.Rights(e.ctx, "/storage/"+name) // what can't be read is taken for granted
		}
	}
	e.have = e.c.Observer.Snapshot()
	given := e.f.facts(privileges.Facts{Release: e.version.Major(), Have: e.have, Zones: e.zones(), TagsRestricted: e.tagsRestricted()})
	if e.needs, err = privileges.For(e.want, given); err != nil {
		return err
	}
	e.rights = map[string]map[string]bool{}
	for _, path := range e.needs.Paths() {
		p, err := e.c.Client.Access().Permissions(e.ctx, "", path)
		if err != nil {
			return err
		}
		e.rights[path] = p[path]
	}
	e.missing = e.needs.Missing(e.rights)
	return nil
}

// sources are the guests that the manifests make others from.
func (e *examination) sources(have *model.Observed) []*model.Guest {
	var list []*model.Guest
	for _, i := range e.want.Images {
		list = append(list, guestsOf(i, have)...)
	}
	return list
}

// guestsOf are the guests that an image is, or may be: names can be there twice.
func guestsOf(i model.Image, have *model.Observed) []*model.Guest {
	var list []*model.Guest
	if g := have.Guests[i.VMID]; g != nil {
		list = append(list, g)
	}
	if i.Template != "" {
		list = append(list, have.Named(i.Template)...)
	}
	return list
}

// leaving are the guests that may have to leave their pools.
func (e *examination) leaving(have *model.Observed) []*model.Guest {
	var list []*model.Guest
	for _, v := range e.want.VMs {
		for _, g := range have.Tagged(v.Owner) {
			if v.Pool == "" && g.Pool != "" {
				list = append(list, g)
			}
		}
	}
	return list
}

// zones says which zone each of SDN's VNets is in. Who may not see them, or has
// none, gets none.
func (e *examination) zones() map[string]string {
	var list []struct {
		VNet string `json:"vnet"`
		Zone string `json:"zone"`
	}
	if err := e.c.Client.Call(e.ctx, http.MethodGet, "/cluster/sdn/vnets", nil, &list); err != nil {
		return nil
	}
	zones := map[string]string{}
	for _, v := range list {
		zones[v.VNet] = v.Zone
	}
	return zones
}

// tagsRestricted reports whether the data centre lets only privileged users make up
// tags. Who may not read that is taken to be free.
func (e *examination) tagsRestricted() bool {
	var options struct {
		Access struct {
			Allow string `json:"user-allow"`
		} `json:"user-tag-access"`
		Registered []string `json:"registered-tags"`
	}
	if err := e.c.Client.Call(e.ctx, http.MethodGet, "/cluster/options", nil, &options); err != nil {
		return false
	}
	return options.Access.Allow != "" && options.Access.Allow != "free" || slices.Contains(options.Registered, model.Tag)
}

// lacks reports whether a privilege is among those that are missing.
func (e *examination) lacks(path, priv string) bool {
	return slices.ContainsFunc(e.missing, func(g privileges.Grant) bool { return g.Path == path && slices.Contains(g.Names(), priv) })
}

// nodesFor are the nodes that a guest may go to: those named, or all.
func (e *examination) nodesFor(v model.VM) []string {
	if len(v.Place.Nodes) > 0 {
		return v.Place.Nodes
	}
	return model.NamesOf(e.have.Nodes)
}

// there reports whether a wanted guest exists already.
func (e *examination) there(v model.VM) bool { return len(e.have.Tagged(v.Owner)) > 0 }
