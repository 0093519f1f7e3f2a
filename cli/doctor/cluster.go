package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/status"
)

// quorum: without it nothing can be changed.
func (e *examination) quorum() {
	members, err := e.c.Client.Cluster().Status(e.ctx)
	switch {
	case errors.Is(err, pve.ErrForbidden):
		e.skip(areaCluster, "quorum: not shown to these credentials (it would take Sys.Audit on /)", "")
		return
	case err != nil:
		e.warn(areaCluster, "whether the cluster has a quorum can't be read: "+ui.ShortCause(err), "")
		return
	}
	i := slices.IndexFunc(members, func(m pve.ClusterMember) bool { return m.Type == "cluster" })
	switch {
	case i < 0:
		e.good(areaCluster, "a single node, no cluster")
	case !members[i].Quorate:
		e.bad(areaCluster, fmt.Sprintf("cluster %s has no quorum: nothing can be changed", members[i].Name), "Too few nodes see each other: pvecm status.")
	default:
		e.good(areaCluster, "cluster %s has its quorum", members[i].Name)
	}
}

// nodes says which are online, and whether those that the manifests name exist.
func (e *examination) nodes() {
	var online, away []string
	for _, name := range model.NamesOf(e.have.Nodes) {
		if e.have.Nodes[name].Online {
			online = append(online, name)
		} else {
			away = append(away, name)
		}
	}
	if len(away) > 0 {
		e.warn(areaCluster, fmt.Sprintf("%s offline: %s", areIs(len(away), "node"), strings.Join(away, ", ")), "Their machines are waited for.")
	}
	if len(online) > 0 {
		e.good(areaCluster, "%s online: %s", areIs(len(online), "node"), strings.Join(online, ", "))
	}
	for _, v := range e.want.VMs {
		var unknown []string
		for _, n := range v.Place.Nodes {
			if e.have.Nodes[n] == nil {
				unknown = append(unknown, n)
			}
		}
		switch {
		case len(unknown) == 0:
		case len(unknown) == len(v.Place.Nodes):
			e.bad(areaManifests, fmt.Sprintf("%s can go nowhere: there is no node %s", v.Owner.Key, strings.Join(unknown, " or ")),
				"Correct nodeSelector of the Provider or the VMPlacementPolicy; there are "+strings.Join(append(online, away...), ", ")+".")
		default:
			e.warn(areaManifests, fmt.Sprintf("%s may go to %s, which isn't there", v.Owner.Key, strings.Join(unknown, ", ")), "")
		}
	}
}

func areIs(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return fmt.Sprintf("%d %ss are", n, what)
}

// demand is what manifests ask of a storage.
type demand struct {
	contents map[string]bool
	bytes    int64 // of disks that are to be made
	nodes    map[string]bool
}

// storages checks those that the manifests name.
func (e *examination) storages() {
	if !e.d.Manifests {
		e.capabilities()
		return
	}
	demands := e.demands()
	for _, name := range model.NamesOf(demands) {
		e.storage(name, demands[name])
	}
	if !slices.ContainsFunc(e.want.Images, func(i model.Image) bool { return i.URL != "" }) {
		return
	}
	switch names := e.with("import"); {
	case len(names) > 0:
		e.good(areaManifests, "images from URLs can be fetched to %s", strings.Join(names, ", "))
	case e.lacks("/storage", "Datastore.Audit"):
		e.warn(areaManifests, "no storage is shown to these credentials, so whether images can be fetched couldn't be checked", grantFirst)
	default:
		e.bad(areaManifests, "no storage that is shown takes images to import, so none can be fetched",
			"Add the content type to one: pvesm set STORAGE --content images,iso,import (all that it should have).")
	}
}

// capabilities says what the storages can be used for.
func (e *examination) capabilities() {
	if len(e.have.Storages) == 0 {
		e.warn(areaCluster, "no storage is shown to these credentials", "Datastore.Audit on a storage shows it.")
		return
	}
	for _, c := range []struct{ content, use string }{
		{"images", "disks"}, {"iso", "first-boot data and ISO images"}, {"import", "images fetched from URLs"},
	} {
		if names := e.with(c.content); len(names) > 0 {
			e.good(areaCluster, "storages for %s (%s): %s", c.use, c.content, strings.Join(names, ", "))
		} else {
			e.warn(areaCluster, fmt.Sprintf("no storage that is shown is for %s (content type %s)", c.use, c.content), "pvesm set STORAGE --content … adds it.")
		}
	}
}

// with are the storages with a type of content.
func (e *examination) with(content string) []string {
	var names []string
	for name, s := range e.have.Storages {
		if s.Content[content] && len(s.OnNode) > 0 {
			names = append(names, name)
		}
	}
	model.SortNames(names)
	return names
}

func (e *examination) demands() map[string]*demand {
	all := map[string]*demand{}
	ask := func(name, content string, bytes int64, nodes []string) {
		if name == "" {
			return
		}
		d := all[name]
		if d == nil {
			d = &demand{contents: map[string]bool{}, nodes: map[string]bool{}}
			all[name] = d
		}
		d.contents[content] = true
		d.bytes += bytes
		for _, n := range nodes {
			d.nodes[n] = true
		}
	}
	for _, v := range e.want.VMs {
		nodes := e.nodesFor(v)
		for _, disk := range v.Disks {
			if disk.CDROM {
				ask(model.StorageOf(disk.Volume), "iso", 0, nodes)
				continue
			}
			bytes := disk.Size
			if e.there(v) {
				bytes = 0
			}
			ask(disk.Storage, "images", bytes, nodes)
		}
		if v.Seed != nil {
			ask(v.Seed.Storage, "iso", 0, nodes)
		}
	}
	for _, i := range e.want.Images {
		if i.URL != "" {
			ask(i.Storage, "images", 0, nil)
		}
	}
	return all
}

// storage checks one: that it exists on some node where it is needed, for what it
// is needed, with room.
func (e *examination) storage(name string, d *demand) {
	s := e.have.Storages[name]
	if s == nil {
		if path := "/storage/" + name; e.lacks(path, "Datastore.Audit") || e.lacks("/storage", "Datastore.Audit") {
			e.warn(areaManifests, fmt.Sprintf("storage %s isn't shown to these credentials, so it couldn't be checked", name), grantFirst)
			return
		}
		e.bad(areaManifests, fmt.Sprintf("there is no storage %s", name), "There are "+strings.Join(model.NamesOf(e.have.Storages), ", ")+".")
		return
	}
	var lacks []string
	for _, c := range model.NamesOf(d.contents) {
		if !s.Content[c] {
			lacks = append(lacks, c)
		}
	}
	if len(lacks) > 0 {
		all := append(model.NamesOf(s.Content), lacks...)
		e.bad(areaManifests, fmt.Sprintf("storage %s isn't for %s", name, strings.Join(lacks, " and ")),
			fmt.Sprintf("Allow it: pvesm set %s --content %s", name, strings.Join(all, ",")))
		return
	}
	var most int64 = -1
	for node, room := range s.OnNode {
		if len(d.nodes) == 0 || d.nodes[node] {
			most = max(most, room.Free())
		}
	}
	switch {
	case most < 0:
		e.bad(areaManifests, fmt.Sprintf("storage %s isn't available on any node that it is needed on", name), "See pvesm status, and on which nodes it is enabled.")
	case d.bytes > most:
		e.warn(areaManifests, fmt.Sprintf("storage %s has %s free, and the new disks may grow to %s", name, status.Size(most), status.Size(d.bytes)), "")
	default:
		e.good(areaManifests, "storage %s: %s, %s free", name, strings.Join(model.NamesOf(d.contents), " and "), status.Size(most))
	}
}
